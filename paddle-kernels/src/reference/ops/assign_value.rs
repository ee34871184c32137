//! `assign_value`, `range`.

use paddle_core::ops::{AssignValue, Number, Range};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for AssignValue {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![Values::of_numbers(call.output_dtype(0), self.values.iter().copied())])
    }
}

impl Evaluate for Range {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let number = |i: i64| match (self.start, self.step) {
            (Number::Int(start), Number::Int(step)) => Number::Int(start.wrapping_add(i.wrapping_mul(step))),
            (start, step) => Number::Float(start.as_f64() + i as f64 * step.as_f64()),
        };
        let count = call.output_shape(0).iter().product::<usize>() as i64;
        Ok(vec![Values::of_numbers(call.output_dtype(0), (0..count).map(number))])
    }
}
