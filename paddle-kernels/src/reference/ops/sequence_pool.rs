//! `sequence_pool` and its gradient.

use paddle_core::ops::{PoolType, SequencePool, SequencePoolGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

/// The first token with the largest value in a column. A NaN counts as larger than any number.
fn largest(tokens: std::ops::Range<usize>, value: impl Fn(usize) -> f64) -> Option<usize> {
    tokens.reduce(|best, token| {
        let (x, max) = (value(token), value(best));
        if x > max || (x.is_nan() && !max.is_nan()) { token } else { best }
    })
}

impl Evaluate for SequencePool {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0).floats(), call.shape(0));
        let width: usize = shape[1..].iter().product();
        let mut out = Vec::new();
        for tokens in sequences(call, 1, shape[0]) {
            let n = tokens.len() as f64;
            for column in 0..width {
                let value = |token: usize| x[token * width + column];
                let sum = || tokens.clone().map(value).sum::<f64>();
                let row = match self.pooltype {
                    PoolType::Average => (!tokens.is_empty()).then(|| sum() / n),
                    PoolType::Sum => (!tokens.is_empty()).then(sum),
                    PoolType::Sqrt => (!tokens.is_empty()).then(|| sum() / n.sqrt()),
                    PoolType::Max => largest(tokens.clone(), value).map(value),
                    PoolType::First => tokens.clone().next().map(value),
                    PoolType::Last => tokens.clone().last().map(value),
                };
                out.push(row.unwrap_or(self.pad_value));
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

impl Evaluate for SequencePoolGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (grad, shape) = (call.read(1).floats(), call.shape(0));
        let width: usize = shape[1..].iter().product();
        // The other types read only the shape of the tokens.
        let x = if self.pooltype == PoolType::Max { call.read(0).floats() } else { Vec::new() };
        let mut out = vec![0.0; shape.iter().product()];
        for (sequence, tokens) in sequences(call, 2, shape[0]).into_iter().enumerate() {
            let n = tokens.len() as f64;
            for column in 0..width {
                let grad = grad[sequence * width + column];
                let mut add = |tokens: std::ops::Range<usize>, grad: f64| {
                    tokens.for_each(|token| out[token * width + column] = grad);
                };
                let only = match self.pooltype {
                    PoolType::Average => {
                        add(tokens.clone(), grad / n);
                        None
                    }
                    PoolType::Sum => {
                        add(tokens.clone(), grad);
                        None
                    }
                    PoolType::Sqrt => {
                        add(tokens.clone(), grad / n.sqrt());
                        None
                    }
                    PoolType::Max => largest(tokens.clone(), |token| x[token * width + column]),
                    PoolType::First => tokens.clone().next(),
                    PoolType::Last => tokens.clone().last(),
                };
                if let Some(token) = only {
                    add(token..token + 1, grad);
                }
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
