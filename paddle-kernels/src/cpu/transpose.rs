//! Transposes: matrices whose rows become columns, and channels whose elements become neighbours.
#![allow(unsafe_code, reason = "copies through raw pointers")]

use super::vector::{BLOCK, Factor};

/// `to[p * step + j] = from[j * stride + p]` for `p < depth`, `j < width`.
///
/// # Safety
/// These elements are valid.
#[inline(always)]
pub(super) unsafe fn transpose<T: Factor>(
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
pub(super) fn side_by_side<T: Factor>(channels: &[T], plane: usize, first: usize, to: &mut [[T; LANES]]) {
    let count = channels.len() / plane.max(1);
    assert!(count <= LANES && first + to.len() <= plane);
    let from = channels.as_ptr().wrapping_add(first);
    // SAFETY: reads elements of `count` planes, and writes `count` lanes of each element of `to`.
    unsafe { transpose(from, plane, to.as_mut_ptr().cast::<T>(), LANES, to.len(), count) }
}

/// Brings `count` elements of some channels side by side: `to[i * step + c] = from[c * channel + i * element]`.
///
/// # Safety
/// These elements are valid.
#[inline(always)]
pub(super) unsafe fn interleave<T: Factor>(
    from: *const T,
    [channel, element]: [usize; 2],
    to: *mut T,
    step: usize,
    channels: usize,
    count: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        if channels == 1 && step == 1 {
            match element {
                1 => copy(from, to, count),
                // A constant distance makes it vector code.
                2 => {
                    for i in 0..count {
                        *to.add(i) = *from.add(2 * i);
                    }
                }
                _ => {
                    for i in 0..count {
                        *to.add(i) = *from.add(element * i);
                    }
                }
            }
        } else if channel == 1 {
            for i in 0..count {
                copy(from.add(i * element), to.add(i * step), channels);
            }
        } else if element == 1 {
            transpose(from, channel, to, step, count, channels);
        } else {
            for c in 0..channels {
                for i in 0..count {
                    *to.add(i * step + c) = *from.add(c * channel + i * element);
                }
            }
        }
    }
}

/// The reverse of [`interleave`]: `to[c * channel + i * element] = from[i * step + c]`.
///
/// # Safety
/// These elements are valid.
#[inline(always)]
pub(super) unsafe fn separate<T: Factor>(
    from: *const T,
    step: usize,
    to: *mut T,
    [channel, element]: [usize; 2],
    channels: usize,
    count: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        if channel == 1 {
            for i in 0..count {
                copy(from.add(i * step), to.add(i * element), channels);
            }
        } else if element == 1 {
            transpose(from, step, to, channel, channels, count);
        } else {
            for c in 0..channels {
                for i in 0..count {
                    *to.add(c * channel + i * element) = *from.add(i * step + c);
                }
            }
        }
    }
}

/// Copies a few neighbouring elements, without a call.
///
/// # Safety
/// They are valid, and do not overlap.
#[inline(always)]
unsafe fn copy<T: Copy>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut done = 0;
        while done + LANES <= count {
            from.add(done).cast::<[T; LANES]>().copy_to_nonoverlapping(to.add(done).cast(), 1);
            done += LANES;
        }
        while done + BLOCK <= count {
            from.add(done).cast::<[T; BLOCK]>().copy_to_nonoverlapping(to.add(done).cast(), 1);
            done += BLOCK;
        }
        while done < count {
            *to.add(done) = *from.add(done);
            done += 1;
        }
    }
}
