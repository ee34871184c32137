//! `softmax`.

use paddle_core::ops::{Softmax, SoftmaxGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// Softmax of one row.
pub(super) fn normalise(row: &[f64]) -> Vec<f64> {
    let max = max(row);
    let exps: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.iter().map(|exp| exp / sum).collect()
}

/// `ln Σ exp x`.
pub(super) fn log_sum_exp(row: &[f64]) -> f64 {
    let max = max(row);
    max + row.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// The logarithms of the softmax of one row. The largest result is near 0, and keeps its digits: next to 1, which is the power of the
/// largest, those of others would be lost.
pub(super) fn log_normalise(row: &[f64]) -> Vec<f64> {
    let max = max(row);
    let largest = row.iter().position(|x| *x == max);
    let others = row.iter().enumerate().filter(|(at, _)| Some(*at) != largest);
    let rest = others.map(|(_, x)| (x - max).exp()).sum::<f64>().ln_1p();
    row.iter().map(|x| (x - max) - rest).collect()
}

fn max(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The size of the last axis.
pub(super) fn row_length(shape: &[usize]) -> usize {
    *shape.last().expect("the shape rule wants a dimension")
}

pub(super) fn normalised_rows(values: &[f64], shape: &[usize]) -> Vec<f64> {
    rows(values, row_length(shape)).flat_map(normalise).collect()
}

/// The rows of this length; none if there are no elements.
pub(super) fn rows(values: &[f64], length: usize) -> impl Iterator<Item = &[f64]> {
    values.chunks_exact(length.max(1))
}

impl Evaluate for Softmax {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![Values::round(call.output_dtype(0), normalised_rows(&call.read(0).floats(), &call.shape(0)))])
    }
}

impl Evaluate for SoftmaxGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (out, grad) = (call.read_broadcast(0).floats(), call.read_broadcast(1).floats());
        let length = row_length(&call.output_shape(0));
        let of_row = |(out, grad): (&[f64], &[f64])| -> Vec<f64> {
            let dot: f64 = out.iter().zip(grad).map(|(out, grad)| out * grad).sum();
            out.iter().zip(grad).map(|(out, grad)| out * (grad - dot)).collect()
        };
        let values = rows(&out, length).zip(rows(&grad, length)).flat_map(of_row).collect();
        Ok(vec![Values::round(call.output_dtype(0), values)])
    }
}
