//! Interpolation of images, and its gradient.

use paddle_core::ops::{Interpolate, InterpolateGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// Calls `part` for each pair of an element of the result and an element of the images that contributes to it: with the
/// positions of both, and with the weight.
fn parts(op: &Interpolate, input: &[usize], output: &[usize], mut part: impl FnMut(usize, usize, f64)) {
    let [down, across] = op.along([input[2], input[3]], [output[2], output[3]]);
    let mut at = 0;
    for plane in 0..output[0] * output[1] {
        for y in 0..output[2] {
            let rows = down.between(y);
            for x in 0..output[3] {
                let columns = across.between(x);
                for (row, of_row) in sides(rows.first, rows.second, rows.weight) {
                    for (column, of_column) in sides(columns.first, columns.second, columns.weight) {
                        part(at, (plane * input[2] + row) * input[3] + column, of_row * of_column);
                    }
                }
                at += 1;
            }
        }
    }
}

fn sides(first: usize, second: usize, weight: f32) -> [(usize, f64); 2] {
    let weight = f64::from(weight);
    [(first, 1.0 - weight), (second, weight)]
}

impl Evaluate for Interpolate {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0).floats(), call.output_shape(0));
        let mut out = vec![0.0; shape.iter().product()];
        parts(self, &call.shape(0), &shape, |at, from, weight| {
            // An element of weight 0 may be infinite.
            if weight != 0.0 {
                out[at] += weight * x[from];
            }
        });
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

impl Evaluate for InterpolateGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let InterpolateGrad(op) = self;
        let (grad, shape) = (call.read(1).floats(), call.output_shape(0));
        let mut sums = vec![0.0; shape.iter().product()];
        parts(op, &shape, &call.shape(1), |at, to, weight| {
            if weight != 0.0 {
                sums[to] += weight * grad[at];
            }
        });
        Ok(vec![Values::round(call.output_dtype(0), sums)])
    }
}
