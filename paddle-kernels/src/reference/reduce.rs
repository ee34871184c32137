//! `reduce_sum`, `reduce_mean`.

use paddle_core::ops::{Reduce, ReduceKind};

use super::call::Call;
use super::shape::{extent, reduction};
use super::values::Values;

pub(super) fn reduce(op: &Reduce, call: &Call<'_>) -> Values {
    let (x, shape) = (call.read(0).floats(), call.shape(0));
    let mut out = vec![0.0; call.output_shape(0).iter().product()];
    for (x, target) in x.into_iter().zip(reduction(&shape, &op.axes)) {
        out[target] += x;
    }
    // Over no elements the mean is 0, as the sum is.
    let divisor = match op.kind {
        ReduceKind::Sum => 1.0,
        ReduceKind::Mean => extent(&shape, &op.axes).max(1) as f64,
    };
    Values::round(call.output_dtype(0), out.into_iter().map(|sum| sum / divisor).collect())
}
