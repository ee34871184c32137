//! `sequence_concat` and its gradient.

use paddle_core::ops::{SequenceConcat, SequenceConcatGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use crate::messages::made_lengths;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, sequences};
use crate::reference::values::Values;

/// The tokens of the joined sequences. The tokens of `Y` are numbered behind those of `X`. Offsets are operands 3, 4
/// and 5.
fn joined(call: &Call<'_>) -> Result<Vec<usize>, KernelError> {
    let counts = [0, 1].map(|k| call.shape(k)[0]);
    let [x, y] = [0, 1].map(|k| sequences(call, 3 + k, counts[k]));
    let both = crate::reference::sequences::offsets(call, 5, call.shape(2)[0]);
    made_lengths(&both, |row| (x[row].len() + y[row].len()) as i64, "the tokens of")?;
    let behind = y.into_iter().map(|tokens| tokens.start + counts[0]..tokens.end + counts[0]);
    Ok(x.into_iter().zip(behind).flat_map(|(x, y)| x.chain(y)).collect())
}

impl Evaluate for SequenceConcat {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let width = call.shape(0)[1..].iter().product();
        let both = Values::join(&[call.read(0), call.read(1)]);
        Ok(vec![both.at(&elements(joined(call)?, width))])
    }
}

impl Evaluate for SequenceConcatGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let width: usize = call.shape(0)[1..].iter().product();
        let (joined, grad, of_x) = (joined(call)?, call.read(2), call.shape(0)[0]);
        let (mut of_both, tokens) = (vec![0; joined.len()], joined.len());
        joined.into_iter().zip(0..).for_each(|(token, at)| of_both[token] = at);
        let part = |range: std::ops::Range<usize>| grad.at(&elements(of_both[range].iter().copied(), width));
        Ok(vec![part(0..of_x), part(of_x..tokens)])
    }
}
