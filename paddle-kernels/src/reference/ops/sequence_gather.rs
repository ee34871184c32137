//! `sequence_gather` and its gradient.

use paddle_core::ops::{SequenceGather, SequenceGatherGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use crate::messages::no_such_token;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, sequences};
use crate::reference::values::Values;

/// The token of `X` for each token of `Index`. The offsets of both are operands from `offsets` on.
fn taken(call: &Call<'_>, offsets: usize) -> Result<Vec<usize>, KernelError> {
    let [own, others] = [0, 1].map(|k| sequences(call, offsets + k, call.shape(k)[0]));
    let index = call.numbers(1);
    let mut taken = Vec::with_capacity(index.len());
    for (row, (own, others)) in own.into_iter().zip(others).enumerate() {
        for token in others {
            let position = usize::try_from(index[token]).ok().filter(|&position| position < own.len());
            let position = position.ok_or_else(|| no_such_token(index[token], row, own.len() as i64))?;
            taken.push(own.start + position);
        }
    }
    Ok(taken)
}

impl Evaluate for SequenceGather {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let width = call.shape(0)[1..].iter().product();
        Ok(vec![call.read(0).at(&elements(taken(call, 2)?, width))])
    }
}

impl Evaluate for SequenceGatherGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (shape, grad) = (call.shape(0), call.read(2));
        let zeros = Values::zeros(call.output_dtype(0), shape.iter().product());
        Ok(vec![zeros.with_added(&elements(taken(call, 3)?, shape[1..].iter().product()), &grad)])
    }
}
