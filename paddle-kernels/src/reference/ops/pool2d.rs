//! `pool2d`, its gradient, and maxima with their positions.

use paddle_core::ops::{MaxPool2dWithIndex, Pool2d, Pool2dGrad, PoolKind};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// Calls `window` for each element of the result: with its position, those of the elements of the images in its window,
/// and the divisor of an average.
fn windows(
    pool: &Pool2d,
    input: &[usize],
    output: &[usize],
    mut window: impl FnMut(usize, Vec<usize>, usize),
) {
    let mut at = 0;
    for plane in 0..output[0] * output[1] {
        for y in 0..output[2] {
            let rows = pool.covered(0, input[2], output[2], y);
            for x in 0..output[3] {
                let columns = pool.covered(1, input[3], output[3], x);
                let line = |row: usize| {
                    let start = (plane * input[2] + row) * input[3];
                    columns.elements.clone().map(move |column| start + column)
                };
                window(at, rows.elements.clone().flat_map(line).collect(), rows.count * columns.count);
                at += 1;
            }
        }
    }
}

/// The first of the largest elements.
fn largest(x: &[f64], covered: &[usize]) -> Option<usize> {
    covered.iter().copied().reduce(|best, at| if x[at] > x[best] { at } else { best })
}

impl Evaluate for Pool2d {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0).floats(), call.output_shape(0));
        let mut out = vec![0.0; shape.iter().product()];
        windows(self, &call.shape(0), &shape, |at, covered, count| {
            out[at] = match self.pooling_type {
                PoolKind::Max => largest(&x, &covered).map_or(0.0, |at| x[at]),
                PoolKind::Avg => covered.iter().map(|&at| x[at]).sum::<f64>() / count.max(1) as f64,
            };
        });
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

impl Evaluate for MaxPool2dWithIndex {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, input, shape) = (call.read(0).floats(), call.shape(0), call.output_shape(0));
        let count = shape.iter().product();
        let (mut out, mut mask) = (vec![0.0; count], vec![-1; count]);
        windows(&self.pool(), &input, &shape, |at, covered, _| {
            if let Some(first) = largest(&x, &covered) {
                out[at] = x[first];
                mask[at] = (first % (input[2] * input[3])) as i32;
            }
        });
        Ok(vec![Values::round(call.output_dtype(0), out), Values::I32(mask)])
    }
}

impl Evaluate for Pool2dGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Pool2dGrad(op) = self;
        let (grad, shape) = (call.read(2).floats(), call.output_shape(0));
        let x = if op.pooling_type == PoolKind::Max { call.read(0).floats() } else { Vec::new() };
        let mut sums = vec![0.0; shape.iter().product()];
        windows(op, &shape, &call.shape(2), |at, covered, count| match op.pooling_type {
            PoolKind::Max => {
                if let Some(first) = largest(&x, &covered) {
                    sums[first] += grad[at];
                }
            }
            PoolKind::Avg => covered.iter().for_each(|&to| sums[to] += grad[at] / count.max(1) as f64),
        });
        Ok(vec![Values::round(call.output_dtype(0), sums)])
    }
}
