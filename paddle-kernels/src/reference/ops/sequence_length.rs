//! `sequence_length`.

use crate::reference::call::Call;
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

pub(super) fn length(call: &Call<'_>) -> Values {
    let tokens = sequences(call, 1, call.shape(0)[0]);
    Values::I64(tokens.into_iter().map(|tokens| tokens.len() as i64).collect())
}
