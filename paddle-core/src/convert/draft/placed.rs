//! Values some of whose elements are replaced, or added to.

use super::{At, Tried, positions_of};
use crate::convert::error::Fault;
use crate::ops::{BinaryKind, Concat, Fill, Gather, Number, Reshape, Select, Slice};
use crate::program::{DType, Dim, Type, VarId};

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
