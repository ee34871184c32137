//! `assign_value`, `range`.

use paddle_core::ops::{AssignValue, Number, Range};

use crate::reference::call::Call;
use crate::reference::values::Values;

pub(super) fn assign_value(op: &AssignValue, call: &Call<'_>) -> Values {
    Values::of_numbers(call.output_dtype(0), op.values.iter().copied())
}

pub(super) fn range(op: &Range, call: &Call<'_>) -> Values {
    let number = |i: i64| match (op.start, op.step) {
        (Number::Int(start), Number::Int(step)) => Number::Int(start.wrapping_add(i.wrapping_mul(step))),
        (start, step) => Number::Float(start.as_f64() + i as f64 * step.as_f64()),
    };
    let count = call.output_shape(0).iter().product::<usize>() as i64;
    Values::of_numbers(call.output_dtype(0), (0..count).map(number))
}
