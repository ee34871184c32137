//! `sequence_reverse`.

use paddle_core::ops::SequenceReverse;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, sequences};

impl Evaluate for SequenceReverse {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let shape = call.shape(0);
        let reversed = sequences(call, 1, shape[0]).into_iter().flat_map(|tokens| tokens.rev());
        Ok(vec![call.read(0).at(&elements(reversed, shape[1..].iter().product()))])
    }
}
