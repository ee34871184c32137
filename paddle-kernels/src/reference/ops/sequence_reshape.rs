//! `sequence_reshape`.

use paddle_core::ops::SequenceReshape;

use super::Evaluate;
use crate::messages::same_elements;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::offsets;

impl Evaluate for SequenceReshape {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (from, to) = (call.shape(0), call.output_shape(0));
        let width = |shape: &[usize]| shape[1..].iter().product();
        let own = offsets(call, 2, from[0]);
        let others = offsets(call, 3, to[0]);
        same_elements((&own, width(&from)), (&others, width(&to)))?;
        Ok(vec![call.read(0)])
    }
}
