//! Gradients of the filters of groups with one channel and one filter, of images with the channels as the fastest axis: images
//! and gradients of results are read where they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::sliding_gradient::SlidingGradient;
use super::{AT_ONCE, Filters, by_image, load};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::axis::Axis;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// Sums over images and results, in parts whose number depends on the shapes alone.
pub(in super::super) struct InPlaceGradient<'a, T> {
    /// Those of the results.
    pub(in super::super) axes: [Axis; 2],
    pub(in super::super) filters: Filters,
    /// The width of a filter.
    pub(in super::super) width: usize,
    pub(in super::super) source: &'a [T],
    pub(in super::super) images: Images,
    /// The gradients of the results.
    pub(in super::super) grad: &'a [T],
    pub(in super::super) results: Images,
    /// The partial gradients, each packed like filters.
    pub(in super::super) parts: *mut T,
}

// SAFETY: threads write partial gradients that do not overlap.
unsafe impl<T: Sync> Sync for InPlaceGradient<'_, T> {}

/// A partial gradient: that of some rows of results, counted through all images.
struct Part<'a, T> {
    of: &'a InPlaceGradient<'a, T>,
    rows: Range<usize>,
    to: *mut T,
}

/// Neighbouring results in a row, which meet the image with the same taps.
struct Run {
    /// Where the first result, and what it meets with the first tap, begin.
    result: usize,
    from: usize,
    count: usize,
    taps: [Range<usize>; 2],
}

/// What the results of a run meet with some taps, for a register of channels.
struct Taps<T> {
    /// What the first result meets with each tap. The last tap stands in for those that there are none of.
    from: [*const T; AT_ONCE],
    /// The gradients of the elements of the filter, of which so many are stored.
    to: [*mut T; AT_ONCE],
    used: usize,
    /// The gradient of the first result.
    grad: *const T,
    /// The distances of what neighbouring results meet, and of these results.
    apart: [usize; 2],
    /// The number of results.
    count: usize,
    /// The channels that there are, of those of a register.
    lanes: usize,
}

impl<T: Float> Work<T> for Part<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let Part { of, rows, to } = self;
        let [down, across] = of.axes;
        let inside = across.all_inside();
        let channels = of.images.channels;
        // SAFETY: nobody else uses this partial gradient, which has room for packed filters.
        unsafe { to.write_bytes(0, of.filters.packed()) };
        if let Some(sliding) = SlidingGradient::of(of) {
            for (image, rows) in by_image(rows.clone(), down.count) {
                // SAFETY: the caller's; nobody else uses this partial gradient.
                unsafe { sliding.rows::<V>(image, rows, to) };
            }
            // Products with zero that are no numbers are in no sum of the definition.
            // SAFETY: the partial gradient has whole registers.
            unsafe {
                if are_finite::<T, V>(to, of.filters.packed()) {
                    return;
                }
                to.write_bytes(0, of.filters.packed());
            }
        }
        for row in rows {
            let (image, y) = (row / down.count, row % down.count);
            let taps = down.meeting(y);
            let before = (0..inside.start).map(|x| (x, 1));
            let after = (inside.end..across.count).map(|x| (x, 1));
            for (x, count) in before.chain([(inside.start, inside.len())]).chain(after) {
                let taps = [taps.clone(), across.meeting(x)];
                if count == 0 || taps.iter().any(Range::is_empty) {
                    continue;
                }
                let (top, left) =
                    (down.met_in_source(y, taps[0].start), across.met_in_source(x, taps[1].start));
                let result = (row * across.count + x) * channels;
                let from = image * of.images.image() + (top * of.images.size[1] + left) * channels;
                // SAFETY: the caller's; these taps of all results of the run meet the image.
                unsafe { of.run_of_results::<V>(&Run { result, from, count, taps }, to) };
            }
        }
    }
}

/// Whether all elements are finite.
///
/// # Safety
/// The elements are whole registers; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn are_finite<T: Float, V: Vector<Element = T>>(from: *const T, count: usize) -> bool {
    let mut lanes = [T::ZERO; CHANNELS];
    // SAFETY: the caller's.
    unsafe {
        let zero = V::splat(T::ZERO);
        let mut sum = zero;
        for at in (0..count).step_by(V::LANES) {
            sum = V::load(from.wrapping_add(at)).mul_add(zero, sum);
        }
        sum.store(lanes.as_mut_ptr());
    }
    lanes.iter().all(|lane| *lane == T::ZERO)
}

impl<T: Float> InPlaceGradient<'_, T> {
    /// Computes `parts` partial gradients.
    pub(in super::super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let rows = self.results.count * self.axes[0].count;
        team.run(parts, &|part| {
            let to = self.parts.wrapping_add(part * self.filters.packed());
            on_registers(isa, Part { of: self, rows: part * rows / parts..(part + 1) * rows / parts, to });
        });
    }

    /// Adds what a run contributes to the gradients of the filters of all groups.
    ///
    /// # Safety
    /// These taps of all results meet the image; nobody else uses the partial gradient at `to`; the machine has the
    /// instruction set of `V`.
    #[inline(always)]
    unsafe fn run_of_results<V: Vector<Element = T>>(&self, run: &Run, to: *mut T) {
        let Run { result, from, count, taps: [taps_down, taps_across] } = run;
        let ([down, across], channels) = (self.axes, self.images.channels);
        let between =
            [down.stride as usize * self.images.size[1] * channels, across.stride as usize * channels];
        let all = taps_down.len() * taps_across.len();
        for first in (0..all).step_by(AT_ONCE) {
            let here = AT_ONCE.min(all - first);
            // Where what each tap meets begins, behind what the first one meets, and the element of the filter.
            let taps: [[usize; 2]; AT_ONCE] = std::array::from_fn(|at| {
                let tap = first + at.min(here - 1);
                let [ky, kx] = [tap / taps_across.len(), tap % taps_across.len()];
                let element =
                    down.met(taps_down.start + ky) * self.width + across.met(taps_across.start + kx);
                [ky * between[0] + kx * between[1], element]
            });
            for lane in (0..channels).step_by(V::LANES) {
                let (lanes, apart) = (channels - lane, [across.step() * channels, channels]);
                // SAFETY: the run is inside of the image and of the results, and so are the channels from `lane` on; packed
                // filters have whole registers.
                unsafe {
                    let of_block = to.add(lane / CHANNELS * self.filters.of_block() + lane % CHANNELS);
                    let source = self.source.as_ptr().add(from + lane);
                    let (mut from, mut to) = ([source; AT_ONCE], [of_block; AT_ONCE]);
                    for (at, [distance, element]) in taps.into_iter().enumerate() {
                        (from[at], to[at]) = (source.add(distance), of_block.add(element * CHANNELS));
                    }
                    let grad = self.grad.as_ptr().add(result + lane);
                    let taps = Taps { from, to, used: here, grad, apart, count: *count, lanes };
                    match lanes >= V::LANES {
                        true => taps.add::<V, true>(),
                        false => taps.add::<V, false>(),
                    }
                }
            }
        }
    }
}

impl<T: Float> Taps<T> {
    /// The kernel: adds the products of the gradients of all results with what each of them meets. `WHOLE` says that all
    /// lanes of the register are channels.
    ///
    /// # Safety
    /// What the pointers point at can be read and written; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn add<V: Vector<Element = T>, const WHOLE: bool>(&self) {
        // SAFETY: the caller's.
        unsafe {
            let mut sums = [V::splat(T::ZERO); AT_ONCE];
            for (sum, &to) in sums.iter_mut().zip(&self.to) {
                *sum = V::load(to);
            }
            let [between, results_between] = self.apart;
            for at in 0..self.count {
                let grad = load::<V, WHOLE>(self.grad.add(at * results_between), self.lanes);
                for (from, sum) in self.from.iter().zip(&mut sums) {
                    let value = load::<V, WHOLE>(from.add(at * between), self.lanes);
                    *sum = value.mul_add(grad, *sum);
                }
            }
            for (sum, &to) in sums.iter().zip(&self.to).take(self.used) {
                sum.store(to);
            }
        }
    }
}
