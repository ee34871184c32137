//! `matmul_v2`.

use paddle_core::ops::Matmul;

use super::call::Call;
use super::values::Values;

pub(super) fn matmul(op: Matmul, call: &Call<'_>) -> Values {
    let (x, y) = (call.read(0).floats(), call.read(1).floats());
    let (x_shape, y_shape, out) = (call.shape(0), call.shape(1), call.output_shape(0));
    let inner = x_shape[usize::from(!op.trans_x)];
    let x_at = |m: usize, k: usize| if op.trans_x { x[k * x_shape[1] + m] } else { x[m * x_shape[1] + k] };
    let y_at = |k: usize, n: usize| if op.trans_y { y[n * y_shape[1] + k] } else { y[k * y_shape[1] + n] };
    let mut product = Vec::with_capacity(out[0] * out[1]);
    for m in 0..out[0] {
        for n in 0..out[1] {
            product.push((0..inner).fold(0.0, |sum, k| sum + x_at(m, k) * y_at(k, n)));
        }
    }
    Values::round(call.output_dtype(0), product)
}
