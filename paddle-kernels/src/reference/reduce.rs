//! `reduce_sum`, `reduce_mean`, `reduce_max`, `reduce_min`.

use paddle_core::ops::{Reduce, ReduceKind};

use super::call::Call;
use super::shape::{extent, reduction};
use super::values::Values;

pub(super) fn reduce(op: &Reduce, call: &Call<'_>) -> Values {
    let (x, shape) = (call.read(0).floats(), call.shape(0));
    // What is there without elements, and what becomes of it with one more.
    let (none, with): (f64, fn(f64, f64) -> f64) = match op.kind {
        ReduceKind::Sum | ReduceKind::Mean => (0.0, |sum, x| sum + x),
        ReduceKind::Max => (f64::NEG_INFINITY, f64::max),
        ReduceKind::Min => (f64::INFINITY, f64::min),
    };
    let mut out = vec![none; call.output_shape(0).iter().product()];
    for (x, target) in x.into_iter().zip(reduction(&shape, &op.axes)) {
        out[target] = with(out[target], x);
    }
    // Over no elements the mean is 0, as the sum is.
    let divisor = match op.kind {
        ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => 1.0,
        ReduceKind::Mean => extent(&shape, &op.axes).max(1) as f64,
    };
    Values::round(call.output_dtype(0), out.into_iter().map(|sum| sum / divisor).collect())
}
