//! Arrays that a loop has written, and places that a run computes: all values of an array are one value along a first axis.

use super::arrays::{Array, ArrayName};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Cast, Concat, Gather, Reshape};
use crate::program::{DType, Dim, Type, VarId};

impl<'a> Reading<'_, 'a> {
    /// All values of an array along a first axis, and the type of one. `None` if they have several types, or if there are none.
    pub(super) fn stacked(&mut self, array: ArrayName<'a>) -> Result<Option<(VarId, Type)>, Fault> {
        let (places, rest) = match self.reader.arrays.get(&array) {
            Some(Array::Places(places)) => (places.iter().copied().collect::<Option<Vec<VarId>>>(), None),
            Some(Array::Collected { before, rest, ty }) => (Some(before.clone()), Some((*rest, ty.clone()))),
            Some(Array::Steps { .. } | Array::Growing) | None => (None, None),
        };
        let Some(places) = places else { return Ok(None) };
        let ty = rest.as_ref().map(|(_, ty)| ty.clone()).or_else(|| Some(self.ty(*places.first()?).clone()));
        let Some(ty) = ty.filter(|ty| places.iter().all(|&place| self.ty(place) == ty)) else {
            return Ok(None);
        };
        let mut at = self.at();
        let mut parts = Vec::with_capacity(places.len() + 1);
        for place in places {
            let place = if ty.rows.is_some() { at.rows_to_axis(place)? } else { place };
            let dims = [&[Dim::from(1)], &at.ty(place).dims[..]].concat();
            parts.push(at.shaped(place, dims)?);
        }
        parts.extend(rest.map(|(rest, _)| rest));
        let all = if let [all] = parts[..] { all } else { at.emit(Concat { axis: 0 }, &parts)? };
        Ok(Some((all, ty)))
    }

    /// The value in a place that a run computes.
    pub(super) fn read_at(&mut self, array: ArrayName<'a>, place: VarId) -> Result<bool, ConvertError> {
        let Some((all, ty)) = self.stacked(array)? else {
            return self.lacks(
                "the place that it reads is not known, and the values of its array have several types",
            );
        };
        let desc = self.desc;
        let place = self.emit(Cast { dtype: DType::I64 }, &[place])?;
        let place = self.emit(Reshape { dims: vec![Dim::from(1)] }, &[place])?;
        let one_of_all = self.emit(Gather { axis: 0 }, &[all, place])?;
        let dims = self.reader.draft.program.shape(&ty);
        let mut at = self.at();
        let mut value = at.shaped(one_of_all, dims)?;
        if ty.rows.is_some() {
            value = at.with_rows(value)?;
        }
        self.named_value(one(desc.output("Out"), "Out")?, value)
    }

    /// The value in a place that is known, from the end if it is below 0.
    pub(super) fn place_of_collected(
        &mut self,
        array: ArrayName<'a>,
        place: i64,
    ) -> Result<bool, ConvertError> {
        let Some((all, _)) = self.stacked(array)? else { return Ok(false) };
        let count = self.ty(all).dims.first().cloned().unwrap_or(Dim::from(0));
        let mut at = self.at();
        let from = if place < 0 { at.size_as(&count, DType::I64)? } else { at.number(0.0, DType::I64)? };
        let place = at.scaled(from, 1.0, place as f64)?;
        self.read_at(array, place)
    }

    /// All values of an array along an axis, or along a new one.
    pub(super) fn collected_to_tensor(
        &mut self,
        array: ArrayName<'a>,
        axis: i64,
        is_new: bool,
    ) -> Result<bool, ConvertError> {
        let Some((all, ty)) = self.stacked(array)? else {
            return self.lacks("the values of its array have several types");
        };
        let desc = self.desc;
        if desc.output("OutIndex").iter().any(|name| self.reader.readers(name) > 0) {
            return self
                .lacks("how much each value has of the axis is read, but not how many there are is known");
        }
        let rank = ty.rank() as i64 + i64::from(is_new);
        let axis = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&axis) {
            return self.lacks("its values have no such axis");
        }
        // The first axis moves to its place.
        let order: Vec<i64> = (1..=axis).chain([0]).chain(axis + 1..self.ty(all).rank() as i64).collect();
        let mut at = self.at();
        let mut value = at.permuted(all, &order)?;
        if !is_new {
            let mut dims = at.ty(value).dims.clone();
            let own = dims.remove(axis as usize + 1);
            dims[axis as usize] = crate::convert::types::product(&[dims[axis as usize].clone(), own])?;
            value = at.shaped(value, dims)?;
        }
        if axis > 0 {
            value = at.with_rows(value)?;
        }
        self.named_value(one(desc.output("Out"), "Out")?, value)
    }
}
