//! Groups with one channel and one filter, of images with the channels as the fastest axis: lanes are loaded and stored where
//! they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::sliding::Sliding;
use super::{Filters, apart, by_image, fit, load, most_columns};
use crate::cpu::epilogue::{Finish, InRegisters, Stored};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::axis::Axis;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::vector::{Vector, Work, fetch, fetch_to_second, on_registers};
use crate::team::Team;

/// A piece is about so many multiply-adds: some microseconds of work.
const WORK: usize = 1 << 17;
/// Registers for eight sums, a weight and a value. With more neighbours at once, what is read for the other channels of
/// the first of them would have left the cache.
const MOST_REGISTERS: usize = 10;
/// What is asked for a row of more bytes ahead goes to the second cache.
const FAR_BYTES: usize = 16 * 1024;
/// The bytes of a line of the cache.
pub(super) const LINE: usize = 64;

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
    /// The results along both axes that meet the image with all taps.
    inside: &'a [Range<usize>; 2],
}

/// Neighbouring results in a row or a column, which are summed over the same taps.
struct Run {
    image: usize,
    /// The first result.
    first: [usize; 2],
    count: usize,
    /// The axis along which they are neighbours.
    axis: usize,
    taps: [Range<usize>; 2],
}

/// What the next row of results needs: what it meets below what this row meets, and its results. It is asked for while
/// this row is computed; processors do not foresee it, as the rows of an image are far apart.
#[derive(Clone, Copy)]
struct Ahead {
    /// The lines of the image, and for each result its elements.
    lines: usize,
    elements: usize,
    /// The distance from what the first tap meets to the first of these lines, and of neighbouring lines and elements.
    first: usize,
    between: [usize; 2],
    /// The distance of the result below.
    result: usize,
    /// Whether a row is so long that the first cache would not keep it until the next.
    is_far: bool,
}

impl Ahead {
    /// Asks for what `COUNT` results need. The first meets `from` with its first tap, and is at `to`; the others are so far apart.
    #[inline(always)]
    fn fetch<T, const COUNT: usize>(&self, from: (*const T, usize), to: (*mut T, usize)) {
        match self.is_far {
            true => self.ask::<T, COUNT>(from, to, fetch_to_second),
            false => self.ask::<T, COUNT>(from, to, fetch),
        }
    }

    #[inline(always)]
    fn ask<T, const COUNT: usize>(
        &self,
        (from, apart): (*const T, usize),
        (to, to_apart): (*mut T, usize),
        ask: impl Fn(*const T),
    ) {
        let (from, to, [down, across]) =
            (from.wrapping_add(self.first), to.wrapping_add(self.result), self.between);
        // Most filters have steps of one, and need no loops.
        let is_one = self.lines == 1 && self.elements == 1;
        for at in 0..COUNT {
            let from = from.wrapping_add(at * apart);
            ask(to.wrapping_add(at * to_apart));
            if is_one {
                ask(from);
                continue;
            }
            for line in 0..self.lines {
                for element in 0..self.elements {
                    ask(from.wrapping_add(line * down + element * across));
                }
            }
        }
    }
}

/// What some results of a run read and write.
struct Sums<T> {
    /// What the first channel of the first result meets with the first tap, and its first weight.
    from: *const T,
    packed: *const T,
    /// The number of taps down and across.
    taps: [usize; 2],
    /// The distances of what neighbouring taps meet, and of their weights.
    between: [isize; 2],
    weights_between: [usize; 2],
    /// The distances of what neighbouring results meet, and of the results.
    apart: usize,
    to_apart: usize,
    /// What is fetched for the next row.
    ahead: Ahead,
    /// The first channel of the first result, and its number among all elements.
    to: *mut T,
    element: usize,
    channels: usize,
}

impl<T: Float> Work<T> for Rows<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let Rows { of, rows, inside: [inside_down, inside_across] } = self;
        let [down, across] = of.axes;
        let sliding = Sliding::of::<V>(of);
        for (image, Range { start, end }) in by_image(rows, down.count) {
            if let Some(sliding) = &sliding {
                // SAFETY: the caller's.
                unsafe { sliding.rows::<V>(image, start..end) };
                continue;
            }
            let in_rows = (start..end).map(|y| {
                let (first, taps) = ([y, inside_across.start], [down.meeting(y), 0..across.taps]);
                Run { image, first, count: inside_across.len(), axis: 1, taps }
            });
            // Results at the borders on both sides have neighbours below them.
            let low = inside_down.start.clamp(start, end);
            let high = inside_down.end.clamp(low, end);
            let borders = (0..across.count).filter(|x| !inside_across.contains(x));
            let in_columns = borders.flat_map(|x| {
                let alone = (start..low).chain(high..end).map(|y| (y, 1));
                alone.chain([(low, high - low)]).map(move |(y, count)| {
                    let taps = [down.meeting(y), across.meeting(x)];
                    Run { image, first: [y, x], count, axis: 0, taps }
                })
            });
            for run in in_rows.chain(in_columns) {
                // SAFETY: the caller's; these taps of all results of a run meet the image.
                unsafe { of.results::<V>(run) };
            }
        }
    }
}

impl<T: Float> Neighbours<'_, T> {
    /// Computes all results, and the epilogue behind those of forward axes.
    pub(in super::super) fn run(&self, isa: Isa, team: &Team, finish: Finish<'_>) {
        let [down, across] = self.axes;
        let rows = self.results.count * down.count;
        let of_row = across.count * down.taps * across.taps * self.images.channels;
        // Kernels of two rows have both in one piece.
        let at_once = (WORK / of_row.max(1)).max(1).next_multiple_of(2);
        let inside = self.axes.map(|axis| axis.all_inside());
        team.run(rows.div_ceil(at_once), &|index| {
            let rows = index * at_once..rows.min((index + 1) * at_once);
            let row = across.count * self.results.channels;
            on_registers(isa, Rows { of: self, rows: rows.clone(), inside: &inside });
            // SAFETY: the axes of results go over whole images, so these rows are neighbours; nobody else uses them.
            unsafe { finish.part(self.out, rows.start * row..rows.end * row) };
        });
    }

    /// Computes the results of a run, for all channels.
    ///
    /// # Safety
    /// These taps of all results meet the image; nobody else writes these results; the machine has the instruction set of
    /// `V`.
    #[inline(always)]
    unsafe fn results<V: Vector<Element = T>>(&self, run: Run) {
        let Run { image, first: [y, x], count, axis, taps } = run;
        let ([down, across], channels) = (self.axes, self.images.channels);
        if count == 0 {
            return;
        }
        // The distances of neighbours along both axes, in images and in results.
        let (from, to) = (apart(self.images), apart(self.results));
        // Without a tap there is nothing to meet.
        let met = |axis: &Axis, result, taps: &Range<usize>| match taps.is_empty() {
            true => [0; 2],
            false => [axis.met_in_source(result, taps.start), axis.met(taps.start)],
        };
        let ([from_y, ky], [from_x, kx]) = (met(&down, y, &taps[0]), met(&across, x, &taps[1]));
        let source = image * self.images.image() + from_y * from[0] + from_x * from[1];
        let result = image * self.results.image() + down.output(y) * to[0] + across.output(x) * to[1];
        let weight = (ky * self.width + kx) * CHANNELS;
        let at_once = most_columns(count, 1, V::REGISTERS.min(MOST_REGISTERS));
        let (apart, to_apart) = (self.axes[axis].step() * from[axis], self.axes[axis].output_step * to[axis]);
        let lowest = (taps[0].len().saturating_sub(1) as isize * down.stride).max(0) as usize;
        let ahead = Ahead {
            lines: down.step(),
            elements: across.step(),
            first: (lowest + 1) * from[0],
            between: from,
            result: down.output_step * to[0],
            is_far: from[0] * size_of::<T>() > FAR_BYTES,
        };
        let mut done = 0;
        while done < count {
            // The last ones may be computed twice.
            let begin = done.min(count - at_once);
            let element = result + begin * to_apart;
            let sums = Sums {
                // Taps of gradients go backward from there, so it is a pointer into all of the source.
                from: self.source.as_ptr().wrapping_add(source + begin * apart),
                packed: self.packed.as_ptr().wrapping_add(weight),
                taps: [taps[0].len(), taps[1].len()],
                between: [down.stride * from[0] as isize, across.stride * from[1] as isize],
                weights_between: [down.between * self.width * CHANNELS, across.between * CHANNELS],
                apart,
                to_apart,
                ahead,
                to: self.out.wrapping_add(element),
                element,
                channels,
            };
            // SAFETY: the caller's.
            unsafe { self.by_count::<V>(&sums, at_once) };
            done += at_once;
        }
    }

    /// # Safety
    /// As for [`Self::sums`].
    #[inline(always)]
    unsafe fn by_count<V: Vector<Element = T>>(&self, sums: &Sums<T>, count: usize) {
        macro_rules! by_count {
            ($($count:literal)*) => {
                match count {
                    $($count if const { fit($count, 1, V::REGISTERS) } => self.all_channels::<V, $count>(sums),)*
                    _ => unreachable!("most_columns gives no other"),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe { by_count!(1 2 4 6 7 8) }
    }

    /// # Safety
    /// As for [`Self::sums`].
    #[inline(always)]
    unsafe fn all_channels<V: Vector<Element = T>, const COUNT: usize>(&self, of: &Sums<T>) {
        let whole = of.channels - of.channels % V::LANES;
        // SAFETY: the caller's.
        unsafe {
            for channel in (0..whole).step_by(V::LANES) {
                self.sums::<V, true, COUNT>(of, channel);
            }
            if whole < of.channels {
                self.sums::<V, false, COUNT>(of, whole);
            }
        }
    }

    /// The kernel: `COUNT` results of a run, for the register of channels that begins with this one. `WHOLE` says that there are all of
    /// them.
    ///
    /// # Safety
    /// As for [`Self::results`]; the results have these operands.
    #[inline(always)]
    unsafe fn sums<V: Vector<Element = T>, const WHOLE: bool, const COUNT: usize>(
        &self,
        of: &Sums<T>,
        channel: usize,
    ) {
        /// Taps whose loop is unrolled.
        const TAPS: usize = 3;
        let Sums { apart, to_apart, between, weights_between, .. } = *of;
        let (lanes, element) = (of.channels - channel, of.element + channel);
        let (mut line, to) = (of.from.wrapping_add(channel), of.to.wrapping_add(channel));
        let of_block = channel / CHANNELS * self.filters.of_block() + channel % CHANNELS;
        let mut weights = of.packed.wrapping_add(of_block);
        if (channel * size_of::<T>()).is_multiple_of(LINE) {
            of.ahead.fetch::<T, COUNT>((line, apart), (to, to_apart));
        }
        // SAFETY: the caller's; packed filters have whole registers.
        unsafe {
            let mut sums = [[V::splat(T::ZERO)]; COUNT];
            for _ in 0..of.taps[0] {
                let (mut from, mut packed, mut left) = (line, weights, of.taps[1]);
                while left > 0 {
                    let taps = if left >= TAPS { TAPS } else { 1 };
                    let [met, weight] = [between[1], weights_between[1] as isize];
                    tap::<V, WHOLE, COUNT>(&mut sums, from, packed, apart, lanes);
                    if taps == TAPS {
                        for at in 1..TAPS as isize {
                            let (from, packed) =
                                (from.wrapping_offset(at * met), packed.wrapping_offset(at * weight));
                            tap::<V, WHOLE, COUNT>(&mut sums, from, packed, apart, lanes);
                        }
                    }
                    from = from.wrapping_offset(taps as isize * met);
                    packed = packed.wrapping_offset(taps as isize * weight);
                    left -= taps;
                }
                line = line.wrapping_offset(between[0]);
                weights = weights.wrapping_add(weights_between[0]);
            }
            let channels = if WHOLE { V::LANES } else { lanes };
            let endings = self.ending.load_all::<V, 1>(channel, channels);
            endings.store(sums, Stored { to, apart: to_apart, element, elements_apart: to_apart });
        }
    }
}

/// Adds to each sum what its result meets with one tap.
///
/// # Safety
/// The elements and the weights are there; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn tap<V: Vector, const WHOLE: bool, const COUNT: usize>(
    sums: &mut [[V; 1]; COUNT],
    from: *const V::Element,
    packed: *const V::Element,
    apart: usize,
    lanes: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let weight = V::load(packed);
        for (at, [sum]) in sums.iter_mut().enumerate() {
            let from = from.wrapping_add(at * apart);
            *sum = load::<V, WHOLE>(from, lanes).mul_add(weight, *sum);
        }
    }
}
