//! `sequence_pad` and `sequence_unpad`.

use paddle_core::ops::{Number, SequencePad, SequenceUnpad};

use super::Evaluate;
use crate::messages::enough_places;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{elements, offsets, sequences};
use crate::reference::values::Values;

impl Evaluate for SequencePad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0), call.shape(0));
        let (places, width) = (call.output_shape(0)[1], shape[1..].iter().product());
        enough_places(&offsets(call, 1, shape[0]), places)?;
        let pad = Values::of_numbers(x.dtype(), (0..width).map(|_| Number::Float(self.pad_value)));
        // The padding value has the index behind the last token.
        let row = |tokens: std::ops::Range<usize>| {
            let rest = places - tokens.len();
            tokens.chain(std::iter::repeat_n(shape[0], rest))
        };
        let tokens = sequences(call, 1, shape[0]).into_iter().flat_map(row);
        Ok(vec![Values::join(&[x, pad]).at(&elements(tokens, width))])
    }
}

impl Evaluate for SequenceUnpad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let shape = call.shape(0);
        let (places, width) = (shape[1], shape[2..].iter().product());
        let tokens = call.shape(1)[0];
        enough_places(&offsets(call, 2, tokens), places)?;
        let rows = sequences(call, 2, tokens).into_iter().enumerate();
        let taken = rows.flat_map(|(row, tokens)| row * places..row * places + tokens.len());
        Ok(vec![call.read(0).at(&elements(taken, width))])
    }
}
