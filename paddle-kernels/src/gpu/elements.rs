//! Elements of the host as words of a card, and back.

use std::borrow::Cow;

use paddle_core::plan::{HostSlice, HostSliceMut};

/// The words of elements.
pub(super) fn to_words(from: HostSlice<'_>) -> Cow<'_, [u8]> {
    match from {
        HostSlice::Bool(from) => from.iter().flat_map(|&truth| u32::from(truth).to_ne_bytes()).collect(),
        HostSlice::I32(from) => Cow::Borrowed(bytemuck::cast_slice(from)),
        HostSlice::I64(from) => Cow::Borrowed(bytemuck::cast_slice(from)),
        HostSlice::F32(from) => Cow::Borrowed(bytemuck::cast_slice(from)),
        HostSlice::F64(from) => Cow::Borrowed(bytemuck::cast_slice(from)),
    }
}

/// The elements of words.
pub(super) fn from_words(words: &[u8], to: HostSliceMut<'_>) {
    match to {
        HostSliceMut::Bool(to) => {
            to.iter_mut()
                .zip(words.chunks_exact(4))
                .for_each(|(to, word)| *to = word.iter().any(|&byte| byte != 0));
        }
        HostSliceMut::I32(to) => bytemuck::cast_slice_mut(to).copy_from_slice(words),
        HostSliceMut::I64(to) => bytemuck::cast_slice_mut(to).copy_from_slice(words),
        HostSliceMut::F32(to) => bytemuck::cast_slice_mut(to).copy_from_slice(words),
        HostSliceMut::F64(to) => bytemuck::cast_slice_mut(to).copy_from_slice(words),
    }
}
