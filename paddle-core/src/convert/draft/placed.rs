//! Values some of whose elements are replaced, or added to.

use super::{At, Tried, positions_of};
use crate::convert::error::Fault;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, Number, Reduce, ReduceKind, Reshape,
    Select, Slice, TakeAlongAxis, TakeAlongAxisGrad, Transpose,
};
use crate::program::{DType, Dim, Type, VarId};

/// The most elements along an axis for each pair of which a comparison is made.
const MOST_COMPARED: i64 = 1 << 11;

/// Elements along an axis, as a slice names them.
#[derive(Clone, Copy)]
pub(in crate::convert) struct Along {
    pub(in crate::convert) axis: usize,
    pub(in crate::convert) start: i64,
    pub(in crate::convert) end: i64,
    pub(in crate::convert) stride: i64,
}

impl At<'_> {
    /// `x` with other values in the part that slices along axes name. `fill` gives what is there, from the part as it is.
    pub(in crate::convert) fn replaced(
        &mut self,
        x: VarId,
        parts: &[Along],
        fill: &mut dyn FnMut(&mut Self, VarId) -> Tried,
    ) -> Tried {
        let Some((&Along { axis, start, end, stride }, inner)) = parts.split_first() else {
            return fill(self, x);
        };
        let ty = self.ty(x).clone();
        let at = axis.checked_sub(usize::from(ty.rows.is_some()));
        let Some(size) = at.and_then(|at| ty.dims.get(at)).cloned() else {
            return Ok(Err("it replaces rows"));
        };
        let strides = if stride == 1 { Vec::new() } else { vec![stride] };
        let part = Slice { axes: vec![axis as i64], starts: vec![start], ends: vec![end], strides };
        let bounds = part.bounds().next().map(|(_, bounds)| bounds);
        let taken = size.constant().and_then(|size| Some(bounds?.of(usize::try_from(size).ok()?)));
        if taken.is_some_and(|taken| taken.count == 0) {
            return Ok(Ok(x));
        }
        let part = self.emit(part, &[x])?;
        let part = match self.replaced(part, inner, fill)? {
            Ok(part) => part,
            lack => return Ok(lack),
        };
        let axis = axis as i64;
        // What is before and behind stays. Of an axis whose size is not known, bounds count from its start.
        let (first, behind) = match taken {
            Some(taken) if stride != 1 => {
                let Some(size) = size.constant().filter(|size| *size <= super::MOST_POSITIONS) else {
                    return Ok(Err("it replaces every few elements of a long axis"));
                };
                let mut positions: Vec<i64> = (0..size).collect();
                for k in 0..taken.count {
                    positions[taken.first.wrapping_add_signed(taken.stride * k as isize)] = size + k as i64;
                }
                let both = self.emit(Concat { axis }, &[x, part])?;
                let positions = self.emit(positions_of(positions), &[])?;
                return self.emit(Gather { axis }, &[both, positions]).map(Ok);
            }
            Some(taken) => (taken.first as i64, (taken.first + taken.count) as i64),
            None if stride == 1 && start >= 0 && end >= start => (start, end),
            None => {
                return Ok(Err("it replaces elements that are counted from an end whose place is not known"));
            }
        };
        let mut all = Vec::new();
        if first > 0 {
            all.push(self.emit(Slice::of(vec![axis], vec![0], vec![first]), &[x])?);
        }
        all.push(part);
        if size.constant().map_or(behind < i64::from(i32::MAX), |size| behind < size) {
            all.push(self.emit(Slice::of(vec![axis], vec![behind], vec![i64::MAX]), &[x])?);
        }
        if all.len() == 1 { Ok(Ok(part)) } else { self.emit(Concat { axis }, &all).map(Ok) }
    }

    /// A value in the shape of another one, to which it broadcasts.
    pub(in crate::convert) fn spread(&mut self, value: VarId, like: VarId) -> Result<VarId, Fault> {
        if self.ty(value) == self.ty(like) {
            return Ok(value);
        }
        let everywhere = self.ty(like).with_dtype(DType::Bool);
        let everywhere = self.emit(Fill { value: Number::Bool(true), ty: everywhere }, &[])?;
        self.emit(Select, &[everywhere, value, like])
    }

    /// Zeros of this type, to which values are added at indices along an axis: one for each element of `index`. Indices that
    /// occur several times get the sum.
    pub(in crate::convert) fn added_along(
        &mut self,
        of: &Type,
        axis: i64,
        index: VarId,
        values: VarId,
    ) -> Result<VarId, Fault> {
        // A gradient has the element types of numbers with derivatives.
        let float = match of.dtype {
            DType::F32 | DType::F64 => of.dtype,
            DType::Bool => DType::F32,
            DType::I32 | DType::I64 => DType::F64,
        };
        let mut values = values;
        if self.ty(values).dtype != float {
            values = self.emit(Cast { dtype: float }, &[values])?;
        }
        let zeros = self.emit(Fill::zeros(of.with_dtype(float)), &[])?;
        let sum = self.emit(TakeAlongAxisGrad(TakeAlongAxis { axis }), &[zeros, index, values])?;
        if float == of.dtype { Ok(sum) } else { self.emit(Cast { dtype: of.dtype }, &[sum]) }
    }

    /// `x` with other values at indices along an axis. Of an index that occurs several times, the last value stays.
    pub(in crate::convert) fn put_along(
        &mut self,
        x: VarId,
        axis: i64,
        index: VarId,
        values: VarId,
    ) -> Tried {
        let ty = self.ty(x).clone();
        let rows = i64::from(ty.rows.is_some());
        let Some(count) = self.ty(index).dims.get((axis - rows) as usize).cloned() else {
            return Ok(Err("it goes along rows"));
        };
        let mut stays = None;
        if count.constant() != Some(1) {
            if count.constant().is_none_or(|count| count > MOST_COMPARED) {
                return Ok(Err("it has too many indices, or a number that is not known"));
            }
            // An element stays if no later one has its index.
            let turn = Transpose::to_last(axis as usize, self.ty(index).rank());
            let last = self.emit(turn.clone(), &[index])?;
            let dims = self.ty(last).dims.clone();
            let (mut own, mut other) = (dims.clone(), dims);
            own.push(Dim::from(1));
            other.insert(other.len() - 1, Dim::from(1));
            let (own, other) = (self.shaped(last, own)?, self.shaped(last, other)?);
            let same = self.emit(Compare { kind: CompareKind::Equal }, &[own, other])?;
            let numbers = self.count_to(count.clone())?;
            let column = self.shaped(numbers, vec![count, Dim::from(1)])?;
            let is_later = self.emit(Compare { kind: CompareKind::LessThan }, &[column, numbers])?;
            let replaced =
                self.emit(crate::ops::Logical { kind: crate::ops::LogicalKind::And }, &[same, is_later])?;
            let axes = vec![self.ty(replaced).rank() as i64 - 1];
            let replaced = self.emit(Reduce { kind: ReduceKind::Any, axes, keep_dim: false }, &[replaced])?;
            let replaced = self.emit(turn, &[replaced])?;
            stays = Some(self.emit(crate::ops::Not, &[replaced])?);
        }
        let mut values = values;
        let counted = match stays {
            Some(stays) => {
                let zero = self.emit(Fill::zeros(Type::scalar(ty.dtype)), &[])?;
                values = self.emit(Select, &[stays, values, zero])?;
                self.emit(Cast { dtype: DType::F32 }, &[stays])?
            }
            None => {
                let ones = self.ty(index).with_dtype(DType::F32);
                self.emit(Fill { value: Number::Float(1.0), ty: ones }, &[])?
            }
        };
        let put = self.added_along(&ty, axis, index, values)?;
        let is_put = self.added_along(&ty.with_dtype(DType::F32), axis, index, counted)?;
        let is_put = self.emit(Cast { dtype: DType::Bool }, &[is_put])?;
        self.emit(Select, &[is_put, put, x]).map(Ok)
    }

    /// `x`, which has no rows, with other values at places of its first axes: `places` is i64 `[n, axes]`. `values` has the
    /// elements behind them for each of `n`. Of a place that occurs several times the last one stays, or all are added.
    pub(in crate::convert) fn put_at(
        &mut self,
        x: VarId,
        places: &[VarId],
        values: VarId,
        adds: bool,
    ) -> Tried {
        let ty = self.ty(x).clone();
        let Some((first, behind)) = ty.dims.split_at_checked(places.len()).filter(|_| ty.rows.is_none())
        else {
            return Ok(Err("it has more indices than axes"));
        };
        let mut flat: Option<VarId> = None;
        for (&place, size) in places.iter().zip(first) {
            // Indices below 0 count from the end.
            let size = self.size_as(size, DType::I64)?;
            let size = self.shaped(size, Vec::new())?;
            let place = self.binary(BinaryKind::Mod, place, size)?;
            flat = Some(match flat {
                None => place,
                Some(outer) => {
                    let outer = self.binary(BinaryKind::Mul, outer, size)?;
                    self.binary(BinaryKind::Add, outer, place)?
                }
            });
        }
        let Some(flat) = flat else { return Ok(Err("it has no indices")) };
        let count = crate::convert::types::product(&self.ty(flat).dims)?;
        let listed = self.shaped(flat, vec![count.clone()])?;
        let all = [&[crate::convert::types::product(first)?], behind].concat();
        let whole = self.shaped(x, all)?;
        let like = Type { dims: [&self.ty(flat).dims[..], behind].concat(), ..ty.clone() };
        let like = self.emit(Fill::zeros(like), &[])?;
        let values = self.spread(values, like)?;
        let values = self.shaped(values, [std::slice::from_ref(&count), behind].concat())?;
        let put = match adds {
            false => self.emit(crate::ops::Scatter, &[whole, listed, values])?,
            true => {
                let listed = self.shaped(listed, vec![count, Dim::from(1)])?;
                self.emit(crate::ops::ScatterNdAdd, &[whole, listed, values])?
            }
        };
        self.emit(Reshape { dims: ty.dims }, &[put]).map(Ok)
    }
}
