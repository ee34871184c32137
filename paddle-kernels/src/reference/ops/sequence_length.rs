//! `sequence_length`.

use paddle_core::ops::SequenceLength;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

impl Evaluate for SequenceLength {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let tokens = sequences(call, 1, call.shape(0)[0]);
        Ok(vec![Values::I64(tokens.into_iter().map(|tokens| tokens.len() as i64).collect())])
    }
}
