//! `sequence_window` and its gradient.

use std::ops::Range;

use paddle_core::ops::{Number, SequenceWindow, SequenceWindowGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, sequences};
use crate::reference::values::Values;

/// The tokens in each window; `None` where the sequence has no token.
fn windows(sequences: Vec<Range<usize>>, start: i64, length: i64) -> Vec<Option<usize>> {
    let around = |tokens: Range<usize>| {
        let within = tokens.clone();
        tokens.flat_map(move |token| {
            let within = within.clone();
            (0..length).map(move |j| {
                let at = i128::from(start) + i128::from(j) + token as i128;
                usize::try_from(at).ok().filter(|at| within.contains(at))
            })
        })
    };
    sequences.into_iter().flat_map(around).collect()
}

impl Evaluate for SequenceWindow {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0), call.shape(0));
        let width: usize = shape[1..].iter().product();
        let pad = Values::of_numbers(x.dtype(), (0..width).map(|_| Number::Float(self.pad_value)));
        let tokens = windows(sequences(call, 1, shape[0]), self.start, self.length);
        // The padding value has the index behind the last token.
        let taken = tokens.into_iter().map(|token| token.unwrap_or(shape[0]));
        Ok(vec![Values::join(&[x, pad]).at(&elements(taken, width))])
    }
}

impl Evaluate for SequenceWindowGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (grad, shape) = (call.read(1).floats(), call.shape(0));
        let width: usize = shape[1..].iter().product();
        let mut out = vec![0.0; shape[0] * width];
        for (at, token) in
            windows(sequences(call, 2, shape[0]), self.start, self.length).into_iter().enumerate()
        {
            for (column, token) in
                token.into_iter().flat_map(|token| (0..width).map(move |column| (column, token)))
            {
                out[token * width + column] += grad[at * width + column];
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
