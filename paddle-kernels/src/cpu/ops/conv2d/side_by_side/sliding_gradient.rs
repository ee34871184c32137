//! Gradients of depthwise filters whose windows overlap: a kernel goes along rows of the image, and loads each element once for
//! all results that meet it. The gradients of these results are in registers, and the sums for some rows of the filter.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::in_place_gradient::InPlaceGradient;
use super::sliding::has_kernel;
use super::{apart, load};
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::vector::Vector;

/// About so many results are summed before the sums are stored.
const AT_ONCE: usize = 64;

/// The gradients of depthwise filters whose windows overlap.
pub(super) struct SlidingGradient<'a, T> {
    of: &'a InPlaceGradient<'a, T>,
    /// The distances of rows, and of neighbours in a row, in images and in results.
    from: [usize; 2],
    to: [usize; 2],
}

/// Rows of results of an image, rows of the filter of which this one is the first, and a register of channels, which begin with
/// this one.
struct Part<T> {
    image: usize,
    rows: Range<usize>,
    tap: usize,
    channel: usize,
    /// The channels that there are.
    count: usize,
    /// The sums of the first element of these rows of the filter.
    sums: *mut T,
}

impl<'a, T: Float> SlidingGradient<'a, T> {
    /// The gradient, if there are kernels for its windows.
    pub(super) fn of(of: &'a InPlaceGradient<'a, T>) -> Option<Self> {
        has_kernel(&of.axes).then(|| SlidingGradient { of, from: apart(of.images), to: apart(of.results) })
    }

    /// Adds what these rows of results of an image contribute, and products of other elements and zero. So sums may be no numbers
    /// if an element of the image is infinite or none.
    ///
    /// # Safety
    /// Nobody else uses the partial gradient at `to`; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn rows<V: Vector<Element = T>>(&self, image: usize, rows: Range<usize>, to: *mut T) {
        let across = self.of.axes[1];
        let at_once = (AT_ONCE / across.count.max(1)).max(1);
        for first in rows.clone().step_by(at_once) {
            let rows = first..rows.end.min(first + at_once);
            // SAFETY: the caller's.
            unsafe {
                match (across.taps, across.step()) {
                    (3, 1) => self.windows::<V, 3, 1, 3>(image, rows, to),
                    (3, 2) => self.windows::<V, 3, 2, 2>(image, rows, to),
                    (5, 1) => self.windows::<V, 5, 1, 5>(image, rows, to),
                    (5, 2) => self.windows::<V, 5, 2, 3>(image, rows, to),
                    (7, 1) => self.windows::<V, 7, 1, 7>(image, rows, to),
                    _ => unreachable!("there are no other kernels"),
                }
            }
        }
    }

    /// Adds what rows of results of windows of `TAPS` elements across contribute. The windows are `STEP` apart; `LIVE` of them overlap.
    ///
    /// # Safety
    /// As for [`Self::rows`].
    #[inline(always)]
    unsafe fn windows<V: Vector<Element = T>, const TAPS: usize, const STEP: usize, const LIVE: usize>(
        &self,
        image: usize,
        rows: Range<usize>,
        to: *mut T,
    ) {
        const { assert!(LIVE == TAPS.div_ceil(STEP)) };
        let (channels, filters) = (self.of.images.channels, self.of.filters);
        // As many rows of the filter at once as there are registers for.
        let most = const {
            if 3 * TAPS + LIVE < V::REGISTERS {
                3
            } else if 2 * TAPS + LIVE < V::REGISTERS {
                2
            } else {
                1
            }
        };
        for channel in (0..channels).step_by(V::LANES) {
            let of_block = to.wrapping_add(channel / CHANNELS * filters.of_block() + channel % CHANNELS);
            let count = V::LANES.min(channels - channel);
            let mut tap = 0;
            while tap < self.of.axes[0].taps {
                let down = most.min(self.of.axes[0].taps - tap);
                let sums = of_block.wrapping_add(tap * self.of.width * CHANNELS);
                let part = Part { image, rows: rows.clone(), tap, channel, count, sums };
                // SAFETY: the caller's.
                unsafe {
                    match (down, count == V::LANES) {
                        (3, true) => self.sweep::<V, TAPS, STEP, LIVE, 3, true>(part),
                        (3, false) => self.sweep::<V, TAPS, STEP, LIVE, 3, false>(part),
                        (2, true) => self.sweep::<V, TAPS, STEP, LIVE, 2, true>(part),
                        (2, false) => self.sweep::<V, TAPS, STEP, LIVE, 2, false>(part),
                        (_, true) => self.sweep::<V, TAPS, STEP, LIVE, 1, true>(part),
                        (_, false) => self.sweep::<V, TAPS, STEP, LIVE, 1, false>(part),
                    }
                }
                tap += down;
            }
        }
    }

    /// The kernel, for `DOWN` rows of the filter. `WHOLE` says that there are all channels.
    ///
    /// # Safety
    /// As for [`Self::rows`].
    #[inline(always)]
    unsafe fn sweep<
        V: Vector<Element = T>,
        const TAPS: usize,
        const STEP: usize,
        const LIVE: usize,
        const DOWN: usize,
        const WHOLE: bool,
    >(
        &self,
        part: Part<T>,
    ) {
        let Part { image, rows, tap, channel, count, sums: to } = part;
        let InPlaceGradient { axes: [down, across], images, results, .. } = self.of;
        let [height, width] = images.size.map(|size| size as isize);
        let leftmost = across.first_met(0);
        let of_filter = self.of.width * CHANNELS;
        // SAFETY: the caller's; packed filters have whole registers, and only elements inside of images and results are loaded.
        unsafe {
            let mut sums = [[V::splat(T::ZERO); TAPS]; DOWN];
            for (y, sums) in sums.iter_mut().enumerate() {
                for (x, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(to.wrapping_add(y * of_filter + x * CHANNELS));
                }
            }
            for row in rows {
                let highest = down.first_met(row) + tap as isize;
                // Which of the rows that meet these rows of the filter the image has.
                let inside = (-highest).max(0)..(height - highest).min(DOWN as isize);
                let top = (image * images.image() + channel) as isize + highest * self.from[0] as isize;
                let top = self.of.source.as_ptr().wrapping_offset(top);
                let grads = image * results.image() + row * self.to[0] + channel;
                let grads = self.of.grad.as_ptr().wrapping_add(grads);
                // Each step ends the window of a result, whose gradient comes first. Where there is no result, it is zero.
                let mut live = [V::splat(T::ZERO); LIVE];
                for result in 1 - LIVE as isize..across.count as isize {
                    for at in 1..LIVE {
                        live[at - 1] = live[at];
                    }
                    let next = (result + LIVE as isize - 1) as usize;
                    live[LIVE - 1] = match next < across.count {
                        true => load::<V, WHOLE>(grads.wrapping_add(next * self.to[1]), count),
                        false => V::splat(T::ZERO),
                    };
                    for at in TAPS - STEP..TAPS {
                        let column = leftmost + result * STEP as isize + at as isize;
                        if !(0..width).contains(&column) {
                            continue;
                        }
                        let from = top.wrapping_add(column as usize * self.from[1]);
                        for (y, sums) in sums.iter_mut().enumerate() {
                            if inside.contains(&(y as isize)) {
                                let value = load::<V, WHOLE>(from.wrapping_add(y * self.from[0]), count);
                                for (back, grad) in live.iter().enumerate() {
                                    if back * STEP <= at {
                                        let sum = &mut sums[at - back * STEP];
                                        *sum = value.mul_add(*grad, *sum);
                                    }
                                }
                            }
                        }
                    }
                }
            }
            for (y, sums) in sums.iter().enumerate() {
                for (x, sum) in sums.iter().enumerate() {
                    sum.store(to.wrapping_add(y * of_filter + x * CHANNELS));
                }
            }
        }
    }
}
