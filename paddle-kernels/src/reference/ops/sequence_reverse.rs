//! `sequence_reverse`.

use crate::reference::call::Call;
use crate::reference::sequences::{elements, sequences};
use crate::reference::values::Values;

pub(super) fn reverse(call: &Call<'_>) -> Values {
    let shape = call.shape(0);
    let reversed = sequences(call, 1, shape[0]).into_iter().flat_map(|tokens| tokens.rev());
    call.read(0).at(&elements(reversed, shape[1..].iter().product()))
}
