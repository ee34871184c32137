//! Rules for operators that find out which values there are, so how many results they have is known when they run.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::{dtype, product};
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, CumSum, Fill, Gather, Logical, LogicalKind, Number, Reduce,
    ReduceKind, Scatter, ScatterNdAdd, TopK,
};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::VarKind;

impl Reading<'_, '_> {
    /// The values of a list, each once: in order, or for `unique_consecutive` where they begin. Beside them where each is first,
    /// the number of the value of each element, and how often each is there.
    pub(super) fn unique(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        if !desc.attr_longs("axis")?.unwrap_or_default().is_empty() {
            return self.lacks("it is of slices along an axis");
        }
        if self.ty(x).rows.is_some() {
            return Ok(false);
        }
        let kind = desc.attr_int("dtype")?.unwrap_or(VarKind::Int64.into());
        let Some(index) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        let sorts = desc.r#type == "unique";
        let shape = vec![product(&self.ty(x).dims)?];
        let mut at = self.at();
        let flat = at.shaped(x, shape.clone())?;
        let list = Type { dtype: DType::I64, rows: None, dims: shape.clone() };
        let number = at.count_to(shape[0].clone())?;
        let (values, order) = match sorts {
            true => {
                let parts = at.emit_all(TopK { k: None, axis: 0, largest: false }, &[flat], 2)?;
                (parts[0], parts[1])
            }
            false => (flat, number),
        };
        let zero = at.number(0.0, DType::I64)?;
        let before = at.scaled(number, 1.0, -1.0)?;
        let before = at.binary(BinaryKind::Max, before, zero)?;
        let before = at.emit(Gather { axis: 0 }, &[values, before])?;
        let differs = at.emit(Compare { kind: CompareKind::NotEqual }, &[values, before])?;
        let is_first = at.emit(Compare { kind: CompareKind::Equal }, &[number, zero])?;
        let begins = at.emit(Logical { kind: LogicalKind::Or }, &[differs, is_first])?;
        let Some(places) = at.flat_places_where(begins)? else { return Ok(false) };
        let ones = at.emit(Cast { dtype: DType::I64 }, &[begins])?;
        let own = at.emit(CumSum { axis: 0, exclusive: false, reverse: false }, &[ones])?;
        let own = at.scaled(own, 1.0, -1.0)?;
        let found = at.emit(Gather { axis: 0 }, &[values, places])?;
        let first = at.emit(Gather { axis: 0 }, &[order, places])?;
        let zeros = at.emit(Fill::zeros(list.clone()), &[])?;
        let inverse = if sorts { at.emit(Scatter, &[zeros, order, own])? } else { own };
        let column = at.shaped(own, vec![shape[0].clone(), Dim::from(1)])?;
        let each = at.emit(Fill { value: Number::Int(1), ty: list }, &[])?;
        let counts = at.emit(ScatterNdAdd, &[zeros, column, each])?;
        let number_of = at.emit(Gather { axis: 0 }, &[own, places])?;
        let counts = at.emit(Gather { axis: 0 }, &[counts, number_of])?;
        self.named_value(one(desc.output("Out"), "Out")?, found)?;
        for (slot, value) in [("Indices", first), ("Index", inverse), ("Counts", counts)] {
            let [name] = desc.output(slot) else { continue };
            let value = self.at().as_kind(value, index)?;
            self.named_value(name, value)?;
        }
        Ok(true)
    }

    /// How often each whole number from 0 to the largest one is there.
    pub(super) fn bincount(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        if self.has(&["Weights"]) {
            return self.lacks("its elements have weights");
        }
        if self.ty(x).rows.is_some() {
            return Ok(false);
        }
        let least = desc.attr_long("minlength")?.unwrap_or(0);
        let mut at = self.at();
        let flat = product(&at.ty(x).dims)?;
        let flat = at.shaped(x, vec![flat])?;
        let flat = at.as_kind(flat, DType::I64)?;
        let largest = at.emit(Reduce { kind: ReduceKind::Max, axes: vec![0], keep_dim: true }, &[flat])?;
        let count = at.scaled(largest, 1.0, 1.0)?;
        let least = at.number(least as f64, DType::I64)?;
        let count = at.binary(BinaryKind::Max, count, least)?;
        let Some(number) = at.tokens_of_number(count, "counted")? else { return Ok(false) };
        let number = at.shaped(number, vec![Dim::from(1)])?;
        let same = at.emit(Compare { kind: CompareKind::Equal }, &[flat, number])?;
        let counts = at.count_of(same)?;
        self.named_value(one(desc.output("Out"), "Out")?, counts)
    }
}

impl At<'_> {
    /// A value of this element type.
    pub(super) fn as_kind(&mut self, value: VarId, dtype: DType) -> Result<VarId, Fault> {
        if self.ty(value).dtype == dtype { Ok(value) } else { self.emit(Cast { dtype }, &[value]) }
    }
}
