//! `sequence_expand_as`.

use crate::reference::call::Call;
use crate::reference::sequences::{elements, sequences};
use crate::reference::values::Values;

pub(super) fn expand_as(call: &Call<'_>) -> Values {
    let width = call.shape(0)[1..].iter().product();
    let rows = sequences(call, 2, call.shape(1)[0]).into_iter().enumerate();
    let repeated = rows.flat_map(|(row, tokens)| tokens.map(move |_| row));
    call.read(0).at(&elements(repeated, width))
}
