//! Rules for operators that reduce along axes, and for those that consist of reductions.

use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::dtype;
use crate::ops::compositions::log_sum_exp;
use crate::ops::{
    Assign, Attributes, Binary, BinaryKind, Cast, Compare, CompareKind, Operation, Reduce, ReduceKind,
    Reshape, Softmax, SoftmaxGrad, Transpose, Unary, UnaryKind,
};
use crate::program::{DType, Dim, VarId};
use crate::wire::VarKind;

impl Reading<'_, '_> {
    pub(super) fn mean(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        self.out(Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false }, &[x])
    }

    /// Negative axes count from the end. An empty list and `reduce_all` stand for all axes.
    pub(super) fn reduce(&mut self) -> Result<bool, ConvertError> {
        let mut x = self.input("X")?;
        // Those that share a gradient between equal elements give the same values.
        let name = match self.desc.r#type.as_str() {
            "reduce_amax" => "reduce_max",
            "reduce_amin" => "reduce_min",
            name => name,
        };
        let op = Reduce::prototypes().into_iter().find(|op| op.schema().name == name);
        let Some(Reduce { kind, .. }) = op else { return Ok(false) };
        let of = self.ty(x).dtype;
        let out_dtype = match self.desc.attr_int("out_dtype")?.unwrap_or(-1) {
            // PaddlePaddle sums small integers in i64.
            -1 if kind == ReduceKind::Sum && matches!(of, DType::Bool | DType::I32) => Some(DType::I64),
            -1 => Some(of),
            kind => VarKind::try_from(kind).ok().and_then(dtype),
        };
        let keep_dim = self.bool("keep_dim", false)?;
        let (Some(dtype), Some(axes)) = (out_dtype, self.axes_in("dim", x)?) else { return Ok(false) };
        if dtype != of {
            x = self.emit(Cast { dtype }, &[x])?;
        }
        self.out(Reduce { kind, axes, keep_dim }, &[x])
    }

    /// The axes in attribute `name` or in a slot, ascending. If both are left out, the first axis; an empty list stands
    /// for all axes. `None` if the axes are not known.
    fn axes_in(&self, name: &'static str, x: VarId) -> Result<Option<Vec<i64>>, Fault> {
        if self.bool("reduce_all", false)? {
            return Ok(Some(Vec::new()));
        }
        let slots = ["AxisTensor", "AxisTensorList"];
        let listed = match self.desc.attr(name).is_some() || self.has(&slots) {
            true => self.numbers(name, slots[0], slots[1])?,
            false => Some(vec![0]),
        };
        let Some(listed) = listed else { return Ok(None) };
        let axis = |axis| Ok(self.axis(x, axis).ok_or_else(|| self.no_axis(x, name, axis))? as i64);
        let mut axes = listed.into_iter().map(axis).collect::<Result<Vec<i64>, Fault>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(Some(axes))
    }

    /// Each result is the largest of `groups` neighbouring channels.
    pub(super) fn maxout(&mut self) -> Result<bool, ConvertError> {
        let (x, groups) = (self.input("X")?, self.desc.attr_long("groups")?.unwrap_or(1));
        let axis = self.axis(x, self.desc.attr_long("axis")?.unwrap_or(1));
        let (rows, mut dims) = (usize::from(self.ty(x).rows.is_some()), self.ty(x).dims.clone());
        let Some(at) = axis.and_then(|axis| axis.checked_sub(rows)) else { return Ok(false) };
        match dims[at].constant() {
            Some(channels) if groups > 0 && channels % groups == 0 => dims[at] = Dim::from(channels / groups),
            _ => return Ok(false),
        }
        dims.insert(at + 1, Dim::from(groups));
        let largest = Reduce { kind: ReduceKind::Max, axes: vec![(at + rows + 1) as i64], keep_dim: false };
        self.out_of_chain(vec![Reshape { dims }.into(), largest.into()], &[x])
    }

    /// `ln Σ exp X` along axes.
    pub(super) fn logsumexp(&mut self) -> Result<bool, ConvertError> {
        let (x, keep_dim) = (self.input("X")?, self.bool("keepdim", false)?);
        let Some(axes) = self.axes_in("axis", x)? else { return Ok(false) };
        let out = log_sum_exp(x, axes, keep_dim, |op, inputs| self.emit(op, inputs))?;
        self.out(Assign, &[out])
    }

    /// `√Σ X²` along axes.
    pub(super) fn frobenius_norm(&mut self) -> Result<bool, ConvertError> {
        let (x, keep_dim) = (self.input("X")?, self.bool("keep_dim", false)?);
        let Some(axes) = self.axes_in("dim", x)? else { return Ok(false) };
        let sum = Reduce { kind: ReduceKind::Sum, axes, keep_dim };
        self.out_of_chain(
            vec![Unary::of(UnaryKind::Square).into(), sum.into(), Unary::of(UnaryKind::Sqrt).into()],
            &[x],
        )
    }

    /// Whether all elements of two values are equal.
    pub(super) fn equal_all(&mut self) -> Result<bool, ConvertError> {
        let inputs = [self.input("X")?, self.input("Y")?];
        let all = Reduce { kind: ReduceKind::All, axes: Vec::new(), keep_dim: false };
        self.out_of_chain(vec![Compare { kind: CompareKind::Equal }.into(), all.into()], &inputs)
    }

    /// A value is transposed for a softmax along another axis than the last, unless that axis is the rows.
    pub(super) fn softmax(&mut self) -> Result<bool, ConvertError> {
        let is_grad = self.desc.r#type.ends_with("_grad");
        let value = self.input(if is_grad { "Out" } else { "X" })?;
        if self.is_last_axis(value)? {
            return self.same_slots(if is_grad { SoftmaxGrad.into() } else { Softmax.into() });
        }
        let axis = self.axis(value, self.desc.attr_long("axis")?.unwrap_or(-1));
        let Some(axis) = axis.filter(|&axis| axis > 0 || self.ty(value).rows.is_none()) else {
            return Ok(false);
        };
        if is_grad {
            return Ok(false);
        }
        let turn = Transpose::to_last(axis, self.ty(value).rank());
        self.out_of_chain(vec![turn.clone().into(), Softmax.into(), turn.into()], &[value])
    }

    /// `X - max - ln Σ exp(X - max)` along an axis.
    pub(super) fn log_softmax(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let axis = self.axis(x, self.desc.attr_long("axis")?.unwrap_or(-1));
        let Some(axis) = axis else { return Ok(false) };
        let parts = self.at().log_softmax_parts(x, axis)?;
        self.out(Binary { kind: BinaryKind::Sub }, &parts)
    }

    pub(super) fn is_last_axis(&self, var: VarId) -> Result<bool, Fault> {
        let axis = self.desc.attr_int("axis")?.unwrap_or(-1);
        Ok(self.axis(var, i64::from(axis)).map(|axis| axis + 1) == Some(self.ty(var).rank()))
    }
}
