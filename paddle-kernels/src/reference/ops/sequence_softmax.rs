//! `sequence_softmax`.

use super::softmax::normalise;
use crate::reference::call::Call;
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

pub(super) fn softmax(call: &Call<'_>) -> Values {
    let (x, shape) = (call.read(0).floats(), call.shape(0));
    let width: usize = shape[1..].iter().product();
    let mut out = x.clone();
    for tokens in sequences(call, 1, shape[0]) {
        for column in 0..width {
            let elements: Vec<usize> = tokens.clone().map(|token| token * width + column).collect();
            let normalised = normalise(&elements.iter().map(|&i| x[i]).collect::<Vec<_>>());
            elements.iter().zip(normalised).for_each(|(&i, y)| out[i] = y);
        }
    }
    Values::round(call.output_dtype(0), out)
}
