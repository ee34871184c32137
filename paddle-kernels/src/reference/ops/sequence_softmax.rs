//! `sequence_softmax`.

use paddle_core::ops::SequenceSoftmax;

use super::Evaluate;
use super::softmax::normalise;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

impl Evaluate for SequenceSoftmax {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0).floats(), call.shape(0));
        let width: usize = shape[1..].iter().product();
        let mut out = x.clone();
        for tokens in sequences(call, 1, shape[0]) {
            for column in 0..width {
                let elements: Vec<usize> = tokens.clone().map(|token| token * width + column).collect();
                let normalised = normalise(&elements.iter().map(|&i| x[i]).collect::<Vec<_>>());
                elements.iter().zip(normalised).for_each(|(&i, y)| out[i] = y);
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
