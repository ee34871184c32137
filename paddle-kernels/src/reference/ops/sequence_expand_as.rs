//! `sequence_expand_as`.

use paddle_core::ops::SequenceExpandAs;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, sequences};

impl Evaluate for SequenceExpandAs {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let width = call.shape(0)[1..].iter().product();
        let rows = sequences(call, 2, call.shape(1)[0]).into_iter().enumerate();
        let repeated = rows.flat_map(|(row, tokens)| tokens.map(move |_| row));
        Ok(vec![call.read(0).at(&elements(repeated, width))])
    }
}
