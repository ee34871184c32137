//! Rules for normalisations and norms.

use crate::convert::derived::float;
use crate::convert::dialect::EMPTY;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::{is_small_product, product};
use crate::ops::{
    BatchNorm, BatchNormGrad, Binary, BinaryKind, Cast, Compare, CompareKind, Fill, GroupNorm, GroupNormGrad,
    LayerNorm, LayerNormGrad, Number, Op, Reduce, ReduceKind, Reshape, Scale, Select, Transpose, Unary,
    UnaryKind,
};
use crate::program::{Dim, Type, VarId};

/// The output slots of statistics, of rows and of groups.
const STATISTICS: &[&str] = &["Mean", "Variance"];

impl<'a> Reading<'_, 'a> {
    /// The value in a slot or, if the slot is empty, a constant of this size.
    fn vector_or(&mut self, slot: &'static str, like: VarId, size: Dim, value: f64) -> Result<VarId, Fault> {
        if self.has(&[slot]) {
            return self.input(slot);
        }
        let ty = Type { dtype: self.ty(like).dtype, rows: None, dims: vec![size] };
        self.emit(Fill { value: Number::Float(value), ty }, &[])
    }

    /// Appends a normalisation. `back` restores PaddlePaddle's order of axes in the result. The statistics go to the
    /// variables in these slots, if there are any.
    fn normalised(
        &mut self,
        op: Op,
        inputs: &[VarId],
        back: Option<Transpose>,
        statistics: &[&'static str],
    ) -> Result<bool, ConvertError> {
        let (desc, id, op_name) = (self.desc, self.id(), op.name());
        let place = |k: usize| {
            let named = statistics.get(k).and_then(|slot| desc.output(slot).first()).map(String::as_str);
            named.filter(|name| *name != EMPTY)
        };
        let y = one(desc.output("Y"), "Y")?;
        let places = [back.is_none().then_some(y), place(0), place(1)];
        let names = places.map(|name| name.unwrap_or(op_name));
        let values = self.reader.draft.append(id, op, inputs, &[], &names, self.site)?;
        for (name, &value) in places.into_iter().zip(&values) {
            if let Some(name) = name {
                self.write(name, value)?;
            }
        }
        match back {
            Some(back) => self.define(back, &values[..1], &[], &[y]),
            None => Ok(true),
        }
    }

    fn normalised_grad(&mut self, op: Op) -> Result<bool, ConvertError> {
        if !self.has(&["Scale"]) {
            return Ok(false);
        }
        let desc = self.desc;
        let inputs = ["X", "Scale", "Mean", "Variance", "Y@GRAD"].map(|slot| self.input(slot));
        let inputs = inputs.into_iter().collect::<Result<Vec<_>, _>>()?;
        let [x, scale, bias] = ["X@GRAD", "Scale@GRAD", "Bias@GRAD"].map(|slot| one(desc.output(slot), slot));
        self.define(op, &inputs, &[], &[x?, scale?, bias?])
    }

    /// The moving statistics have to be updated in place.
    pub(super) fn batch_norm(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let in_place =
            |from: &str, to: &str| desc.output(to).is_empty() || desc.output(to) == desc.input(from);
        let is_test = self.is_test()? && !self.bool("trainable_statistics", false)?
            || self.bool("use_global_stats", false)?;
        if self.has(&["MomentumTensor"]) {
            return Ok(false);
        }
        if desc.r#type.ends_with("_grad") {
            if self.channels_last("data_layout")? || !self.has(&["Scale"]) {
                return Ok(false);
            }
            let inputs = ["X", "Scale", "SavedMean", "SavedVariance", "Y@GRAD"];
            let inputs = inputs.iter().map(|slot| self.input(slot)).collect::<Result<Vec<_>, _>>()?;
            let names = ["X@GRAD", "Scale@GRAD", "Bias@GRAD"].map(|slot| one(desc.output(slot), slot));
            let [x, scale, bias] = names;
            return self.define(BatchNormGrad { is_test }, &inputs, &[], &[x?, scale?, bias?]);
        }
        if !in_place("Mean", "MeanOut") || !in_place("Variance", "VarianceOut") {
            return Ok(false);
        }
        let op = BatchNorm { is_test, ..self.attributes_of()? };
        let x = self.input("X")?;
        let (x, back) = self.channels_first(x, "data_layout")?;
        let Some(channels) = self.channels(x) else { return Ok(false) };
        let scale = self.vector_or("Scale", x, channels.clone(), 1.0)?;
        let bias = self.vector_or("Bias", x, channels, 0.0)?;
        let inputs = [x, scale, bias, self.input("Mean")?, self.input("Variance")?];
        self.normalised(op.into(), &inputs, back, &["SavedMean", "SavedVariance"])
    }

    pub(super) fn layer_norm(&mut self) -> Result<bool, ConvertError> {
        let op: LayerNorm = self.attributes_of()?;
        if self.desc.r#type.ends_with("_grad") {
            return self.normalised_grad(LayerNormGrad(op).into());
        }
        let x = self.input("X")?;
        let behind = self.axis(x, op.begin_norm_axis);
        let behind = behind.and_then(|axis| axis.checked_sub(usize::from(self.ty(x).rows.is_some())));
        let dims = behind.map(|at| self.ty(x).dims[at..].to_vec()).filter(|dims| is_small_product(dims));
        let Some(dims) = dims else { return Ok(false) };
        let count = product(&dims)?;
        let scale = self.vector_or("Scale", x, count.clone(), 1.0)?;
        let bias = self.vector_or("Bias", x, count, 0.0)?;
        self.normalised(op.into(), &[x, scale, bias], None, STATISTICS)
    }

    pub(super) fn group_norm(&mut self) -> Result<bool, ConvertError> {
        let op: GroupNorm = self.attributes_of()?;
        if !self.desc.r#type.ends_with("_grad") {
            return self.groups(op, STATISTICS);
        }
        if self.channels_last("data_layout")? {
            return Ok(false);
        }
        self.normalised_grad(GroupNormGrad(op).into())
    }

    /// Each channel is a group. PaddlePaddle's statistics differ from ours; only its gradient reads them.
    pub(super) fn instance_norm(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let channels = self.channels(x).and_then(|channels| channels.constant());
        let Some(groups) = channels else { return Ok(false) };
        self.groups(GroupNorm { groups, ..self.attributes_of()? }, &[])
    }

    /// The number of channels, which come behind the rows.
    fn channels(&self, x: VarId) -> Option<Dim> {
        self.ty(x).dims.get(usize::from(self.ty(x).rows.is_none())).cloned()
    }

    fn groups(&mut self, op: GroupNorm, statistics: &[&'static str]) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (x, back) = self.channels_first(x, "data_layout")?;
        let Some(channels) = self.channels(x) else { return Ok(false) };
        let scale = self.vector_or("Scale", x, channels.clone(), 1.0)?;
        let bias = self.vector_or("Bias", x, channels, 0.0)?;
        self.normalised(op.into(), &[x, scale, bias], back, statistics)
    }

    /// `X / √(Σ X² + epsilon)` along an axis.
    pub(super) fn norm(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(axis) = self.axis(x, self.desc.attr_long("axis")?.unwrap_or(-1)) else {
            return Ok(false);
        };
        let epsilon = float(self.desc, "epsilon")?.unwrap_or(1e-10);
        let squares = self.emit(Unary::of(UnaryKind::Square), &[x])?;
        let sum = Reduce { kind: ReduceKind::Sum, axes: vec![axis as i64], keep_dim: true };
        let sum = self.emit(sum, &[squares])?;
        let sum = self.emit(Scale { scale: 1.0, bias: epsilon }, &[sum])?;
        let desc = self.desc;
        let name = desc.output("Norm").first().map(String::as_str).filter(|name| *name != EMPTY);
        let norm = match name {
            Some(name) => {
                self.define(Unary::of(UnaryKind::Sqrt), &[sum], &[], &[name])?;
                self.read(name)?
            }
            None => self.emit(Unary::of(UnaryKind::Sqrt), &[sum])?,
        };
        self.out(Binary { kind: BinaryKind::Div }, &[x, norm])
    }

    /// `(Σ |X|ᵖ)^(1/p)` along an axis, or over everything. With `p` infinite it is the largest `|X|`, with -∞ the smallest, and
    /// with 0 the number of elements that are not 0.
    pub(super) fn p_norm(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let mut axes = Vec::new();
        if !self.bool("asvector", false)? {
            let axis = self.axis(x, self.desc.attr_long("axis")?.unwrap_or(-1));
            let Some(axis) = axis else { return Ok(false) };
            axes.push(axis as i64);
        }
        let keep_dim = self.bool("keepdim", false)?;
        let over = move |kind| Op::from(Reduce { kind, axes: axes.clone(), keep_dim });
        let unary = |kind| Op::from(Unary::of(kind));
        let power = |factor: f64| {
            let mut power = Unary::of(UnaryKind::Pow);
            power.coefficients[0] = factor;
            Op::from(power)
        };
        let p = float(self.desc, "porder")?.unwrap_or(2.0);
        let chain = match p {
            0.0 => {
                let ty = Type { dtype: self.ty(x).dtype, rows: None, dims: Vec::new() };
                let dtype = ty.dtype;
                let zero = self.emit(Fill { value: Number::Float(0.0), ty }, &[])?;
                let counts = self.emit(Compare { kind: CompareKind::NotEqual }, &[x, zero])?;
                return self.out_of_chain(vec![Cast { dtype }.into(), over(ReduceKind::Sum)], &[counts]);
            }
            1.0 => vec![unary(UnaryKind::Abs), over(ReduceKind::Sum)],
            2.0 => {
                // The root has a slope at 0 only if something is added. It is too little to change the result.
                let epsilon = float(self.desc, "epsilon")?.unwrap_or(1e-12);
                let added = Scale { scale: 1.0, bias: epsilon * epsilon }.into();
                vec![unary(UnaryKind::Square), over(ReduceKind::Sum), added, unary(UnaryKind::Sqrt)]
            }
            f64::INFINITY => vec![unary(UnaryKind::Abs), over(ReduceKind::Max)],
            f64::NEG_INFINITY => vec![unary(UnaryKind::Abs), over(ReduceKind::Min)],
            _ => vec![unary(UnaryKind::Abs), power(p), over(ReduceKind::Sum), power(1.0 / p)],
        };
        self.out_of_chain(chain, &[x])
    }

    /// `Σ |X|`, a scalar, and `Σ X²`, `[1]`, over everything.
    pub(super) fn total_norm(&mut self, of: UnaryKind) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
        let mut chain = vec![Unary::of(of).into(), sum.into()];
        if of == UnaryKind::Square {
            chain.push(Reshape { dims: vec![Dim::from(1)] }.into());
        }
        self.out_of_chain(chain, &[x])
    }

    /// `X · max_norm / max(√(Σ X²), max_norm)`.
    pub(super) fn clip_by_norm(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let ty = Type { dtype: self.ty(x).dtype, rows: None, dims: Vec::new() };
        let max_norm = float(self.desc, "max_norm")?.unwrap_or(1.0);
        let squares = self.emit(Unary::of(UnaryKind::Square), &[x])?;
        let sum =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[squares])?;
        let norm = self.emit(Unary::of(UnaryKind::Sqrt), &[sum])?;
        let most = self.emit(Fill { value: Number::Float(max_norm), ty }, &[])?;
        let norm = self.emit(Binary { kind: BinaryKind::Max }, &[norm, most])?;
        let factor = self.emit(Binary { kind: BinaryKind::Div }, &[most, norm])?;
        self.out(Binary { kind: BinaryKind::Mul }, &[x, factor])
    }

    /// A factor and a summand for each channel.
    pub(super) fn affine_channel(&mut self) -> Result<bool, ConvertError> {
        let (x, scale, bias) = (self.input("X")?, self.input("Scale")?, self.input("Bias")?);
        let behind = if self.desc.attr_string("data_layout")? == Some("NHWC") { 0 } else { 2 };
        if self.ty(x).rank() != 4 {
            return Ok(false);
        }
        let mut at = self.at();
        let mut each = |value| {
            let ones = std::iter::repeat_n(Dim::from(1), behind);
            let dims = at.ty(value).dims.iter().cloned().chain(ones).collect();
            at.shaped(value, dims)
        };
        let (scale, bias) = (each(scale)?, each(bias)?);
        let product = at.binary(BinaryKind::Mul, x, scale)?;
        let sum = at.binary(BinaryKind::Add, product, bias);
        self.tried(sum.map(Ok), "Out")
    }

    /// Slices along an axis, made shorter where their norm is above a bound.
    pub(super) fn renorm(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (p, most) = (float(self.desc, "p")?.unwrap_or(2.0), float(self.desc, "max_norm")?.unwrap_or(1.0));
        let Some(axis) = self.axis(x, self.desc.attr_long("axis")?.unwrap_or(0)) else { return Ok(false) };
        let (rank, dtype) = (self.ty(x).rank(), self.ty(x).dtype);
        if p <= 0.0 || !p.is_finite() {
            return self.lacks("its norm is neither of a positive power");
        }
        let axes: Vec<i64> = (0..rank).filter(|&other| other != axis).map(|axis| axis as i64).collect();
        if axes.contains(&0) && self.ty(x).rows.is_some() {
            return Ok(false);
        }
        let mut at = self.at();
        let size = at.emit(Unary::of(UnaryKind::Abs), &[x])?;
        let (power, root) = (at.number(p, dtype)?, at.number(1.0 / p, dtype)?);
        let powers = at.binary(BinaryKind::Pow, size, power)?;
        let sum = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: true }, &[powers])?;
        let norm = at.binary(BinaryKind::Pow, sum, root)?;
        let [most, one] = [most, 1.0].map(|value| at.number(value, dtype));
        let (most, one) = (most?, one?);
        let is_longer = at.emit(Compare { kind: CompareKind::GreaterThan }, &[norm, most])?;
        let above = at.scaled(norm, 1.0, 1e-7)?;
        let factor = at.binary(BinaryKind::Div, most, above)?;
        let factor = at.emit(Select, &[is_longer, factor, one])?;
        let out = at.binary(BinaryKind::Mul, x, factor);
        self.tried(out.map(Ok), "Out")
    }
}
