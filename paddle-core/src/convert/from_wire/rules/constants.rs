//! Rules for constants and ranges.

use crate::convert::blocks::one;
use crate::convert::error::{ConvertError, Fault};
use crate::convert::from_wire::Reading;
use crate::convert::ours::constants::{constant_type, values};
use crate::convert::types::dtype;
use crate::ops::{AssignValue, Number, OneHot, Range};
use crate::program::{DType, Dim, Type};
use crate::wire::VarKind;

/// The most numbers that are listed: a few bytes could ask for many.
const MOST_NUMBERS: f64 = (1 << 20) as f64;

/// Evenly spaced numbers, rounded as in PaddlePaddle: the second half is counted from the end.
fn evenly(start: f64, stop: f64, count: i64) -> impl Iterator<Item = f64> {
    let step = (stop - start) / (count - 1).max(1) as f64;
    (0..count).map(move |i| match i < count / 2 || count == 1 {
        true => start + step * i as f64,
        false => stop - step * (count - 1 - i) as f64,
    })
}

impl Reading<'_, '_> {
    pub(super) fn assign_value(&mut self) -> Result<bool, ConvertError> {
        let Some(ty) = constant_type(&self.reader.draft.program, self.desc)? else { return Ok(false) };
        let values = values(self.desc, ty.dtype)?;
        self.out(AssignValue { values, ty }.rounded(), &[])
    }

    /// The only number of a constant in a slot.
    fn only(&self, slot: &'static str) -> Result<Option<Number>, Fault> {
        let numbers = self.constant_of(self.input(slot)?);
        Ok(numbers.and_then(|numbers| if let [one] = numbers[..] { Some(one) } else { None }))
    }

    /// The numbers from `Start` to before `End`: constants, a size that a batch has, or what a run computes.
    pub(super) fn range(&mut self) -> Result<bool, ConvertError> {
        if let Some(range) = self.range_of_size()? {
            return self.out(range, &[]);
        }
        let (Some(start), Some(end), Some(step)) =
            (self.only("Start")?, self.only("End")?, self.only("Step")?)
        else {
            return self.computed_range();
        };
        let dtype = self.ty(self.input("Start")?).dtype;
        let count = ((end.as_f64() - start.as_f64()) / step.as_f64()).ceil();
        // The number of elements is NaN or negative, or more than fit into any memory.
        if !(0.0..1e15).contains(&count) {
            return Ok(false);
        }
        self.out(Range { start, step, ty: Type::new(dtype, [count as i64]) }, &[])
    }

    fn computed_range(&mut self) -> Result<bool, ConvertError> {
        // Beside operators that stay foreign, and give what is declared, the size of a run's own would not fit.
        if self.reader.found.is_none() && self.reader.has_unknown() {
            return Ok(false);
        }
        let (limits, desc) = ([self.input("Start")?, self.input("End")?, self.input("Step")?], self.desc);
        match self.at().range_between(limits)? {
            Some(numbers) => self.named_value(one(desc.output("Out"), "Out")?, numbers),
            None => self.lacks("its start, end or step is not one number, or has rows"),
        }
    }

    /// The whole numbers from a known one to before a size that a batch has.
    fn range_of_size(&mut self) -> Result<Option<Range>, Fault> {
        let [end, start, step] =
            [self.dims("", "End", "")?, self.dims("", "Start", "")?, self.dims("", "Step", "")?];
        let (Some([end]), Some([start]), Some([step])) = (end.as_deref(), start.as_deref(), step.as_deref())
        else {
            return Ok(None);
        };
        let ty = self.ty(self.input("End")?);
        let Some(first) = start.constant().filter(|_| step.constant() == Some(1)) else { return Ok(None) };
        if end.constant().is_some() {
            return Ok(None);
        }
        let Ok(size) = end - start else { return Ok(None) };
        let ty = Type { dtype: ty.dtype, rows: None, dims: vec![size] };
        let number =
            |whole: i64| if ty.dtype.is_float() { Number::Float(whole as f64) } else { Number::Int(whole) };
        Ok(Some(Range { start: number(first), step: number(1), ty }))
    }

    /// `Num` numbers from `Start` to `Stop`, which have to be constants.
    pub(super) fn linspace(&mut self) -> Result<bool, ConvertError> {
        let (Some(start), Some(stop), Some(count)) =
            (self.only("Start")?, self.only("Stop")?, self.only("Num")?)
        else {
            return Ok(false);
        };
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
        let Some(dtype) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        let count = count.as_i64().filter(|&count| count > 0 && count as f64 <= MOST_NUMBERS);
        let (Some(count), true) = (count, dtype != DType::Bool) else { return Ok(false) };
        let number =
            |value: f64| if dtype.is_float() { Number::Float(value) } else { Number::Int(value as i64) };
        // `logspace` has powers of a base.
        let base = if self.has(&["Base"]) { self.only("Base")?.map(|base| base.as_f64()) } else { None };
        if base.is_none() && self.desc.r#type == "logspace" {
            return Ok(false);
        }
        let power = |place: f64| base.map_or(place, |base| base.powf(place));
        let values = evenly(start.as_f64(), stop.as_f64(), count).map(power).map(number).collect();
        self.out(AssignValue { values, ty: Type::new(dtype, [count]) }.rounded(), &[])
    }

    /// The identity matrix is the one-hot rows of 0, 1, 2, ….
    pub(super) fn eye(&mut self) -> Result<bool, ConvertError> {
        let rows = self.desc.attr_long("num_rows")?.unwrap_or(0);
        let columns = self.desc.attr_long("num_columns")?.filter(|&columns| columns >= 0).unwrap_or(rows);
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
        let Some(dtype) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        if rows < 1 || columns < 1 {
            return Ok(false);
        }
        let numbers =
            Range { start: Number::Int(0), step: Number::Int(1), ty: Type::new(DType::I64, [rows]) };
        let numbers = self.emit(numbers, &[])?;
        self.out(OneHot { depth: Dim::from(columns), dtype, allow_out_of_range: true }, &[numbers])
    }
}
