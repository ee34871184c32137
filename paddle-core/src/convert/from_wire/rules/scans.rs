//! Rules for running products, maxima and sums of exponentials.

use crate::convert::draft::Tried;
use crate::convert::from_wire::{ConvertError, Reading, one};
use crate::convert::types::{dtype, product};
use crate::ops::{BinaryKind, Cast, Compare, CompareKind, Fill, Select, Slice, Unary, UnaryKind};
use crate::program::{DType, Dim, VarId};
use crate::wire::VarKind;

/// What is smaller than any sum of exponentials, but not infinite.
const NOTHING: f64 = -1e30;

impl Reading<'_, '_> {
    pub(super) fn cumprod(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(axis) = self.axis_of(x, "dim", "")? else { return Ok(false) };
        if self.bool("exclusive", false)? || self.bool("reverse", false)? {
            return self.lacks("its products are exclusive or reversed");
        }
        let tried = self
            .at()
            .scanned(x, axis as usize, 1.0, |at, before, own| at.binary(BinaryKind::Mul, before, own));
        self.tried(tried, "Out")
    }

    /// `ln Σ exp` of the elements up to each.
    pub(super) fn logcumsumexp(&mut self) -> Result<bool, ConvertError> {
        let mut x = self.input("X")?;
        if self.bool("exclusive", false)? {
            return self.lacks("its sums are exclusive");
        }
        let axis = match self.bool("flatten", false)? {
            true if self.ty(x).rows.is_some() => return Ok(false),
            true => {
                let dims = vec![product(&self.ty(x).dims)?];
                x = self.at().shaped(x, dims)?;
                0
            }
            false => match self.axis_of(x, "axis", "")? {
                Some(axis) => axis,
                None => return Ok(false),
            },
        };
        let reverse = self.bool("reverse", false)?;
        let back = || Slice { axes: vec![axis], starts: vec![-1], ends: vec![-1], strides: vec![-1] };
        if reverse {
            x = self.emit(back(), &[x])?;
        }
        let tried = self.at().scanned(x, axis as usize, NOTHING, |at, a, b| {
            let (top, apart) = (at.binary(BinaryKind::Max, a, b)?, at.binary(BinaryKind::Sub, a, b)?);
            let apart = at.emit(Unary::of(UnaryKind::Abs), &[apart])?;
            let apart = at.scaled(apart, -1.0, 0.0)?;
            let less = at.emit(Unary::of(UnaryKind::Exp), &[apart])?;
            let more = at.emit(Unary::of(UnaryKind::Log1p), &[less])?;
            at.binary(BinaryKind::Add, top, more)
        });
        let tried: Tried = match tried {
            Ok(Ok(value)) if reverse => self.emit(back(), &[value]).map(Ok),
            other => other,
        };
        self.tried(tried, "Out")
    }

    /// The largest element so far, or the smallest, and its place: the last one of equal elements.
    pub(super) fn running_extreme(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("x")?, self.desc);
        let largest = desc.r#type == "cummax";
        let Some(axis) = self.axis_of(x, "axis", "")? else { return Ok(false) };
        let kind = desc.attr_int("dtype")?.unwrap_or(VarKind::Int64.into());
        let Some(index) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        let ty = self.ty(x).clone();
        if !ty.dtype.is_float() {
            return self.lacks("it is of integers");
        }
        let (neutral, extreme, reaches) = match largest {
            true => (f64::NEG_INFINITY, BinaryKind::Max, CompareKind::GreaterEqual),
            false => (f64::INFINITY, BinaryKind::Min, CompareKind::LessEqual),
        };
        let axis = axis as usize;
        let mut at = self.at();
        let Some(size) = at.constant_size(x, axis) else {
            return self.lacks("the size of its axis is not known");
        };
        let value = match at.scanned(x, axis, neutral, |at, a, b| at.binary(extreme, a, b))? {
            Ok(value) => value,
            Err(lack) => return self.lacks(lack),
        };
        // The places at which an element reaches the extreme, of which the last one so far counts.
        let numbers = at.count_to(Dim::from(size))?;
        let numbers = at.emit(Cast { dtype: DType::F64 }, &[numbers])?;
        let behind = std::iter::repeat_n(Dim::from(1), ty.rank() - axis - 1);
        let numbers = at.shaped(numbers, std::iter::once(Dim::from(size)).chain(behind).collect())?;
        let reached = at.emit(Compare { kind: reaches }, &[x, value])?;
        let none = at.emit(Fill::zeros(ty.with_dtype(DType::F64)), &[])?;
        let places = at.emit(Select, &[reached, numbers, none])?;
        let places = match at.scanned(places, axis, 0.0, |at, a, b| at.binary(BinaryKind::Max, a, b))? {
            Ok(places) => places,
            Err(lack) => return self.lacks(lack),
        };
        let places = at.emit(Cast { dtype: index }, &[places])?;
        let places_name: VarId = places;
        self.named_value(one(desc.output("out"), "out")?, value)?;
        self.named_value(one(desc.output("indices"), "indices")?, places_name)
    }
}
