//! `sequence_range`.

use crate::reference::call::Call;
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

pub(super) fn range(call: &Call<'_>) -> Values {
    let tokens = call.output_shape(0)[0];
    let positions = sequences(call, 1, tokens).into_iter().flat_map(|tokens| 0..tokens.len() as i64);
    Values::I64(positions.collect())
}
