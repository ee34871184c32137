//! `top_k_v2`.

use std::cmp::Ordering;

use paddle_core::ops::TopK;
use paddle_core::plan::KernelError;

use super::call::Call;
use super::softmax::{row_length, rows};
use super::values::Values;

/// The larger first, NaN before all.
fn descending(x: f64, y: f64) -> Ordering {
    y.is_nan().cmp(&x.is_nan()).then(y.partial_cmp(&x).unwrap_or(Ordering::Equal))
}

pub(super) fn top_k(op: TopK, call: &Call<'_>) -> Result<Vec<Values>, KernelError> {
    let (x, size, k) = (call.read(0), row_length(&call.shape(0)), op.k as usize);
    let (mut taken, mut indices) = (Vec::new(), Vec::new());
    for (row, elements) in rows(&x.floats(), size).enumerate() {
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&i, &j| descending(elements[i], elements[j]));
        taken.extend(order[..k].iter().map(|i| row * size + i));
        indices.extend(order[..k].iter().map(|&i| i as i64));
    }
    Ok(vec![x.at(&taken), Values::I64(indices)])
}

pub(super) fn grad(call: &Call<'_>) -> Values {
    let (size, k) = (row_length(&call.shape(0)), row_length(&call.shape(1)));
    let Values::I64(indices) = call.read(1) else { panic!("the shape rule wants indices of type i64") };
    let grad = call.read(2).floats();
    let mut out = vec![0.0; call.output_shape(0).iter().product()];
    for (i, (index, grad)) in indices.into_iter().zip(grad).enumerate() {
        out[i / k * size + index as usize] += grad;
    }
    Values::round(call.output_dtype(0), out)
}
