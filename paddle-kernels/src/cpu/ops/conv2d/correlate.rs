//! Results of convolutions, and gradients of images: sums over the channels of an image and the elements of a filter.
//!
//! A kernel computes some neighbouring results of one row, or of two short ones, for some filters at once. Its sums stay in registers while it
//! goes over all channels and all elements of the filters: an element of the image is broadcast, and multiplied by the
//! elements of several filters, which are neighbours in packed filters. Each sum is one chain of multiply-adds, so its
//! bits do not depend on strips or threads.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::axis::Axis;
use super::filters::{Filters, REGISTERS};
use super::strips::{CHANNELS, RESULTS, Strip, Strips};
use super::taps::Taps;
use crate::cpu::epilogue::{Finish, InRegisters, Stored};
use crate::cpu::images::{Images, Places};
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::stack;
use crate::cpu::transpose::separate;
use crate::cpu::vector::{Vector, Work, fetch, on_registers};
use crate::team::Team;

/// Sums over the channels of images and the elements of filters.
pub(super) struct Correlation<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    pub(super) packed: &'a [T],
    pub(super) source: &'a [T],
    /// The images of the source.
    pub(super) images: Images,
    /// The images of the result, of which the strips may be a part.
    pub(super) results: Images,
    pub(super) out: *mut T,
    /// What is computed of results whose channels are neighbours in memory.
    pub(super) ending: InRegisters<T>,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for Correlation<'_, T> {}

/// The most bytes of the results of a strip, for one block of filters: two of the widest registers for each result.
pub(super) const TILE_BYTES: usize = RESULTS * REGISTERS * 64;

/// About so many pieces of work keep a team busy.
pub(super) const PIECES: usize = 8;

/// Where neighbouring results of a block of filters are stored.
#[derive(Clone, Copy)]
struct Place<T> {
    /// The first filter of the first result.
    start: *mut T,
    /// The distances of neighbouring rows and of neighbouring results.
    distances: [usize; 2],
    /// The filters that are stored. The last register of a block may have others, which are not.
    filters: usize,
    /// The channel of the first filter, and the first element among all results, whose neighbouring rows are so far apart.
    begin: [usize; 2],
    row: usize,
}

/// The filters that are asked for while others are multiplied.
#[derive(Clone, Copy)]
struct Ahead {
    /// See [`Filters::next`]; 0 if nothing is asked for.
    distance: isize,
    /// Which of the kernel's calls for the block this is, and of how many. Each asks for an equal part.
    call: [usize; 2],
}

impl Ahead {
    /// The distance for a block of inner channels.
    fn distance(&self, inner: usize) -> isize {
        let [call, calls] = self.call;
        if self.distance != 0 && inner % calls == call { self.distance } else { 0 }
    }
}

/// The results of a strip for some blocks of filters.
struct Piece<'a, T> {
    of: &'a Correlation<'a, T>,
    strip: usize,
    blocks: [usize; 2],
    /// Memory for the copy of the strip, and for its results if their channels are no neighbours.
    memory: [*mut T; 2],
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe { self.of.strip::<V>(self.strip, self.blocks, self.memory) }
    }
}

impl<T: Float> Correlation<'_, T> {
    /// Computes all results, and the epilogue if the channels of a result are neighbours in memory, and computed together:
    /// returns whether they are.
    pub(super) fn run(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        let strips = self.images.count * self.filters.groups * self.strips.count();
        let blocks = self.filters.blocks();
        // Each share of the blocks copies the strip again, which is large where filters are far.
        let pieces = if self.filters.are_far::<T>() { team.threads() } else { PIECES };
        let shares = pieces.div_ceil(strips.max(1)).min(blocks);
        let is_whole = self.results.last && self.filters.groups == 1 && shares <= 1;
        let of_results = if self.results.last { 0 } else { self.strips.results() * self.filters.widest() };
        let bytes = [self.strips.bytes::<T>(), of_results * size_of::<T>()];
        team.run(strips * shares, &|index| {
            let (strip, share) = (index / shares, index % shares);
            let blocks = [share, share + 1].map(|share| share * blocks / shares);
            stack::lend(bytes, &mut |memory| {
                on_registers(isa, Piece { of: self, strip, blocks, memory });
            });
            if is_whole && !finish.is_none() {
                // SAFETY: these results are the strip's own, and are final.
                unsafe { self.finish(strip, finish) };
            }
        });
        is_whole
    }

    /// Computes the epilogue of a strip of forward axes, whose channels are neighbours.
    ///
    /// # Safety
    /// The results are final, and nobody else uses them.
    unsafe fn finish(&self, index: usize, finish: Finish<'_>) {
        let (image, index) = (index / self.strips.count(), index % self.strips.count());
        let [rows, columns] = self.strips.strip(index);
        let Images { channels, size: [height, width], .. } = self.results;
        let part = |first: usize, count: usize| {
            let first = (image * height * width + first) * channels;
            // SAFETY: the caller's.
            unsafe { finish.part(self.out, first..first + count * channels) };
        };
        match columns.len() == width {
            true => part(rows.start * width, rows.len() * width),
            false => rows.for_each(|row| part(row * width + columns.start, columns.len())),
        }
    }

    /// Computes the results of a strip for some blocks of filters.
    ///
    /// # Safety
    /// Both memories have room; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn strip<V: Vector<Element = T>>(
        &self,
        index: usize,
        [first, end]: [usize; 2],
        [copy, tile]: [*mut T; 2],
    ) {
        let (image, index) = (index / self.strips.count(), index % self.strips.count());
        let (image, group) = (image / self.filters.groups, image % self.filters.groups);
        let strip = self.strips.strip(index);
        let [rows, columns] = strip.clone().map(|range| range.len());
        let from = self.images.distances();
        let source = &self.source[image * self.images.image() + group * self.strips.channels * from[0]..];
        let ([to_channel, _], [down, across]) = (self.results.distances(), self.strips.axes);
        // SAFETY: the strip's copy, and its results for one block, have room; results are inside of the output.
        unsafe {
            self.strips.copy(source.as_ptr(), from, &strip, copy);
            let is_far = self.filters.are_far::<T>();
            for block in first..end {
                let width = self.filters.width(block);
                let packed = &self.packed[group * self.filters.group() + self.filters.block(block)..];
                let at_once = most_columns(columns, width / V::LANES, V::REGISTERS);
                let outer = block * self.filters.widest();
                let channel = group * self.filters.outer + outer;
                let count = (self.filters.outer - outer).min(width);
                // Filters are read from a far cache for each few results.
                let of_pair = self.strips.of_block == CHANNELS
                    && at_once == columns
                    && is_paired(columns, width / V::LANES, V::REGISTERS);
                let lines = if of_pair { rows.div_ceil(2) } else { rows };
                let call = [0, lines * columns.div_ceil(at_once)];
                let distance = if is_far { self.filters.next(block, [first, end]) } else { 0 };
                let mut ahead = Ahead { distance, call };
                let mut row = 0;
                while row < rows {
                    let y = down.output(strip[0].start + row);
                    let copy = copy.cast_const().add(row * self.strips.row());
                    let rows_at_once = if of_pair && row + 2 <= rows { 2 } else { 1 };
                    let mut done = 0;
                    while done < columns {
                        // The last ones may be computed twice.
                        let column = done.min(columns - at_once);
                        let from = copy.add(column * self.strips.of_block);
                        let x = across.output(strip[1].start + column);
                        let element = image * self.results.image()
                            + (y * self.results.size[1] + x) * self.results.channels
                            + channel;
                        // Channels that are no neighbours are brought to their places behind the kernel.
                        let [to_row, to_result] =
                            [down.output_step * self.results.size[1], across.output_step]
                                .map(|step| step * self.results.channels);
                        let (start, distances) = match self.results.last {
                            true => (self.out.add(element), [to_row, to_result]),
                            false => (tile.add((row * columns + column) * width), [columns * width, width]),
                        };
                        let begin = [channel, element];
                        let place = Place { start, distances, filters: count, begin, row: to_row };
                        let (at_once, packed) = ([rows_at_once, at_once], (packed.as_ptr(), ahead));
                        match self.strips.of_block {
                            1 => self.results::<V, 1>(at_once, from, packed, width, place),
                            _ => self.results::<V, CHANNELS>(at_once, from, packed, width, place),
                        }
                        ahead.call[0] += 1;
                        done += at_once[1];
                    }
                    row += rows_at_once;
                }
                if !self.results.last {
                    let out = self.out.add(image * self.results.image() + channel * to_channel);
                    store(self.strips.axes, self.results.places(1), tile, [width, count], &strip, out);
                }
            }
        }
    }

    /// Computes `count` neighbouring results of some rows for a block of filters that is `width` wide, from a copy with `OF_BLOCK`
    /// channels in a block.
    ///
    /// # Safety
    /// As for [`Self::block`].
    #[inline(always)]
    unsafe fn results<V: Vector<Element = T>, const OF_BLOCK: usize>(
        &self,
        [rows, count]: [usize; 2],
        from: *const T,
        packed: (*const T, Ahead),
        width: usize,
        place: Place<T>,
    ) {
        macro_rules! by_count {
            ($($rows:literal, $registers:literal: $($count:literal)*;)*) => {
                match (rows, width / V::LANES, count) {
                    $($(
                        ($rows, $registers, $count)
                            if const { fit($rows * $count, $registers, V::REGISTERS) && ($rows == 1 || OF_BLOCK > 1) } =>
                        {
                            self.block::<V, OF_BLOCK, $rows, $count, $registers>(from, packed, place)
                        }
                    )*)*
                    _ => unreachable!("most_columns and is_paired give no other"),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe {
            by_count! {
                1, 1: 1 2 4 6 7 8 10 12 14 16 24 28;
                1, 2: 1 2 4 6 7 8 10 12 14;
                2, 2: 4 6 7;
            }
        }
    }

    /// The kernel: `COLUMNS` results of each of `ROWS` rows for `WIDTH` registers of filters, their sums held in registers.
    ///
    /// # Safety
    /// `from` points at the first row of a copy and at the first of the results, `packed` at the block of packed filters; the results
    /// have such a place. The machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn block<
        V: Vector<Element = T>,
        const OF_BLOCK: usize,
        const ROWS: usize,
        const COLUMNS: usize,
        const WIDTH: usize,
    >(
        &self,
        from: *const T,
        (packed, ahead): (*const T, Ahead),
        place: Place<T>,
    ) {
        let width = WIDTH * V::LANES;
        let Place { start, distances: [to_row, distance], filters, begin: [channel, element], row: of_row } =
            place;
        // SAFETY: the copy has all that the results meet, and the packed filters all that they are multiplied by.
        unsafe {
            // Results of large images are in no cache.
            if self.results.last {
                for row in 0..ROWS {
                    for column in 0..COLUMNS {
                        for w in 0..WIDTH {
                            fetch(start.wrapping_add(row * to_row + column * distance + w * V::LANES));
                        }
                    }
                }
            }
            let of_copy = self.strips.row();
            let mut sums = [[[V::splat(T::ZERO); WIDTH]; COLUMNS]; ROWS];
            for inner in 0..self.strips.channels.div_ceil(OF_BLOCK) {
                let channels = self.filters.channels(inner);
                let from = from.add(inner * self.strips.block());
                let packed = packed.add(self.filters.element(width, inner, 0));
                let ahead = ahead.distance(inner);
                for tap in self.taps.all() {
                    let mut weights = packed.add(tap.element * channels * width);
                    let mut from = from.add(tap.met);
                    for _ in 0..channels {
                        let mut weight = [V::splat(T::ZERO); WIDTH];
                        for (w, weight) in weight.iter_mut().enumerate() {
                            *weight = V::load(weights.add(w * V::LANES));
                            fetch(weights.wrapping_add(w * V::LANES).wrapping_offset(ahead));
                        }
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let from = from.add(row * of_copy);
                            for (column, sums) in sums.iter_mut().enumerate() {
                                let value = V::splat(*from.add(column * OF_BLOCK));
                                for (weight, sum) in weight.iter().zip(sums) {
                                    *sum = value.mul_add(*weight, *sum);
                                }
                            }
                        }
                        weights = weights.add(width);
                        from = from.add(1);
                    }
                }
            }
            let endings = self.ending.load_all::<V, WIDTH>(channel, filters);
            for (row, sums) in sums.into_iter().enumerate() {
                let stored = Stored {
                    to: start.add(row * to_row),
                    apart: distance,
                    element: element + row * of_row,
                    elements_apart: self.results.channels,
                };
                endings.store(sums, stored);
            }
        }
    }
}

/// Copies the results of a strip, which are `width` apart in `tile`, to `count` channels of an image, of which `out` is the
/// first.
///
/// # Safety
/// The results are inside of `tile` and of the image.
#[inline(always)]
pub(super) unsafe fn store<T: Float>(
    [down, across]: [Axis; 2],
    to: Places,
    tile: *const T,
    [width, count]: [usize; 2],
    [rows, columns]: &Strip,
    out: *mut T,
) {
    for (row, y) in rows.clone().enumerate() {
        let y = down.output_first + y * down.output_step;
        let x = across.output_first + columns.start * across.output_step;
        let distances = [to.channel, to.element * across.output_step];
        // SAFETY: the caller's.
        unsafe {
            let from = tile.add(row * columns.len() * width);
            let to = out.add((y * to.width + x) * to.element);
            separate(from, width, to, distances, count, columns.len());
        }
    }
}

/// Whether there are registers for the sums of `count` results, for elements of filters, and for the element of the image.
pub(super) const fn fit(count: usize, width: usize, registers: usize) -> bool {
    (count + 1) * width < registers
}

/// Whether a kernel computes two rows of so many results at once, for blocks of `width` registers.
const fn is_paired(columns: usize, width: usize, registers: usize) -> bool {
    matches!(columns, 4 | 6 | 7) && width == 2 && fit(2 * columns, width, registers)
}

/// The number of neighbouring results that a kernel computes at once, for blocks of `width` registers.
#[inline]
pub(super) fn most_columns(columns: usize, width: usize, registers: usize) -> usize {
    match width {
        1 => cheapest([28, 24, 16, 14, 12, 10, 8, 7, 6, 4, 2, 1], columns, 1, registers),
        _ => cheapest([14, 12, 10, 8, 7, 6, 4, 2, 1], columns, 2, registers),
    }
}

/// The first of these counts that takes the least time. They are constants where this is inlined, so nothing is divided.
#[inline(always)]
fn cheapest<const COUNTS: usize>(
    counts: [usize; COUNTS],
    columns: usize,
    width: usize,
    registers: usize,
) -> usize {
    let (mut least, mut best) = (usize::MAX, 1);
    for count in counts {
        // A step of the kernel takes its multiply-adds, its loads, or the time of one multiply-add. Filters come from the second cache.
        let step = (count * width).max(count + width).max(8) + width;
        let cost = columns.div_ceil(count) * step;
        if count <= columns && fit(count, width, registers) && cost < least {
            (least, best) = (cost, count);
        }
    }
    best
}
