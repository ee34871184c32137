//! `sequence_align`.

use paddle_core::ops::SequenceAlign;

use super::Evaluate;
use crate::messages::same_lengths;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::offsets;

impl Evaluate for SequenceAlign {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let [own, others] = [0, 1].map(|k| offsets(call, 2 + k, call.shape(k)[0]));
        same_lengths(&own, &others)?;
        Ok(vec![call.read(0)])
    }
}
