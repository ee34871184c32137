//! Complex numbers, which are pairs here: a value has a last axis with the real and the imaginary part. Rules read what spectra
//! need; all other operators of complex numbers are refused.

use crate::convert::draft::At;
use crate::convert::error::VariableFault;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::product;
use crate::ops::{
    Assign, AssignValue, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Matmul, Number, Reduce,
    ReduceKind, Scale, Select, Transpose, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::VarKind;

/// The most elements along an axis of which a spectrum is computed, by a product with a matrix.
const MOST: i64 = 1 << 13;

/// Operators that have a rule for complex numbers.
const KNOWN: [&str; 20] = [
    "abs",
    "angle",
    "as_complex",
    "as_real",
    "cast",
    "complex",
    "conj",
    "elementwise_add",
    "elementwise_div",
    "elementwise_mul",
    "elementwise_sub",
    "fft_c2c",
    "fft_c2r",
    "fft_r2c",
    "imag",
    "real",
    "reshape2",
    "scale",
    "transpose2",
    "unsqueeze2",
];

impl Reading<'_, '_> {
    /// Whether a variable is declared to hold complex numbers.
    pub(super) fn is_complex(&self, name: &str) -> bool {
        let tensor = self.reader.declaration(self.block, name).and_then(|var| var.r#type.lod_tensor.as_ref());
        let kind = tensor.and_then(|tensor| VarKind::try_from(tensor.tensor.data_type).ok());
        matches!(kind, Some(VarKind::Complex64 | VarKind::Complex128))
    }

    /// Whether an input or an output is of complex numbers. Those without a rule for them are refused.
    pub(super) fn has_complex(&self) -> Result<bool, ConvertError> {
        let slots = self.desc.inputs.iter().chain(&self.desc.outputs);
        let found = slots.flat_map(|slot| &slot.arguments).find(|name| self.is_complex(name));
        match found {
            None => Ok(false),
            Some(_) if KNOWN.contains(&self.desc.r#type.as_str()) => Ok(true),
            Some(name) => {
                // An operator that another fault keeps from being read is none itself.
                self.desc
                    .inputs
                    .iter()
                    .flat_map(|slot| &slot.arguments)
                    .try_for_each(|input| self.read(input).map(drop))?;
                let reason = VariableFault::Element(VarKind::Complex64);
                Err(Fault::Variable { name: name.clone(), reason }.into())
            }
        }
    }

    /// An operator of complex numbers.
    pub(super) fn of_complex(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        for name in desc.inputs.iter().flat_map(|slot| &slot.arguments).filter(|name| self.is_complex(name)) {
            if self.ty(self.read(name)?).dims.last().and_then(Dim::constant) != Some(2) {
                return self.lacks("an input is declared to be of complex numbers, and is of others");
            }
        }
        match desc.r#type.as_str() {
            "fft_r2c" | "fft_c2c" | "fft_c2r" => self.spectrum(),
            "as_complex" | "as_real" => {
                let x = self.input("X")?;
                self.out(Assign, &[x])
            }
            "complex" => {
                let (x, y) = (self.input("X")?, self.input("Y")?);
                let pair = self.at().pair([x, y]);
                self.tried(pair.map(Ok), "Out")
            }
            "cast" => {
                let (x, out) = (self.input("X")?, one(desc.output("Out"), "Out")?);
                let is_complex = [one(desc.input("X"), "X")?, out].map(|name| self.is_complex(name));
                let mut at = self.at();
                let cast = match is_complex {
                    [true, true] => Ok(x),
                    [true, false] => at.half(x, 0),
                    _ => {
                        let x = at.as_kind(x, DType::F32)?;
                        let zero = at.scaled(x, 0.0, 0.0)?;
                        at.pair([x, zero])
                    }
                };
                self.tried(cast.map(Ok), "Out")
            }
            "transpose2" => {
                let x = self.input("X")?;
                let rank = self.ty(x).rank() as i64;
                let axes = self.desc.attr_longs("axis")?.unwrap_or_default().into_iter();
                let mut perm: Vec<i64> =
                    axes.map(|axis| if axis < 0 { axis.saturating_add(rank - 1) } else { axis }).collect();
                perm.push(rank - 1);
                if self.ty(x).rows.is_some() && perm[0] != 0 {
                    return Ok(false);
                }
                let turned = self.at().permuted(x, &perm);
                self.tried(turned.map(Ok), "Out")
            }
            "elementwise_add" | "elementwise_sub" | "elementwise_mul" | "elementwise_div" => {
                self.complex_arithmetic()
            }
            "reshape2" | "unsqueeze2" => self.shaped_complex(),
            "scale" => {
                let (x, Scale { scale, bias }) = (self.input("X")?, self.attributes_of()?);
                if bias != 0.0 || self.has(&["ScaleTensor"]) {
                    return self.lacks("it adds to complex numbers, or its factor is an input");
                }
                self.out(Scale { scale, bias }, &[x])
            }
            _ => self.part_of_complex(),
        }
    }

    /// Another shape, behind which the pairs stay.
    fn shaped_complex(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let pair = Dim::from(2);
        let dims = if self.desc.r#type == "reshape2" {
            let Some(mut shape) = self.dims("shape", "Shape", "ShapeTensor")? else { return Ok(false) };
            shape.push(pair);
            self.reader.draft.reshaped(x, &shape, true)?
        } else {
            let Some(axes) = self.numbers("axes", "AxesTensor", "AxesTensorList")? else { return Ok(false) };
            let rows = usize::from(self.ty(x).rows.is_some());
            let mut dims = self.ty(x).dims.clone();
            for axis in axes {
                // Without the pairs, there are so many places for a new axis.
                let places = (dims.len() + rows) as i64;
                let axis = if axis < 0 { axis.saturating_add(places) } else { axis };
                let at = usize::try_from(axis).ok().and_then(|axis| axis.checked_sub(rows));
                let Some(at) = at.filter(|&at| at < dims.len()) else { return Ok(false) };
                dims.insert(at, Dim::from(1));
            }
            Some(dims)
        };
        let Some(dims) = dims else { return Ok(false) };
        let shaped = self.at().shaped(x, dims);
        self.tried(shaped.map(Ok), "Out")
    }

    /// A real value that is made of each complex number, or its conjugate.
    fn part_of_complex(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let name = self.desc.r#type.as_str();
        let mut at = self.at();
        let out = match name {
            "real" => at.half(x, 0),
            "imag" => at.half(x, 1),
            "abs" => {
                let squares = at.emit(Unary::of(UnaryKind::Square), &[x])?;
                let axes = vec![at.ty(x).rank() as i64 - 1];
                let sum = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[squares])?;
                at.emit(Unary::of(UnaryKind::Sqrt), &[sum])
            }
            "conj" => {
                let dtype = at.ty(x).dtype;
                let values = vec![Number::Float(1.0), Number::Float(-1.0)];
                let signs = at.emit(AssignValue { values, ty: Type::new(dtype, [2]) }, &[])?;
                at.binary(BinaryKind::Mul, x, signs)
            }
            "angle" => {
                let (real, imaginary) = (at.half(x, 0)?, at.half(x, 1)?);
                at.angle(imaginary, real)
            }
            _ => return Ok(false),
        };
        self.tried(out.map(Ok), "Out")
    }

    /// The parts, the conjugate and the angle of real numbers.
    pub(super) fn part_of_real(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let dtype = self.ty(x).dtype;
        match self.desc.r#type.as_str() {
            "imag" => self.out(Fill::zeros(self.ty(x).clone()), &[]),
            "angle" if dtype.is_float() => {
                let mut at = self.at();
                let [zero, half] = [0.0, std::f64::consts::PI].map(|value| at.number(value, dtype));
                let (zero, half) = (zero?, half?);
                let is_below = at.emit(Compare { kind: CompareKind::LessThan }, &[x, zero])?;
                self.out(Select, &[is_below, half, zero])
            }
            "conj" | "real" => self.out(Assign, &[x]),
            _ => Ok(false),
        }
    }

    /// A sum, difference or product, of which one value may be real.
    fn complex_arithmetic(&mut self) -> Result<bool, ConvertError> {
        let names = [one(self.desc.input("X"), "X")?, one(self.desc.input("Y"), "Y")?];
        let are_complex = names.map(|name| self.is_complex(name));
        if self.desc.attr_long("axis")?.unwrap_or(-1) != -1 {
            return self.lacks("it aligns complex numbers at an axis");
        }
        let mut values = [self.input("X")?, self.input("Y")?];
        let kind = self.desc.r#type.clone();
        let mut at = self.at();
        for (value, is_complex) in values.iter_mut().zip(are_complex) {
            if is_complex {
                continue;
            }
            *value = if kind == "elementwise_mul" {
                let dims = [&at.ty(*value).dims[..], &[Dim::from(1)]].concat();
                at.shaped(*value, dims)?
            } else {
                let zero = at.scaled(*value, 0.0, 0.0)?;
                at.pair([*value, zero])?
            };
        }
        let [x, y] = values;
        let out = match kind.as_str() {
            "elementwise_add" => at.binary(BinaryKind::Add, x, y),
            "elementwise_sub" => at.binary(BinaryKind::Sub, x, y),
            _ if are_complex != [true; 2] => at.binary(BinaryKind::Mul, x, y),
            _ => {
                let [a, b, c, mut d] = [at.half(x, 0)?, at.half(x, 1)?, at.half(y, 0)?, at.half(y, 1)?];
                let divides = kind == "elementwise_div";
                if divides {
                    // A quotient is the product with the conjugate, divided by the square of its size.
                    d = at.scaled(d, -1.0, 0.0)?;
                }
                let (ac, bd) = (at.binary(BinaryKind::Mul, a, c)?, at.binary(BinaryKind::Mul, b, d)?);
                let (ad, bc) = (at.binary(BinaryKind::Mul, a, d)?, at.binary(BinaryKind::Mul, b, c)?);
                let real = at.binary(BinaryKind::Sub, ac, bd)?;
                let imaginary = at.binary(BinaryKind::Add, ad, bc)?;
                let product = at.pair([real, imaginary])?;
                if divides {
                    let (cc, dd) = (at.binary(BinaryKind::Mul, c, c)?, at.binary(BinaryKind::Mul, d, d)?);
                    let size = at.binary(BinaryKind::Add, cc, dd)?;
                    let dims = [&at.ty(size).dims[..], &[Dim::from(1)]].concat();
                    let size = at.shaped(size, dims)?;
                    at.binary(BinaryKind::Div, product, size)
                } else {
                    Ok(product)
                }
            }
        };
        self.tried(out.map(Ok), "Out")
    }

    /// Fourier transforms along axes, of real numbers or to them along the last one.
    fn spectrum(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (desc, kind) = (self.desc, self.desc.r#type.as_str());
        let forward = self.bool("forward", true)?;
        let rank = self.ty(x).rank() as i64 - i64::from(kind != "fft_r2c");
        let axes = desc.attr_longs("axes")?.unwrap_or_default();
        let axes: Option<Vec<usize>> = axes
            .into_iter()
            .map(|axis| usize::try_from(if axis < 0 { axis + rank } else { axis }).ok())
            .collect();
        let Some(axes) = axes.filter(|axes| axes.iter().all(|&axis| (axis as i64) < rank)) else {
            return Ok(false);
        };
        let Some((&last, others)) = axes.split_last() else { return Ok(false) };
        if self.ty(x).rows.is_some() && axes.contains(&0) {
            return Ok(false);
        }
        let scale = |size: i64| match (desc.attr_string("normalization"), forward) {
            (Ok(Some("ortho")), _) => 1.0 / (size as f64).sqrt(),
            (Ok(Some("forward")), true) => 1.0 / size as f64,
            (Ok(Some("forward")), false) | (_, true) => 1.0,
            _ => 1.0 / size as f64,
        };
        let wanted = desc.attr_long("last_dim_size")?.unwrap_or(0);
        let onesided = self.bool("onesided", true)?;
        let mut at = self.at();
        let size = |at: &mut At<'_>, axis| at.constant_size(x, axis).filter(|size| (1..=MOST).contains(size));
        let Some(of_last) = size(&mut at, last) else {
            return self.lacks("the size of an axis is not known, or too large");
        };
        let mut value = x;
        if kind == "fft_r2c" {
            let to = if onesided { of_last / 2 + 1 } else { of_last };
            let matrix = at.waves([1, of_last], [2, to], of_last, forward, scale(of_last), false)?;
            value = at.transformed(value, last, false, [to, 2], matrix)?;
        }
        let between = if kind == "fft_c2c" { &axes[..] } else { others };
        for &axis in between {
            let Some(n) = size(&mut at, axis) else {
                return self.lacks("the size of an axis is not known, or too large");
            };
            let matrix = at.waves([2, n], [2, n], n, forward, scale(n), false)?;
            value = at.transformed(value, axis, true, [n, 2], matrix)?;
        }
        if kind == "fft_c2r" {
            let to = if wanted > 0 { wanted } else { 2 * (of_last - 1) };
            if !(1..=MOST).contains(&to) || of_last != to / 2 + 1 {
                return self.lacks("its result has another size than its spectrum");
            }
            let matrix = at.waves([2, of_last], [1, to], to, forward, scale(to), true)?;
            value = at.transformed(value, last, true, [to, 1], matrix)?;
        }
        self.tried(Ok(Ok(value)), "Out")
    }
}

impl At<'_> {
    /// The real part, 0, or the imaginary one, 1.
    fn half(&mut self, x: VarId, part: i64) -> Result<VarId, Fault> {
        let axis = self.ty(x).rank() - 1;
        let half = self.part(x, axis, part, 1)?;
        let mut dims = self.ty(half).dims.clone();
        dims.pop();
        self.shaped(half, dims)
    }

    /// Complex numbers of their two parts.
    fn pair(&mut self, parts: [VarId; 2]) -> Result<VarId, Fault> {
        let mut columns = Vec::new();
        for part in parts {
            let dims = [&self.ty(part).dims[..], &[Dim::from(1)]].concat();
            columns.push(self.shaped(part, dims)?);
        }
        let axis = self.ty(columns[0]).rank() as i64 - 1;
        self.emit(Concat { axis }, &columns)
    }

    /// The matrix of a Fourier transform: from `n` numbers of `a` parts each to `m` of `b` parts, as `[n · a, m · b]`. Numbers `k` and
    /// `t` meet in the wave of `k · t` out of `period`. A transform of half a spectrum counts most of it twice.
    fn waves(
        &mut self,
        [a, n]: [i64; 2],
        [b, m]: [i64; 2],
        period: i64,
        forward: bool,
        scale: f64,
        is_half: bool,
    ) -> Result<VarId, Fault> {
        let count = |at: &mut Self, size: i64, dims: [i64; 2]| {
            let range = at.count_to(Dim::from(size))?;
            at.shaped(range, dims.map(Dim::from).to_vec())
        };
        let (rows, columns) = (count(self, n, [n, 1])?, count(self, m, [1, m])?);
        let products = self.binary(BinaryKind::Mul, rows, columns)?;
        let whole = self
            .emit(AssignValue { values: vec![Number::Int(period)], ty: Type::new(DType::I64, [1]) }, &[])?;
        let place = self.binary(BinaryKind::Mod, products, whole)?;
        let place = self.emit(Cast { dtype: DType::F64 }, &[place])?;
        let angle = self.scaled(place, std::f64::consts::TAU / period as f64, 0.0)?;
        let cos = self.emit(Unary::of(UnaryKind::Cos), &[angle])?;
        let sin = self.emit(Unary::of(UnaryKind::Sin), &[angle])?;
        let (mut cos, mut sin) = (self.scaled(cos, scale, 0.0)?, self.scaled(sin, scale, 0.0)?);
        if is_half {
            // The first number, and the middle one of an even period, have no counterpart.
            let twice =
                (0..n).map(|k| if k == 0 || 2 * k == period { 1.0 } else { 2.0 }).collect::<Vec<f64>>();
            let twice = self.numbers(&twice, Type::new(DType::F64, [n, 1]))?;
            cos = self.binary(BinaryKind::Mul, cos, twice)?;
            sin = self.binary(BinaryKind::Mul, sin, twice)?;
        }
        let minus = self.scaled(sin, -1.0, 0.0)?;
        // `(x + iy) (cos ∓ i sin)`, with the upper sign forward.
        let (to_imaginary, to_real) = if forward { (minus, sin) } else { (sin, minus) };
        let parts = [[cos, to_imaginary], [to_real, cos]];
        let mut lines = Vec::new();
        for line in &parts[..a as usize] {
            let mut columns = Vec::new();
            for &part in &line[..b as usize] {
                columns.push(self.shaped(part, [n, 1, m, 1].map(Dim::from).to_vec())?);
            }
            lines.push(if b == 1 { columns[0] } else { self.emit(Concat { axis: 3 }, &columns)? });
        }
        let matrix = if a == 1 { lines[0] } else { self.emit(Concat { axis: 1 }, &lines)? };
        let matrix = self.shaped(matrix, [n * a, m * b].map(Dim::from).to_vec())?;
        self.emit(Cast { dtype: DType::F32 }, &[matrix])
    }

    /// The product with such a matrix along an axis. Pairs are behind it, before if `is_pair`, and after it if `to` says so.
    fn transformed(
        &mut self,
        x: VarId,
        axis: usize,
        is_pair: bool,
        [to, parts]: [i64; 2],
        matrix: VarId,
    ) -> Result<VarId, Fault> {
        let axes = self.ty(x).rank() - usize::from(is_pair);
        let mut matrix = matrix;
        let dtype = self.ty(x).dtype;
        if self.ty(matrix).dtype != dtype {
            matrix = self.emit(Cast { dtype }, &[matrix])?;
        }
        // The axis goes behind the others, in front of the pairs.
        let others = || (0..axes).filter(|&other| other != axis);
        let mut perm: Vec<i64> = others().chain([axis]).map(|axis| axis as i64).collect();
        if is_pair {
            perm.push(axes as i64);
        }
        let mut value = self.permuted(x, &perm)?;
        if is_pair {
            let mut dims = self.ty(value).dims.clone();
            let pair = dims.split_off(dims.len() - 2);
            dims.push(product(&pair)?);
            value = self.shaped(value, dims)?;
        }
        let mut value = self.emit(Matmul::PLAIN, &[value, matrix])?;
        let mut back: Vec<i64> = vec![0; axes];
        for (at, from) in others().chain([axis]).enumerate() {
            back[from] = at as i64;
        }
        if parts == 2 {
            let mut dims = self.ty(value).dims.clone();
            dims.pop();
            dims.extend([Dim::from(to), Dim::from(2)]);
            value = self.shaped(value, dims)?;
            back.push(axes as i64);
        }
        match back.iter().enumerate().all(|(at, &from)| at as i64 == from) {
            true => Ok(value),
            false => self.emit(Transpose { perm: back }, &[value]),
        }
    }
}
