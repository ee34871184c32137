//! `lrn` and its gradient.

use paddle_core::ops::{Lrn, LrnGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{index, positions};
use crate::reference::values::Values;

/// Sums, for each element, of a number of each element at its place in the channels around its own.
fn around(op: &Lrn, shape: &[usize], term: impl Fn(usize) -> f64) -> Vec<f64> {
    let (axis, half) = (op.data_format.channels(), (op.n / 2) as usize);
    let sum = |at: Vec<usize>| {
        let channels = at[axis].saturating_sub(half)..(at[axis] + half + 1).min(shape[axis]);
        let other = |channel| {
            let mut at = at.clone();
            at[axis] = channel;
            term(index(&at, shape))
        };
        channels.map(other).sum()
    };
    positions(shape).map(sum).collect()
}

impl Evaluate for Lrn {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let x = call.read(0).floats();
        let squares = around(self, &call.shape(0), |at| x[at] * x[at]);
        let mid: Vec<f64> = squares.iter().map(|sum| self.k + self.alpha * sum).collect();
        let out = x.iter().zip(&mid).map(|(x, mid)| x * mid.powf(-self.beta)).collect();
        Ok([out, mid].map(|values| Values::round(call.output_dtype(0), values)).into())
    }
}

impl Evaluate for LrnGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let LrnGrad(op) = self;
        let [x, out, mid, grad] = [0, 1, 2, 3].map(|k| call.read(k).floats());
        let sums = around(op, &call.shape(0), |at| grad[at] * out[at] / mid[at]);
        let of_x =
            |at: usize| grad[at] * mid[at].powf(-op.beta) - 2.0 * op.alpha * op.beta * x[at] * sums[at];
        let of_x = (0..x.len()).map(of_x).collect();
        Ok(vec![Values::round(call.output_dtype(0), of_x)])
    }
}
