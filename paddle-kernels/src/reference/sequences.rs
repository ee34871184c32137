//! Helpers for operators that work along sequences.

use std::ops::Range;

use super::call::Call;
use super::values::Values;

/// The offsets of sequences, operand `k`; the sequences have `tokens` tokens.
pub(super) fn offsets(call: &Call<'_>, k: usize, tokens: usize) -> Vec<i64> {
    let Values::I64(offsets) = call.read(k) else {
        panic!("offsets are of type i64");
    };
    assert!(offsets.first() == Some(&0) && offsets.last() == Some(&(tokens as i64)), "{offsets:?}");
    assert!(offsets.is_sorted(), "{offsets:?}");
    offsets
}

/// The tokens of each sequence, given by the offsets in operand `k`.
pub(super) fn sequences(call: &Call<'_>, k: usize, tokens: usize) -> Vec<Range<usize>> {
    offsets(call, k, tokens).windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect()
}

/// The elements of these tokens, one after another; each token has `width` elements.
pub(super) fn elements(tokens: impl IntoIterator<Item = usize>, width: usize) -> Vec<usize> {
    tokens.into_iter().flat_map(|token| token * width..(token + 1) * width).collect()
}
