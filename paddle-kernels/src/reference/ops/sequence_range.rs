//! `sequence_range`.

use paddle_core::ops::SequenceRange;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

impl Evaluate for SequenceRange {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let tokens = call.output_shape(0)[0];
        let positions = sequences(call, 1, tokens).into_iter().flat_map(|tokens| 0..tokens.len() as i64);
        Ok(vec![Values::I64(positions.collect())])
    }
}
