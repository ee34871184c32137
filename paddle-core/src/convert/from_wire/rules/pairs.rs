//! Rules for functions of two values that several operators compute.

use crate::convert::derived::float;
use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::product;
use crate::ops::{
    Assign, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, Matmul, Number, Predicate,
    PredicateKind, Reduce, ReduceKind, Select, Transpose, Unary, UnaryKind,
};
use crate::program::{Dim, Type, VarId};

impl Reading<'_, '_> {
    /// `x + weight · (y - x)`.
    pub(super) fn lerp(&mut self) -> Result<bool, ConvertError> {
        let (x, y, weight) = (self.input("X")?, self.input("Y")?, self.input("Weight")?);
        let mut at = self.at();
        let distance = at.binary(BinaryKind::Sub, y, x)?;
        let moved = at.binary(BinaryKind::Mul, weight, distance)?;
        let sum = at.binary(BinaryKind::Add, x, moved);
        self.tried(sum.map(Ok), "Out")
    }

    pub(super) fn atan2(&mut self) -> Result<bool, ConvertError> {
        let (y, x) = (self.input("X1")?, self.input("X2")?);
        let dtype = self.ty(y).dtype;
        if !dtype.is_float() {
            return self.lacks("it is of integers");
        }
        let angle = self.at().angle(y, x);
        self.tried(angle.map(Ok), "Out")
    }

    /// Whether `|x - y|` is at most `atol + rtol · |y|`, for each element or for all of them.
    pub(super) fn is_close(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("Input")?, self.input("Other")?);
        if self.has(&["Rtol", "Atol"]) {
            return self.lacks("its bounds are inputs");
        }
        let bound = |name: &'static str, default: f64| match self.desc.attr_string(name) {
            Ok(Some(text)) => text.parse::<f64>().ok(),
            _ => float(self.desc, name).ok().flatten().or(Some(default)),
        };
        let (Some(relative), Some(absolute)) = (bound("rtol", 1e-5), bound("atol", 1e-8)) else {
            return self.lacks("its bounds are no numbers");
        };
        let (all, nan_is_nan) = (self.desc.r#type == "allclose", self.bool("equal_nan", false)?);
        let mut at = self.at();
        let distance = at.binary(BinaryKind::Sub, x, y)?;
        let distance = at.emit(Unary::of(UnaryKind::Abs), &[distance])?;
        let size = at.emit(Unary::of(UnaryKind::Abs), &[y])?;
        let most = at.scaled(size, relative, absolute)?;
        let near = at.emit(Compare { kind: CompareKind::LessEqual }, &[distance, most])?;
        // Infinite values that are equal have no distance.
        let same = at.emit(Compare { kind: CompareKind::Equal }, &[x, y])?;
        let is_finite = at.emit(Predicate { kind: PredicateKind::Finite }, &[distance])?;
        let near = at.emit(Logical { kind: LogicalKind::And }, &[near, is_finite])?;
        let mut close = at.emit(Logical { kind: LogicalKind::Or }, &[near, same])?;
        if nan_is_nan {
            let nan = Predicate { kind: PredicateKind::NotANumber };
            let (of_x, of_y) = (at.emit(nan, &[x])?, at.emit(nan, &[y])?);
            let both = at.emit(Logical { kind: LogicalKind::And }, &[of_x, of_y])?;
            close = at.emit(Logical { kind: LogicalKind::Or }, &[close, both])?;
        }
        if all {
            close = at.emit(Reduce { kind: ReduceKind::All, axes: Vec::new(), keep_dim: false }, &[close])?;
        }
        self.tried(Ok(Ok(close)), "Out")
    }

    /// The vector product along an axis of three elements.
    pub(super) fn cross(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("X")?, self.input("Y")?);
        let shape = self.reader.draft.program.shape(self.ty(x));
        let axis = match self.desc.attr_long("dim")?.filter(|&axis| axis != 9) {
            Some(axis) => self.axis(x, axis),
            None => shape.iter().position(|size| size.constant() == Some(3)),
        };
        let Some(axis) = axis.filter(|&axis| shape[axis].constant() == Some(3)) else {
            return self.lacks("it has no axis of three elements");
        };
        if axis < usize::from(self.ty(x).rows.is_some()) {
            return Ok(false);
        }
        let (axis, mut at) = (axis as i64, self.at());
        let mut turned = |value, by: [i64; 3]| at.picked(value, axis, by.to_vec());
        let (next, other) = ([1, 2, 0], [2, 0, 1]);
        let (a, b, c, d) = (turned(x, next)?, turned(y, other)?, turned(x, other)?, turned(y, next)?);
        let (ab, cd) = (at.binary(BinaryKind::Mul, a, b)?, at.binary(BinaryKind::Mul, c, d)?);
        let cross = at.binary(BinaryKind::Sub, ab, cd);
        self.tried(cross.map(Ok), "Out")
    }

    /// The norm of a difference, over everything.
    pub(super) fn distance(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("X")?, self.input("Y")?);
        let p = float(self.desc, "p")?.unwrap_or(2.0);
        let mut at = self.at();
        let difference = at.binary(BinaryKind::Sub, x, y)?;
        let size = at.emit(Unary::of(UnaryKind::Abs), &[difference])?;
        let dtype = at.ty(size).dtype;
        let over = |kind| Reduce { kind, axes: Vec::new(), keep_dim: false };
        let norm = match p {
            _ if p == f64::INFINITY => at.emit(over(ReduceKind::Max), &[size]),
            _ if p == f64::NEG_INFINITY => at.emit(over(ReduceKind::Min), &[size]),
            0.0 => {
                let zero = at.number(0.0, dtype)?;
                let counts = at.emit(Compare { kind: CompareKind::NotEqual }, &[size, zero])?;
                let ones = at.emit(crate::ops::Cast { dtype }, &[counts])?;
                at.emit(over(ReduceKind::Sum), &[ones])
            }
            _ => {
                let power = at.number(p, dtype)?;
                let powers = at.binary(BinaryKind::Pow, size, power)?;
                let sum = at.emit(over(ReduceKind::Sum), &[powers])?;
                let root = at.number(1.0 / p, dtype)?;
                at.binary(BinaryKind::Pow, sum, root)
            }
        };
        self.tried(norm.map(Ok), "Out")
    }

    /// Each element of one value times all of another: along each axis, an element for each pair.
    pub(super) fn kron(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("X")?, self.input("Y")?);
        if [x, y].iter().any(|&value| self.ty(value).rows.is_some()) {
            return Ok(false);
        }
        let rank = self.ty(x).rank().max(self.ty(y).rank());
        let padded = |value: VarId| {
            let own = &self.ty(value).dims;
            [vec![Dim::from(1); rank - own.len()], own.clone()].concat()
        };
        let (a, b) = (padded(x), padded(y));
        let one = || Dim::from(1);
        let outer = a.iter().flat_map(|dim| [dim.clone(), one()]).collect();
        let inner = b.iter().flat_map(|dim| [one(), dim.clone()]).collect();
        let mut dims = Vec::with_capacity(rank);
        for (a, b) in a.iter().zip(&b) {
            dims.push(product(&[a.clone(), b.clone()])?);
        }
        let mut at = self.at();
        let (x, y) = (at.shaped(x, outer)?, at.shaped(y, inner)?);
        let all = at.binary(BinaryKind::Mul, x, y)?;
        let all = at.shaped(all, dims);
        self.tried(all.map(Ok), "Out")
    }

    /// All values in the shape to which they broadcast.
    pub(super) fn broadcast_all(&mut self) -> Result<bool, ConvertError> {
        let (inputs, desc) = (self.inputs("X")?, self.desc);
        let names = desc.output("Out");
        if names.len() != inputs.len() {
            return Ok(false);
        }
        // The shape is that of a sum of zeros.
        let mut like: Option<VarId> = None;
        for &input in &inputs {
            let ty = self.ty(input).with_dtype(crate::program::DType::F32);
            let zeros = self.emit(Fill::zeros(ty), &[])?;
            like = Some(match like {
                None => zeros,
                Some(sum) => self.at().binary(BinaryKind::Add, sum, zeros)?,
            });
        }
        let Some(like) = like else { return Ok(false) };
        for (&input, name) in inputs.iter().zip(names) {
            let ty = self.ty(like).with_dtype(self.ty(input).dtype);
            match *self.ty(input) == ty {
                true => self.define(Assign, &[input], &[], &[name])?,
                false => {
                    let zeros = self.emit(Fill::zeros(ty), &[])?;
                    let spread = self.at().spread(input, zeros)?;
                    self.named_value(name, spread)?
                }
            };
        }
        Ok(true)
    }

    /// `x W_k yᵀ` for each of several matrices.
    pub(super) fn bilinear_tensor_product(&mut self) -> Result<bool, ConvertError> {
        let (x, y, weight) = (self.input("X")?, self.input("Y")?, self.input("Weight")?);
        let [count, wide, deep] = &self.ty(weight).dims.clone()[..] else { return Ok(false) };
        if self.ty(x).rank() != 2 {
            return self.lacks("its values are no rows of numbers");
        }
        let rows = usize::from(self.ty(x).rows.is_some());
        let before = self.ty(x).dims[..1 - rows].to_vec();
        let mut at = self.at();
        let turned = at.emit(Transpose { perm: vec![1, 0, 2] }, &[weight])?;
        let flat = at.shaped(turned, vec![wide.clone(), product(&[count.clone(), deep.clone()])?])?;
        let both = at.emit(Matmul::PLAIN, &[x, flat])?;
        let both = at.shaped(both, [&before[..], &[count.clone(), deep.clone()]].concat())?;
        let other = at.shaped(y, [&before[..], &[Dim::from(1), deep.clone()]].concat())?;
        let products = at.binary(BinaryKind::Mul, both, other)?;
        let axes = vec![at.ty(products).rank() as i64 - 1];
        let mut sum = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[products])?;
        if self.has(&["Bias"]) {
            let bias = self.input("Bias")?;
            let bias = self.at().shaped(bias, vec![count.clone()])?;
            sum = self.at().binary(BinaryKind::Add, sum, bias)?;
        }
        self.tried(Ok(Ok(sum)), "Out")
    }

    /// A product of several matrices, in their order.
    pub(super) fn multi_dot(&mut self) -> Result<bool, ConvertError> {
        let inputs = self.inputs("X")?;
        let Some((&first, others)) = inputs.split_first() else { return Ok(false) };
        let mut all = first;
        for &other in others {
            all = self.emit(Matmul::PLAIN, &[all, other])?;
        }
        self.tried(Ok(Ok(all)), "Out")
    }

    /// A filter divided by its largest singular value, which a few steps of power iteration find: Miyato et al., "Spectral
    /// normalization for generative adversarial networks", 2018.
    pub(super) fn spectral_norm(&mut self) -> Result<bool, ConvertError> {
        let (weight, u, v) = (self.input("Weight")?, self.input("U")?, self.input("V")?);
        let steps = self.desc.attr_long("power_iters")?.unwrap_or(1);
        let epsilon = float(self.desc, "eps")?.unwrap_or(1e-12);
        let ty = self.ty(weight).clone();
        let Some(axis) = self.axis(weight, self.desc.attr_long("dim")?.unwrap_or(0)) else {
            return Ok(false);
        };
        if ty.rows.is_some() || !(0..=64).contains(&steps) {
            return self.lacks("its weights have rows, or it takes too many steps");
        }
        let order = [axis].into_iter().chain((0..ty.rank()).filter(|&other| other != axis));
        let perm: Vec<i64> = order.map(|axis| axis as i64).collect();
        let mut at = self.at();
        let turned = at.emit(Transpose { perm }, &[weight])?;
        let dims = at.ty(turned).dims.clone();
        let (high, wide) = (dims[0].clone(), product(&dims[1..])?);
        let matrix = at.shaped(turned, vec![high.clone(), wide.clone()])?;
        let mut u = at.shaped(u, vec![Dim::from(1), high])?;
        let mut v = at.shaped(v, vec![Dim::from(1), wide])?;
        let unit = |at: &mut At<'_>, value: VarId| -> Result<VarId, Fault> {
            let squares = at.emit(Unary::of(UnaryKind::Square), &[value])?;
            let sum =
                at.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[squares])?;
            let norm = at.emit(Unary::of(UnaryKind::Sqrt), &[sum])?;
            let norm = at.scaled(norm, 1.0, epsilon)?;
            at.binary(BinaryKind::Div, value, norm)
        };
        for _ in 0..steps {
            let next = at.emit(Matmul::PLAIN, &[u, matrix])?;
            v = unit(&mut at, next)?;
            let next = at.emit(Matmul { trans_x: false, trans_y: true }, &[v, matrix])?;
            u = unit(&mut at, next)?;
        }
        let left = at.emit(Matmul::PLAIN, &[u, matrix])?;
        let largest = at.emit(Matmul { trans_x: false, trans_y: true }, &[left, v])?;
        let largest = at.shaped(largest, Vec::new())?;
        let normed = at.binary(BinaryKind::Div, weight, largest);
        self.tried(normed.map(Ok), "Out")
    }

    /// Values less their mean, times a scale, from sums that were collected while a model was trained.
    pub(super) fn data_norm(&mut self) -> Result<bool, ConvertError> {
        let inputs = ["X", "BatchSize", "BatchSum", "BatchSquareSum"].map(|slot| self.input(slot));
        let [x, size, sum, squares] = inputs;
        let (x, size, sum, squares) = (x?, size?, sum?, squares?);
        if self.desc.attr_long("slot_dim")?.unwrap_or(-1) > 0 {
            return self.lacks("it normalises slots by themselves");
        }
        let mut at = self.at();
        let mean = at.binary(BinaryKind::Div, sum, size)?;
        let scale = at.binary(BinaryKind::Div, size, squares)?;
        let scale = at.emit(Unary::of(UnaryKind::Sqrt), &[scale])?;
        let distance = at.binary(BinaryKind::Sub, x, mean)?;
        let mut normed = at.binary(BinaryKind::Mul, distance, scale)?;
        if self.bool("enable_scale_and_shift", false)? {
            let (scale, bias) = (self.input("scale_w")?, self.input("bias")?);
            normed = self.at().binary(BinaryKind::Mul, normed, scale)?;
            normed = self.at().binary(BinaryKind::Add, normed, bias)?;
        }
        let desc = self.desc;
        self.named_value(one(desc.output("Y"), "Y")?, normed)
    }

    /// The number of a class within a shard, or another number if it is in another one.
    pub(super) fn shard_index(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let number = |name: &'static str| {
            self.desc.attr_long(name)?.ok_or(Fault::MissingAttribute { attribute: name })
        };
        let (all, shards, own) = (number("index_num")?, number("nshards")?, number("shard_id")?);
        let ignored = self.desc.attr_long("ignore_value")?.unwrap_or(-1);
        if shards < 1 || all < 1 {
            return self.lacks("it has no shards");
        }
        let size = all / shards + i64::from(all % shards != 0);
        let dtype = self.ty(x).dtype;
        let mut at = self.at();
        let value = |at: &mut At<'_>, number: i64| {
            at.emit(Fill { value: Number::Int(number), ty: Type::scalar(dtype) }, &[])
        };
        let (size, own, ignored) = (value(&mut at, size)?, value(&mut at, own)?, value(&mut at, ignored)?);
        let shard = at.binary(BinaryKind::FloorDiv, x, size)?;
        let within = at.binary(BinaryKind::Mod, x, size)?;
        let is_own = at.emit(Compare { kind: CompareKind::Equal }, &[shard, own])?;
        let found = at.emit(Select, &[is_own, within, ignored]);
        self.tried(found.map(Ok), "Out")
    }
}

impl At<'_> {
    /// The angle of points: `atan(y / x)`, and π further to the left of the origin.
    pub(super) fn angle(&mut self, y: VarId, x: VarId) -> Result<VarId, Fault> {
        let dtype = self.ty(y).dtype;
        let zero = self.number(0.0, dtype)?;
        let quotient = self.binary(BinaryKind::Div, y, x)?;
        let angle = self.emit(Unary::of(UnaryKind::Atan), &[quotient])?;
        let is_left = self.emit(Compare { kind: CompareKind::LessThan }, &[x, zero])?;
        let is_below = self.emit(Compare { kind: CompareKind::LessThan }, &[y, zero])?;
        let half = self.number(std::f64::consts::PI, dtype)?;
        let minus_half = self.number(-std::f64::consts::PI, dtype)?;
        let turn = self.emit(Select, &[is_below, minus_half, half])?;
        let turn = self.emit(Select, &[is_left, turn, zero])?;
        let angle = self.binary(BinaryKind::Add, angle, turn)?;
        // At the origin there is no quotient.
        let holds = [x, y].map(|value| self.emit(Compare { kind: CompareKind::Equal }, &[value, zero]));
        let [a, b] = holds;
        let is_origin = self.emit(Logical { kind: LogicalKind::And }, &[a?, b?])?;
        self.emit(Select, &[is_origin, zero, angle])
    }
}
