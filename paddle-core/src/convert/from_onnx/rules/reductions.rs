//! Reductions along axes, and what sorts or adds up along one.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::types::{is_small_product, product};
use crate::ops::compositions::log_sum_exp;
use crate::ops::{
    Binary, BinaryKind, Cast, CumSum, OneHot, Reduce, ReduceKind, Scale, Slice, Softmax, TopK, Transpose,
    Unary, UnaryKind,
};
use crate::program::{DType, Dim, VarId};

impl Node<'_, '_> {
    /// The axes from an attribute or an input; `None` if nothing is reduced. Without any, all are.
    fn reduced_axes(&self, x: VarId) -> Result<Option<Vec<i64>>, Fault> {
        let axes = self.axes(x, &self.listed(1, "axes")?.unwrap_or_default())?;
        let axes: Vec<i64> = axes.into_iter().map(|axis| axis as i64).collect();
        Ok((!axes.is_empty() || self.int("noop_with_empty_axes", 0) == 0).then_some(axes))
    }

    fn reduced(&mut self, x: VarId, kind: ReduceKind) -> Result<VarId, Fault> {
        let keep_dim = self.int("keepdims", 1) != 0;
        match self.reduced_axes(x)? {
            Some(axes) => self.emit(Reduce { kind, axes, keep_dim }, &[x]),
            None => Ok(x),
        }
    }

    /// Truth values are reduced as numbers.
    pub(super) fn reduce(&mut self, kind: ReduceKind) -> Given {
        let x = self.input(0)?;
        let dtype = self.ty(x).dtype;
        if dtype == DType::Bool {
            let number = self.cast(x, DType::I32)?;
            let reduced = self.reduced(number, kind)?;
            return self.give(Cast { dtype }, &[reduced]);
        }
        if kind == ReduceKind::Mean && !dtype.is_float() {
            return self.lacks("it computes a mean of integers");
        }
        Ok(vec![self.reduced(x, kind)?])
    }

    /// A sum of a function of the elements, and a function of that sum.
    pub(super) fn reduce_of(&mut self, first: Option<UnaryKind>, then: Option<UnaryKind>) -> Given {
        let mut x = self.input(0)?;
        if let Some(kind) = first {
            x = self.emit(Unary::of(kind), &[x])?;
        }
        let sum = self.reduced(x, ReduceKind::Sum)?;
        match then {
            Some(kind) => self.give(Unary::of(kind), &[sum]),
            None => Ok(vec![sum]),
        }
    }

    pub(super) fn reduce_log_sum_exp(&mut self) -> Given {
        let (x, keep_dim) = (self.input(0)?, self.int("keepdims", 1) != 0);
        let Some(axes) = self.reduced_axes(x)? else { return Ok(vec![x]) };
        Ok(vec![log_sum_exp(x, axes, keep_dim, |op, inputs| self.emit(op, inputs))?])
    }

    /// The place of the largest or smallest element is that of the first when they are sorted.
    pub(super) fn arg_extreme(&mut self, largest: bool) -> Given {
        let x = self.input(0)?;
        let axis = self.axis(x, "axis", self.int("axis", 0))?;
        let of_last = self.int("select_last_index", 0) != 0;
        let mut from = x;
        if of_last {
            let flip = Slice { axes: vec![axis as i64], starts: vec![-1], ends: vec![-1], strides: vec![-1] };
            from = self.emit(flip, &[x])?;
        }
        let mut places = self.at().emit_all(TopK { k: Some(1), axis: axis as i64, largest }, &[from], 2)?[1];
        if of_last {
            // They are counted from the end.
            let Some(size) = self.shape(x)[axis].constant() else {
                return self.lacks("it takes the last of equal elements of an axis whose size is not known");
            };
            places = self.emit(Scale { scale: -1.0, bias: (size - 1) as f64 }, &[places])?;
        }
        if self.int("keepdims", 1) != 0 {
            return Ok(vec![places]);
        }
        let mut dims = self.ty(places).dims.clone();
        dims.remove(axis - self.rows(x));
        Ok(vec![self.reshaped(places, dims)?])
    }

    pub(super) fn top_k(&mut self) -> Given {
        let x = self.input(0)?;
        let k = match self.listed(1, "k")?.as_deref() {
            Some(&[k]) => k,
            _ => self.int("k", 1),
        };
        let axis = self.axis(x, "axis", self.int("axis", -1))? as i64;
        let op = TopK { k: Some(k), axis, largest: self.int("largest", 1) != 0 };
        self.at().emit_all(op, &[x], 2)
    }

    pub(super) fn running_sum(&mut self) -> Given {
        let x = self.input(0)?;
        let Some(&[axis]) = self.listed(1, "axis")?.as_deref() else {
            return self.lacks("its axis is not one number");
        };
        let axis = self.axis(x, "axis", axis)? as i64;
        let (exclusive, reverse) = (self.int("exclusive", 0) != 0, self.int("reverse", 0) != 0);
        self.give(CumSum { axis, exclusive, reverse }, &[x])
    }

    /// A value, and how it is moved so that what is normalised together is the last axis. Before version 13 that is all from
    /// `axis` on.
    fn softmax_axis(&mut self) -> Result<(VarId, usize, Option<Vec<Dim>>), Fault> {
        let x = self.input(0)?;
        let is_old = self.reader.version < 13;
        let axis = self.axis(x, "axis", self.int("axis", if is_old { 1 } else { -1 }))?;
        let rows = self.rows(x);
        if !is_old || axis + 1 == self.ty(x).rank() {
            return Ok((x, axis, None));
        }
        let dims = self.ty(x).dims.clone();
        let Some(at) = axis.checked_sub(rows).filter(|&at| is_small_product(&dims[at..])) else {
            return self.lacks("it normalises over rows");
        };
        let flat = [&dims[..at], &[product(&dims[at..])?]].concat();
        Ok((self.reshaped(x, flat)?, axis, Some(dims)))
    }

    pub(super) fn softmax(&mut self) -> Given {
        let (x, axis, dims) = self.softmax_axis()?;
        let rank = self.ty(x).rank();
        if axis < self.rows(x) {
            return self.lacks("it normalises over rows");
        }
        let out = match axis + 1 == rank {
            true => self.emit(Softmax, &[x])?,
            false => {
                let turn = Transpose::to_last(axis, rank);
                let last = self.emit(turn.clone(), &[x])?;
                let out = self.emit(Softmax, &[last])?;
                self.emit(turn, &[out])?
            }
        };
        Ok(vec![match dims {
            Some(dims) => self.reshaped(out, dims)?,
            None => out,
        }])
    }

    pub(super) fn log_softmax(&mut self) -> Given {
        let (x, axis, dims) = self.softmax_axis()?;
        let out = self.log_softmax_along(x, axis)?;
        Ok(vec![match dims {
            Some(dims) => self.reshaped(out, dims)?,
            None => out,
        }])
    }

    /// `x - max - ln Σ exp(x - max)` along an axis.
    pub(super) fn log_softmax_along(&mut self, x: VarId, axis: usize) -> Result<VarId, Fault> {
        let parts = self.at().log_softmax_parts(x, axis)?;
        self.emit(Binary { kind: BinaryKind::Sub }, &parts)
    }

    /// 1 in the place of the largest element, the first of several, and 0 elsewhere.
    pub(super) fn hardmax(&mut self) -> Given {
        let (x, axis, dims) = self.softmax_axis()?;
        let (rank, dtype) = (self.ty(x).rank(), self.ty(x).dtype);
        if axis < self.rows(x) {
            return self.lacks("it compares rows");
        }
        let turn = Transpose::to_last(axis, rank);
        let last = if axis + 1 == rank { x } else { self.emit(turn.clone(), &[x])? };
        let axis_of_last = rank as i64 - 1;
        let place =
            self.at().emit_all(TopK { k: Some(1), axis: axis_of_last, largest: true }, &[last], 2)?[1];
        let mut of_place = self.ty(place).dims.clone();
        of_place.pop();
        let place = self.reshaped(place, of_place)?;
        let depth = self.ty(last).dims.last().cloned().unwrap_or(Dim::from(1));
        let mut out = self.emit(OneHot { depth, dtype, allow_out_of_range: false }, &[place])?;
        if axis + 1 != rank {
            out = self.emit(turn, &[out])?;
        }
        Ok(vec![match dims {
            Some(dims) => self.reshaped(out, dims)?,
            None => out,
        }])
    }
}
