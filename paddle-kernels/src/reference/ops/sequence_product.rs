//! `sequence_product`, `sequence_weigh` and `sequence_spread`.

use paddle_core::ops::{SequenceProduct, SequenceSpread, SequenceWeigh};
use paddle_core::plan::KernelError;

use super::Evaluate;
use crate::messages::no_such_token;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

/// A token of `X`, a token of `Y`, and the index of their pair.
pub(super) struct Pair {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) number: usize,
}

/// All pairs. Inputs `x` and `y` have the tokens of `X` and of `Y`, and input 2 those of the pairs. The offsets of each
/// are the third operand behind it.
fn pairs(call: &Call<'_>, [x, y]: [usize; 2]) -> Result<Vec<Pair>, KernelError> {
    pairs_by(call, [x, y, 2], [x, y, 2].map(|of| of + 3))
}

/// All pairs. `operands` have the tokens of `X`, of `Y` and of the pairs, and `offsets` their offsets.
pub(super) fn pairs_by(
    call: &Call<'_>,
    operands: [usize; 3],
    offsets: [usize; 3],
) -> Result<Vec<Pair>, KernelError> {
    let tokens = |of: usize| sequences(call, offsets[of], call.shape(operands[of])[0]);
    let (of_rows, others, of_tokens) = (tokens(0), tokens(1), tokens(2));
    let index = call.numbers(operands[2]);
    let mut pairs = Vec::with_capacity(index.len());
    for (row, (tokens, others)) in of_rows.into_iter().zip(others).enumerate() {
        for token in tokens {
            for number in of_tokens[token].clone() {
                let position = usize::try_from(index[number]).ok().filter(|&at| at < others.len());
                let position =
                    position.ok_or_else(|| no_such_token(index[number], row, others.len() as i64))?;
                pairs.push(Pair { x: token, y: others.start + position, number });
            }
        }
    }
    Ok(pairs)
}

/// The number of products of a token, and the number of elements in each.
pub(super) fn widths(shape: &[usize]) -> (usize, usize) {
    let (last, lead) = shape[1..].split_last().expect("the shape rule wants a dimension");
    (lead.iter().product(), *last)
}

impl Evaluate for SequenceProduct {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (lead, width) = widths(&call.shape(0));
        let (x, y) = (call.read(0).floats(), call.read(1).floats());
        let mut out = vec![0.0; call.output_shape(0).iter().product()];
        for Pair { x: token, y: other, number } in pairs(call, [0, 1])? {
            for at in 0..lead {
                let terms = (0..width)
                    .map(|k| x[(token * lead + at) * width + k] * y[(other * lead + at) * width + k]);
                out[number * lead + at] = terms.sum();
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

impl Evaluate for SequenceWeigh {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let pairs = pairs(call, [3, 1])?;
        weighted(call, pairs.into_iter().map(|pair| (pair.number, pair.y, pair.x)))
    }
}

impl Evaluate for SequenceSpread {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let pairs = pairs(call, [1, 3])?;
        weighted(call, pairs.into_iter().map(|pair| (pair.number, pair.x, pair.y)))
    }
}

/// Adds weighted tokens to others. Each triple has the index of the pair, the token that is read, and the token that is
/// written.
fn weighted(
    call: &Call<'_>,
    pairs: impl Iterator<Item = (usize, usize, usize)>,
) -> Result<Vec<Values>, KernelError> {
    let (lead, width) = widths(&call.shape(1));
    let (weights, from) = (call.read(0).floats(), call.read(1).floats());
    let mut out = vec![0.0; call.output_shape(0).iter().product()];
    for (number, read, written) in pairs {
        for at in 0..lead {
            for k in 0..width {
                let term = weights[number * lead + at] * from[(read * lead + at) * width + k];
                out[(written * lead + at) * width + k] += term;
            }
        }
    }
    Ok(vec![Values::round(call.output_dtype(0), out)])
}
