//! Groups with one channel and one filter, of images with the channels as the fastest axis: lanes are loaded and stored where
//! they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::Filters;
use crate::cpu::epilogue::{Finish, InRegisters, OfChannels};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::axis::Axis;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// A piece is about so many multiply-adds: some microseconds of work.
const WORK: usize = 1 << 17;

/// Sums over the elements of filters.
pub(in super::super) struct Neighbours<'a, T> {
    pub(in super::super) axes: [Axis; 2],
    pub(in super::super) filters: Filters,
    /// The width of a filter.
    pub(in super::super) width: usize,
    pub(in super::super) packed: &'a [T],
    pub(in super::super) source: &'a [T],
    pub(in super::super) images: Images,
    pub(in super::super) results: Images,
    pub(in super::super) out: *mut T,
    pub(in super::super) ending: InRegisters<T>,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for Neighbours<'_, T> {}

/// Some rows of results, counted through all images.
struct Rows<'a, T> {
    of: &'a Neighbours<'a, T>,
    rows: Range<usize>,
    /// The results of a row that meet the image with all taps across.
    inside: &'a Range<usize>,
}

impl<T: Float> Work<T> for Rows<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let channels = self.of.images.channels;
        for row in self.rows {
            for lane in (0..channels).step_by(V::LANES) {
                // SAFETY: the caller's.
                unsafe {
                    match channels - lane >= V::LANES {
                        true => self.of.row::<V, true>([row, lane], self.inside),
                        false => self.of.row::<V, false>([row, lane], self.inside),
                    }
                }
            }
        }
    }
}

/// What neighbouring results of a row read and write, for a register of channels.
struct Row<V: Vector> {
    /// The number of the first result among all elements, and what is computed of the results.
    first: usize,
    ending: OfChannels<V>,
    /// The number of the row in its image.
    y: usize,
    /// The channels of the first element of the image, of the filters, and of the first result.
    from: *const V::Element,
    packed: *const V::Element,
    to: *mut V::Element,
    /// The channels that there are, of those of a register.
    lanes: usize,
    /// The taps down that meet the image.
    down: Range<usize>,
}

impl<T: Float> Neighbours<'_, T> {
    /// Computes all results, and the epilogue behind those of forward axes.
    pub(in super::super) fn run(&self, isa: Isa, team: &Team, finish: Finish<'_>) {
        let [down, across] = self.axes;
        let rows = self.results.count * down.count;
        let of_row = across.count * down.taps * across.taps * self.images.channels;
        let (at_once, inside) = ((WORK / of_row.max(1)).max(1), across.all_inside());
        team.run(rows.div_ceil(at_once), &|index| {
            let rows = index * at_once..rows.min((index + 1) * at_once);
            let row = across.count * self.results.channels;
            on_registers(isa, Rows { of: self, rows: rows.clone(), inside: &inside });
            // SAFETY: the axes of results go over whole images, so these rows are neighbours; nobody else uses them.
            unsafe { finish.part(self.out, rows.start * row..rows.end * row) };
        });
    }

    /// Computes a row of results, for the register of channels that begins with `lane`. `WHOLE` says that all its lanes are
    /// channels.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`; nobody else writes these results.
    #[inline(always)]
    unsafe fn row<V: Vector<Element = T>, const WHOLE: bool>(
        &self,
        [row, lane]: [usize; 2],
        inside: &Range<usize>,
    ) {
        let [down, across] = self.axes;
        let (image, y) = (row / down.count, row % down.count);
        let packed = self.filters.at(lane / CHANNELS, 0) + lane % CHANNELS;
        let to = (y * down.output_step + down.output_first) * self.results.size[1] + across.output_first;
        let first = image * self.results.image() + to * self.results.channels + lane;
        let operands = Row {
            first,
            // SAFETY: these are channels; the caller's.
            ending: unsafe { self.ending.load(lane, self.images.channels - lane) },
            y,
            from: self.source[image * self.images.image() + lane..].as_ptr(),
            packed: self.packed[packed..].as_ptr(),
            to: self.out.wrapping_add(first),
            lanes: self.images.channels - lane,
            down: down.meeting(y),
        };
        let mut x = 0;
        while x < across.count {
            let taps = 0..across.taps;
            let left = if inside.contains(&x) { inside.end - x } else { 0 };
            // SAFETY: all taps of results that are inside meet the image; those of others are clipped to it.
            x += unsafe {
                match left {
                    8.. => self.columns::<V, WHOLE, 8>(&operands, x, taps),
                    4.. => self.columns::<V, WHOLE, 4>(&operands, x, taps),
                    2.. => self.columns::<V, WHOLE, 2>(&operands, x, taps),
                    _ => self.columns::<V, WHOLE, 1>(&operands, x, across.meeting(x)),
                }
            };
        }
    }

    /// The kernel: `COUNT` neighbouring results. Returns `COUNT`.
    ///
    /// # Safety
    /// As for [`Self::row`]; these taps of all results meet the image.
    #[inline(always)]
    unsafe fn columns<V: Vector<Element = T>, const WHOLE: bool, const COUNT: usize>(
        &self,
        operands: &Row<V>,
        x: usize,
        taps: Range<usize>,
    ) -> usize {
        let [down, across] = self.axes;
        let channels = self.images.channels;
        let (step, output_step) = (across.step() * channels, across.output_step * self.results.channels);
        // SAFETY: the caller's; packed filters have whole registers.
        unsafe {
            let mut sums = [V::splat(T::ZERO); COUNT];
            for ky in operands.down.clone() {
                let line =
                    operands.from.add(down.met_in_source(operands.y, ky) * self.images.size[1] * channels);
                for kx in taps.clone() {
                    let element = down.met(ky) * self.width + across.met(kx);
                    let weight = V::load(operands.packed.add(element * CHANNELS));
                    let from = line.add(across.met_in_source(x, kx) * channels);
                    for (column, sum) in sums.iter_mut().enumerate() {
                        let from = from.add(column * step);
                        let value = match WHOLE {
                            true => V::load(from),
                            false => V::load_partial(from, operands.lanes),
                        };
                        *sum = value.mul_add(weight, *sum);
                    }
                }
            }
            for (column, sum) in sums.iter().enumerate() {
                let place = (x * across.output_step) * self.results.channels + column * output_step;
                let sum = operands.ending.of(*sum, operands.first + place);
                let to = operands.to.add(place);
                match WHOLE {
                    true => sum.store(to),
                    false => sum.store_partial(to, operands.lanes),
                }
            }
        }
        COUNT
    }
}
