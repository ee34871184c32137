//! Transposes: matrices whose rows become columns, and channels whose elements become neighbours.
#![allow(unsafe_code, reason = "copies through raw pointers")]

use super::vector::{BLOCK, Element};

/// `to[p * step + j] = from[j * stride + p]` for `p < depth`, `j < width`.
///
/// # Safety
/// These elements are valid.
#[inline(always)]
pub(super) unsafe fn transpose<T: Element>(
    from: *const T,
    stride: usize,
    to: *mut T,
    step: usize,
    depth: usize,
    width: usize,
) {
    /// A cache line of the narrower element: lines of `to` are filled before they leave the cache, and lines of
    /// `from` used up.
    const LINE: usize = 16;
    // SAFETY: the caller's.
    unsafe {
        let mut start = 0;
        while start < depth {
            let end = depth.min(start + LINE);
            let mut j = 0;
            while j + BLOCK <= width {
                let mut p = start;
                while p + BLOCK <= end {
                    T::transpose_block(from.add(j * stride + p), stride, to.add(p * step + j), step);
                    p += BLOCK;
                }
                for p in p..end {
                    for l in j..j + BLOCK {
                        *to.add(p * step + l) = *from.add(l * stride + p);
                    }
                }
                j += BLOCK;
            }
            for j in j..width {
                for p in start..end {
                    *to.add(p * step + j) = *from.add(j * stride + p);
                }
            }
            start = end;
        }
    }
}

/// The number of channels that are computed side by side: at least the lanes of the widest register.
pub(super) const LANES: usize = 16;

/// Brings neighbouring elements of at most [`LANES`] channels side by side. The channels are planes of `plane` elements
/// each; `first` is the first of the elements in its plane. Lanes without a channel keep what they have.
#[inline(always)]
pub(super) fn interleave<T: Element>(channels: &[T], plane: usize, first: usize, to: &mut [[T; LANES]]) {
    let count = channels.len() / plane.max(1);
    assert!(count <= LANES && first + to.len() <= plane);
    let from = channels.as_ptr().wrapping_add(first);
    // SAFETY: reads elements of `count` planes, and writes `count` lanes of each element of `to`.
    unsafe { transpose(from, plane, to.as_mut_ptr().cast::<T>(), LANES, to.len(), count) }
}

/// The reverse of [`interleave`].
#[inline(always)]
pub(super) fn separate<T: Element>(from: &[[T; LANES]], channels: &mut [T], plane: usize, first: usize) {
    let count = channels.len() / plane.max(1);
    assert!(count <= LANES && first + from.len() <= plane);
    let to = channels.as_mut_ptr().wrapping_add(first);
    // SAFETY: reads `count` lanes of each element of `from`, and writes elements of `count` planes.
    unsafe { transpose(from.as_ptr().cast::<T>(), LANES, to, plane, count, from.len()) }
}
