//! Depthwise convolutions of windows that overlap: a kernel goes along some rows of the image, and loads each element once for
//! all results that meet it. The sums of the results that its column meets are in registers, and so are the weights.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::neighbours::{LINE, Neighbours};
use super::{apart, load};
use crate::cpu::epilogue::{Endings, Stored};
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::axis::Axis;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::vector::{Vector, fetch_to_second};

/// Images and results of more bytes leave the second cache before they are needed.
const FAR_BYTES: usize = 2 << 20;
/// An image and its results of more bytes are computed by whole lines of the cache alone.
const NEAR_BYTES: usize = 1 << 20;

/// A depthwise convolution over windows that overlap.
pub(super) struct Sliding<'a, T> {
    of: &'a Neighbours<'a, T>,
    /// The distances of rows, and of neighbours in a row, in images and in results.
    from: [usize; 2],
    to: [usize; 2],
    /// Whether images and results leave the second cache before they are needed, so that the next rows are asked for.
    is_far: bool,
}

/// Neighbouring rows of results, and a register of channels, which begin with this one.
#[derive(Clone, Copy)]
struct Part {
    image: usize,
    row: usize,
    channel: usize,
    /// The channels that there are.
    count: usize,
}

/// Whether windows of neighbouring elements overlap, and kernels go along their rows.
pub(super) fn has_kernel([down, across]: &[Axis; 2]) -> bool {
    let overlaps = |axis: &Axis| axis.stride.unsigned_abs() == 1 && axis.taps > axis.step();
    let are_alike = overlaps(down) && overlaps(across) && down.step() == across.step();
    are_alike && matches!((across.taps, across.step()), (3 | 5, 1 | 2) | (7, 1))
}

impl<'a, T: Float> Sliding<'a, T> {
    /// The convolution, if there are kernels for its windows.
    pub(super) fn of<V: Vector<Element = T>>(of: &'a Neighbours<'a, T>) -> Option<Self> {
        // Narrow registers meet the lines of the cache several times, which leave it in between if images are large.
        let bytes = |images: usize| (of.images.image() + of.results.image()) * images * size_of::<T>();
        let is_near = V::LANES * size_of::<T>() >= LINE || bytes(1) <= NEAR_BYTES;
        (has_kernel(&of.axes) && is_near).then(|| Sliding {
            of,
            from: apart(of.images),
            to: apart(of.results),
            is_far: bytes(of.images.count) > FAR_BYTES,
        })
    }

    /// Computes these rows of results of an image.
    ///
    /// # Safety
    /// Nobody else writes these results; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn rows<V: Vector<Element = T>>(&self, image: usize, rows: Range<usize>) {
        let [down, across] = &self.of.axes;
        // SAFETY: the caller's.
        unsafe {
            match (across.taps, across.step()) {
                (3, 1) if const { V::REGISTERS >= 32 } && down.taps == 3 => {
                    self.windows::<V, 3, 1, 3, 3>(image, rows)
                }
                (3, 2) if const { V::REGISTERS >= 32 } && down.taps == 3 => {
                    self.windows::<V, 3, 2, 2, 3>(image, rows)
                }
                (3, 1) => self.windows::<V, 3, 1, 3, 0>(image, rows),
                (3, 2) => self.windows::<V, 3, 2, 2, 0>(image, rows),
                (5, 1) => self.windows::<V, 5, 1, 5, 0>(image, rows),
                (5, 2) => self.windows::<V, 5, 2, 3, 0>(image, rows),
                (7, 1) => self.windows::<V, 7, 1, 7, 0>(image, rows),
                _ => unreachable!("there are no other kernels"),
            }
        }
    }

    /// Computes rows of results of windows of `TAPS` elements across, `STEP` apart, of which `LIVE` overlap. All weights are in
    /// registers if `HELD` is the number of elements down; if it is 0, they are loaded as they are needed.
    ///
    /// # Safety
    /// As for [`Self::rows`].
    #[inline(always)]
    unsafe fn windows<
        V: Vector<Element = T>,
        const TAPS: usize,
        const STEP: usize,
        const LIVE: usize,
        const HELD: usize,
    >(
        &self,
        image: usize,
        rows: Range<usize>,
    ) {
        const { assert!(LIVE == TAPS.div_ceil(STEP)) };
        let channels = self.of.images.channels;
        let mut row = rows.start;
        while row < rows.end {
            let both = const { 2 * LIVE < V::REGISTERS / 2 } && row + 2 <= rows.end;
            let mut channel = 0;
            while channel < channels {
                let count = V::LANES.min(channels - channel);
                let part = Part { image, row, channel, count };
                // SAFETY: the caller's.
                unsafe {
                    match (both, count == V::LANES) {
                        (true, true) => self.sweep::<V, TAPS, STEP, LIVE, HELD, 2, true>(part),
                        (true, false) => self.sweep::<V, TAPS, STEP, LIVE, HELD, 2, false>(part),
                        (false, true) => self.sweep::<V, TAPS, STEP, LIVE, HELD, 1, true>(part),
                        (false, false) => self.sweep::<V, TAPS, STEP, LIVE, HELD, 1, false>(part),
                    }
                }
                channel += V::LANES;
            }
            row += if both { 2 } else { 1 };
        }
    }

    /// The kernel, for `ROWS` neighbouring rows. `WHOLE` says that there are all channels.
    ///
    /// # Safety
    /// As for [`Self::rows`].
    #[inline(always)]
    unsafe fn sweep<
        V: Vector<Element = T>,
        const TAPS: usize,
        const STEP: usize,
        const LIVE: usize,
        const HELD: usize,
        const ROWS: usize,
        const WHOLE: bool,
    >(
        &self,
        part: Part,
    ) {
        let Part { image, row, channel, count } = part;
        let Neighbours { axes: [down, across], images, results, .. } = self.of;
        let [height, width] = images.size.map(|size| size as isize);
        let lowest = [down.first_met(row), across.first_met(0)];
        let top = image as isize * images.image() as isize + lowest[0] * self.from[0] as isize;
        let top = self.of.source.as_ptr().wrapping_offset(top + channel as isize);
        let of_image = image * results.image() + channel;
        let first = of_image + down.output(row) * self.to[0] + across.output(0) * self.to[1];
        let apart = [down.output_step * self.to[0], across.output_step * self.to[1]];
        let (packed, apart_weights) = self.weights(channel);
        // SAFETY: the caller's; packed filters have whole registers, and only elements inside of the image are loaded.
        unsafe {
            let mut held = [[V::splat(T::ZERO); TAPS]; HELD];
            for (y, held) in held.iter_mut().enumerate() {
                for (x, held) in held.iter_mut().enumerate() {
                    let at = y as isize * apart_weights[0] + x as isize * apart_weights[1];
                    *held = V::load(packed.wrapping_offset(at));
                }
            }
            let endings = self.of.ending.load_all::<V, 1>(channel, count);
            let results = Results { endings, out: self.of.out, first, apart };
            // Each step ends the window of a result, whose sums come first; those of the next results follow.
            let mut sums = [[[V::splat(T::ZERO)]; ROWS]; LIVE];
            for result in 1 - LIVE as isize..across.count as isize {
                for at in TAPS - STEP..TAPS {
                    let column = lowest[1] + result * STEP as isize + at as isize;
                    if !(0..width).contains(&column) {
                        continue;
                    }
                    let from = top.wrapping_add(column as usize * self.from[1]);
                    if self.is_far {
                        for below in 0..ROWS * STEP {
                            let row = (ROWS - 1) * STEP + down.taps + below;
                            fetch_to_second(from.wrapping_add(row * self.from[0]));
                        }
                    }
                    let (mut line, mut row) = (from, lowest[0]);
                    let mut weights = packed.wrapping_offset(at as isize * apart_weights[1]);
                    for tap in 0..if HELD > 0 { HELD } else { down.taps } {
                        let mut of_tap = [V::splat(T::ZERO); LIVE];
                        for (live, weight) in of_tap.iter_mut().enumerate() {
                            if live * STEP <= at {
                                let back = live * STEP;
                                *weight = match held.get(tap) {
                                    Some(held) => held[at - back],
                                    None => {
                                        V::load(weights.wrapping_offset(-(back as isize) * apart_weights[1]))
                                    }
                                };
                            }
                        }
                        for result in 0..ROWS {
                            if (0..height).contains(&(row + (result * STEP) as isize)) {
                                let from = line.wrapping_add(result * STEP * self.from[0]);
                                let value = load::<V, WHOLE>(from, count);
                                for (live, sums) in sums.iter_mut().enumerate() {
                                    if live * STEP <= at {
                                        sums[result][0] = value.mul_add(of_tap[live], sums[result][0]);
                                    }
                                }
                            }
                        }
                        line = line.wrapping_add(self.from[0]);
                        weights = weights.wrapping_offset(apart_weights[0]);
                        row += 1;
                    }
                }
                if result >= 0 {
                    if self.is_far {
                        for below in 0..ROWS {
                            let at = results.first + result as usize * apart[1] + (ROWS + below) * apart[0];
                            fetch_to_second(self.of.out.wrapping_add(at).cast_const());
                        }
                    }
                    results.store(sums[0], result as usize);
                }
                for live in 1..LIVE {
                    sums[live - 1] = sums[live];
                }
                sums[LIVE - 1] = [[V::splat(T::ZERO)]; ROWS];
            }
        }
    }

    /// The distance of the weights of neighbouring elements of a window, and of the first one from the first of the filter.
    fn weights(&self, channel: usize) -> (*const T, [isize; 2]) {
        let of_block = channel / CHANNELS * self.of.filters.of_block() + channel % CHANNELS;
        let [down, across] = self.of.axes;
        let first = |axis: Axis| axis.met(if axis.stride > 0 { 0 } else { axis.taps - 1 });
        let apart = |axis: Axis| axis.between as isize * axis.stride.signum() * CHANNELS as isize;
        let element = first(down) * self.of.width + first(across);
        let packed = self.of.packed.as_ptr().wrapping_add(of_block + element * CHANNELS);
        (packed, [apart(down) * self.of.width as isize, apart(across)])
    }
}

/// Where a kernel stores the results of some rows.
struct Results<V: Vector> {
    endings: Endings<V, 1>,
    out: *mut V::Element,
    /// The first element.
    first: usize,
    /// The distances of rows, and of neighbours in a row.
    apart: [usize; 2],
}

impl<V: Vector> Results<V> {
    /// Stores the results of a column.
    ///
    /// # Safety
    /// As for [`Sliding::rows`].
    #[inline(always)]
    unsafe fn store<const ROWS: usize>(&self, sums: [[V; 1]; ROWS], column: usize) {
        let element = self.first + column * self.apart[1];
        let to = self.out.wrapping_add(element);
        let stored = Stored { to, apart: self.apart[0], element, elements_apart: self.apart[0] };
        // SAFETY: the caller's.
        unsafe { self.endings.store(sums, stored) };
    }
}
