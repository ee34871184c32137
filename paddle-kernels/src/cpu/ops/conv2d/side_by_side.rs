//! Convolutions whose groups have few channels: each lane of a register is a group.
//!
//! A kernel computes neighbouring results of one row, for as many groups as there are lanes. Each result is one chain of
//! multiply-adds over the channels of a group that are summed over, and over the elements of the filter. Groups of one channel
//! and one filter, with the channels as the fastest axis, are computed where they are ([`Neighbours`], and `sliding` for common
//! windows); others in copies that have the same channel of all groups side by side.
#![allow(unsafe_code, reason = "computes with vectors")]

mod groups;
mod in_place_gradient;
mod neighbours;
mod sliding;
mod sliding_gradient;

use std::iter;
use std::ops::Range;

pub(super) use self::groups::Groups;
pub(super) use self::in_place_gradient::InPlaceGradient;
pub(super) use self::neighbours::Neighbours;
use super::correlate::{TILE_BYTES, fit, most_columns};
use super::filters::add_parts;
use super::strips::{CHANNELS, Strips};
use super::taps::Taps;
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::stack;
use crate::cpu::transpose::transpose;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The most channels, and the most filters, of a group. With more, a group by itself fills a register.
const FEW: usize = 15;
/// With fewer groups, most lanes would be empty.
const GROUPS: usize = 4;

/// Filters of groups of few channels. Packed filters have for each block of groups, each filter of a group and each of its
/// channels the elements, and for each of these the groups.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    pub(super) groups: usize,
    /// The channels of a group.
    pub(super) channels: usize,
    /// The filters of a group.
    pub(super) filters: usize,
    /// The elements of a filter.
    pub(super) elements: usize,
}

impl Filters {
    /// Whether at least as many lanes have work if they are groups as if they are the channels of one group.
    pub(super) fn fill_registers(&self) -> bool {
        let widest = self.channels.max(self.filters);
        let lanes = |count: usize| count.next_multiple_of(CHANNELS);
        let has_elements = self.of_block() > 0;
        has_elements
            && self.groups >= GROUPS
            && widest <= FEW
            && self.groups * lanes(widest) >= widest * lanes(self.groups)
    }

    pub(super) fn blocks(&self) -> usize {
        self.groups.div_ceil(CHANNELS)
    }

    /// The groups of a block.
    fn groups_of(&self, block: usize) -> usize {
        (self.groups - block * CHANNELS).min(CHANNELS)
    }

    /// The elements of packed filters.
    pub(super) fn packed(&self) -> usize {
        self.blocks() * self.of_block()
    }

    /// The elements of the packed filters of a block of groups.
    fn of_block(&self) -> usize {
        self.filters * self.channels * self.of_pair()
    }

    /// The packed elements of a filter and a channel of each group of a block.
    fn of_pair(&self) -> usize {
        self.elements * CHANNELS
    }

    pub(super) fn pack<T: Float>(&self, filters: &[T], packed: &mut [T]) {
        let of_group = self.filters * self.channels * self.elements;
        let blocks = packed.chunks_exact_mut(self.of_block()).zip(filters.chunks(CHANNELS * of_group));
        for (to, from) in blocks {
            let groups = from.len() / of_group;
            if groups < CHANNELS {
                to.fill(T::ZERO);
            }
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            for pair in 0..self.filters * self.channels {
                // SAFETY: reads the elements of a filter and a channel of each group, which are `of_group` apart.
                unsafe {
                    let (from, to) = (from.add(pair * self.elements), to.add(pair * self.of_pair()));
                    transpose(from, of_group, to, CHANNELS, self.elements, groups);
                }
            }
        }
    }

    /// Adds up partial gradients, each packed like filters, in their order. The first becomes the sum.
    pub(super) fn unpack<T: Float>(&self, isa: Isa, team: &Team, parts: &mut [T], filters: &mut [T]) {
        add_parts(isa, team, parts, self.packed());
        let of_group = self.filters * self.channels * self.elements;
        let blocks = parts.chunks_exact(self.of_block()).zip(filters.chunks_mut(CHANNELS * of_group));
        for (from, to) in blocks {
            let groups = to.len() / of_group;
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            for pair in 0..self.filters * self.channels {
                // SAFETY: writes the elements of a filter and a channel of each group, which are `of_group` apart.
                unsafe {
                    let (from, to) = (from.add(pair * self.of_pair()), to.add(pair * self.elements));
                    transpose(from, CHANNELS, to, of_group, groups, self.elements);
                }
            }
        }
    }
}

/// The distances of neighbouring rows, and of neighbours in a row, of images with the channels as the fastest axis.
fn apart(images: Images) -> [usize; 2] {
    [images.size[1] * images.channels, images.channels]
}

/// Rows that are counted through images of so many: each image, and its rows among them.
fn by_image(rows: Range<usize>, of_image: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut row = rows.start;
    iter::from_fn(move || {
        (row < rows.end).then(|| {
            let (image, start) = (row / of_image, row % of_image);
            let end = of_image.min(start + rows.end - row);
            row += end - start;
            (image, start..end)
        })
    })
}

/// Loads a register of channels: of all of them if it is `WHOLE`, or else of so many.
///
/// # Safety
/// These elements are there; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn load<V: Vector, const WHOLE: bool>(from: *const V::Element, count: usize) -> V {
    // SAFETY: the caller's.
    unsafe { if WHOLE { V::load(from) } else { V::load_partial(from, count) } }
}

/// Some results of a strip, of all filters of a block of groups, whose sums have room.
#[derive(Clone, Copy)]
struct Part {
    /// The first of them in the strip, and how many there are, down and across.
    first: [usize; 2],
    size: [usize; 2],
}

impl Part {
    /// The rows and columns of the largest part of a strip, if each result has so many channels of each group.
    fn largest<T>(channels: usize, [rows, columns]: [usize; 2]) -> [usize; 2] {
        let most = (TILE_BYTES / (channels * CHANNELS * size_of::<T>())).max(1);
        [(most / columns).clamp(1, rows), most.min(columns)]
    }

    /// The distance of neighbouring channels of a group.
    fn apart(&self) -> usize {
        self.size[0] * self.size[1] * CHANNELS
    }
}

/// Sums over the channels of groups and the elements of filters: of images for results, and of gradients of results for those
/// of images, where the filters of a group are its channels.
pub(super) struct SideBySide<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    /// Whether gradients of images are computed.
    pub(super) backward: bool,
    pub(super) packed: &'a [T],
    pub(super) source: &'a [T],
    pub(super) images: Images,
    pub(super) results: Images,
    pub(super) out: *mut T,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for SideBySide<'_, T> {}

/// The results of one strip for a block of groups.
struct Piece<'a, T> {
    of: &'a SideBySide<'a, T>,
    index: usize,
    /// Memory for the copy of the strip, and for the sums of a part of it.
    memory: [*mut T; 2],
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe { self.of.strip::<V>(self.index, self.memory) }
    }
}

impl<T: Float> SideBySide<'_, T> {
    /// Computes all results.
    pub(super) fn run(&self, isa: Isa, team: &Team) {
        let work = self.images.count * self.filters.blocks() * self.strips.count();
        let bytes = [self.strips.bytes::<T>(), TILE_BYTES];
        team.run(work, &|index| {
            stack::lend(bytes, &mut |memory| {
                on_registers(isa, Piece { of: self, index, memory });
            });
        });
    }

    /// The channels of a group that are summed over, and those of a result.
    fn channels(&self) -> [usize; 2] {
        let Filters { channels, filters, .. } = self.filters;
        if self.backward { [filters, channels] } else { [channels, filters] }
    }

    /// The distances, in packed filters, of what neighbours among these are multiplied by.
    fn packed_distances(&self) -> [usize; 2] {
        let of_pair = self.filters.of_pair();
        let of_filter = self.filters.channels * of_pair;
        if self.backward { [of_filter, of_pair] } else { [of_pair, of_filter] }
    }

    /// Computes the results of a strip for a block of groups.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn strip<V: Vector<Element = T>>(&self, index: usize, [copy, tile]: [*mut T; 2]) {
        let (index, block) = (index / self.filters.blocks(), index % self.filters.blocks());
        let (image, strip) = (index / self.strips.count(), self.strips.strip(index % self.strips.count()));
        let [inner, outer] = self.channels();
        let groups = self.filters.groups_of(block);
        let from = Groups::new(self.images, groups, inner);
        let to = Groups::new(self.results, groups, outer);
        let source = self.source[image * self.images.image() + block * CHANNELS * from.group..].as_ptr();
        let out = self.out.wrapping_add(image * self.results.image() + block * CHANNELS * to.group);
        let packed = self.packed[block * self.filters.of_block()..].as_ptr();
        let [down, across] = self.strips.axes;
        let [high, wide] = [0, 1].map(|axis| strip[axis].len());
        let [rows, columns] = Part::largest::<T>(outer, [high, wide]);
        // SAFETY: the strip's copy, and the sums of a part of it, have room; results are inside of the output.
        unsafe {
            if groups < CHANNELS {
                copy.write_bytes(0, inner * self.strips.block());
            }
            self.strips.copy_groups(source, from, &strip, copy);
            for top in (0..high).step_by(rows) {
                for left in (0..wide).step_by(columns) {
                    let size = [rows.min(high - top), columns.min(wide - left)];
                    let part = Part { first: [top, left], size };
                    self.sums::<V>(&part, copy, packed, tile);
                    for row in 0..part.size[0] {
                        let y = down.output(strip[0].start + top + row);
                        let x = across.output(strip[1].start + left);
                        let out = out.add((y * self.results.size[1] + x) * to.element);
                        let line = tile.add(row * part.size[1] * CHANNELS);
                        to.separate(line, part.apart(), out, across.output_step, part.size[1]);
                    }
                }
            }
        }
    }

    /// Computes the sums of a part of a strip.
    ///
    /// # Safety
    /// `copy` belongs to the strip, and `tile` has room; `packed` points at the filters of the block; the machine has the
    /// instruction set of `V`.
    #[inline(always)]
    unsafe fn sums<V: Vector<Element = T>>(
        &self,
        part: &Part,
        copy: *const T,
        packed: *const T,
        tile: *mut T,
    ) {
        let Part { first: [top, left], size: [rows, columns] } = *part;
        let ([_, outer], [_, outer_distance]) = (self.channels(), self.packed_distances());
        for row in 0..rows {
            let copy = copy.wrapping_add((top + row) * self.strips.row() + left * CHANNELS);
            let tile = tile.wrapping_add(row * columns * CHANNELS);
            for lane in (0..CHANNELS).step_by(V::LANES) {
                let mut channel = 0;
                while channel < outer {
                    let both = const { V::REGISTERS >= 32 } && channel + 2 <= outer;
                    // SAFETY: the sums are inside of the tile.
                    unsafe {
                        let packed = packed.add(channel * outer_distance + lane);
                        let (from, to) = (copy.add(lane), tile.add(channel * part.apart() + lane));
                        match both {
                            true => self.line::<V, 2>(columns, from, packed, to, part.apart()),
                            false => self.line::<V, 1>(columns, from, packed, to, part.apart()),
                        }
                    }
                    channel += if both { 2 } else { 1 };
                }
            }
        }
    }

    /// Computes the sums of a line of results, for a register of groups and `COUNT` channels of a result.
    ///
    /// # Safety
    /// As for [`Self::block`].
    #[inline(always)]
    unsafe fn line<V: Vector<Element = T>, const COUNT: usize>(
        &self,
        columns: usize,
        from: *const T,
        packed: *const T,
        to: *mut T,
        apart: usize,
    ) {
        let mut done = 0;
        while done < columns {
            // SAFETY: the caller's.
            unsafe {
                let (from, to) = (from.add(done * CHANNELS), to.add(done * CHANNELS));
                match columns - done {
                    8.. => self.block::<V, 8, COUNT>(from, packed, to, apart),
                    4.. => self.block::<V, 4, COUNT>(from, packed, to, apart),
                    2.. => self.block::<V, 2, COUNT>(from, packed, to, apart),
                    _ => self.block::<V, 1, COUNT>(from, packed, to, apart),
                }
            }
            done += match columns - done {
                8.. => 8,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
        }
    }

    /// The kernel: `COLUMNS` neighbouring results for a register of groups, of `COUNT` channels of each group, `apart` in `to`.
    ///
    /// # Safety
    /// `from` points at the row of a copy and at the first of the results, `packed` at the filters, `to` at the sums; the
    /// machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn block<V: Vector<Element = T>, const COLUMNS: usize, const COUNT: usize>(
        &self,
        from: *const T,
        packed: *const T,
        to: *mut T,
        apart: usize,
    ) {
        let [inner, _] = self.channels();
        let [inner_distance, outer_distance] = self.packed_distances();
        // SAFETY: the copy has all that the results meet.
        unsafe {
            let mut sums = [[V::splat(T::ZERO); COUNT]; COLUMNS];
            for channel in 0..inner {
                let from = from.add(channel * self.strips.block());
                let packed = packed.add(channel * inner_distance);
                for tap in self.taps.all() {
                    let mut weights = [V::splat(T::ZERO); COUNT];
                    for (k, weight) in weights.iter_mut().enumerate() {
                        *weight = V::load(packed.add(k * outer_distance + tap.element * CHANNELS));
                    }
                    let from = from.add(tap.met);
                    for (column, sums) in sums.iter_mut().enumerate() {
                        let value = V::load(from.add(column * CHANNELS));
                        for (weight, sum) in weights.iter().zip(sums) {
                            *sum = value.mul_add(*weight, *sum);
                        }
                    }
                }
            }
            for (column, sums) in sums.iter().enumerate() {
                for (k, sum) in sums.iter().enumerate() {
                    sum.store(to.add(k * apart + column * CHANNELS));
                }
            }
        }
    }
}

/// The elements of the filter whose gradients a kernel computes at once.
const AT_ONCE: usize = 9;

/// Gradients of the filters of groups of few channels: sums over images and results, in parts whose number depends on the
/// shapes alone.
pub(super) struct SideBySideGradient<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    pub(super) source: &'a [T],
    pub(super) images: Images,
    /// The gradients of the results.
    pub(super) grad: &'a [T],
    pub(super) results: Images,
    /// The partial gradients, each packed like filters.
    pub(super) parts: *mut T,
}

// SAFETY: threads write partial gradients that do not overlap.
unsafe impl<T: Sync> Sync for SideBySideGradient<'_, T> {}

/// A partial gradient of a block of groups.
struct PartialGradient<'a, T> {
    of: &'a SideBySideGradient<'a, T>,
    part: usize,
    block: usize,
    strips: [usize; 2],
    /// Memory for the copy of a strip, and for the gradients of a part of it.
    memory: [*mut T; 2],
}

impl<T: Float> Work<T> for PartialGradient<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; each part and block has a partial gradient of its own.
        unsafe { self.of.part::<V>(self.part, self.block, self.strips, self.memory) }
    }
}

impl<T: Float> SideBySideGradient<'_, T> {
    /// Computes `parts` partial gradients.
    pub(super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let strips = self.images.count * self.strips.count();
        team.run(self.filters.blocks() * parts, &|index| {
            let (part, block) = (index / self.filters.blocks(), index % self.filters.blocks());
            let strips = [part, part + 1].map(|part| part * strips / parts);
            stack::lend([self.strips.bytes::<T>(), TILE_BYTES], &mut |memory| {
                on_registers(isa, PartialGradient { of: self, part, block, strips, memory });
            });
        });
    }

    /// Computes the partial gradients of a block of groups over some strips.
    ///
    /// # Safety
    /// Nobody else uses these partial gradients; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn part<V: Vector<Element = T>>(
        &self,
        part: usize,
        block: usize,
        [first, end]: [usize; 2],
        [copy, tile]: [*mut T; 2],
    ) {
        let Filters { channels, filters, .. } = self.filters;
        let groups = self.filters.groups_of(block);
        let from = Groups::new(self.images, groups, channels);
        let of_grad = Groups::new(self.results, groups, filters);
        // SAFETY: the strip's copy, and the gradients of a part of it, have room; the partial gradients are inside of the
        // part.
        unsafe {
            let to = self.parts.add(part * self.filters.packed() + block * self.filters.of_block());
            to.write_bytes(0, self.filters.of_block());
            if groups < CHANNELS {
                copy.write_bytes(0, channels * self.strips.block());
                tile.write_bytes(0, TILE_BYTES / size_of::<T>());
            }
            for index in first..end {
                let (image, index) = (index / self.strips.count(), index % self.strips.count());
                let strip = self.strips.strip(index);
                let source = &self.source[image * self.images.image() + block * CHANNELS * from.group..];
                self.strips.copy_groups(source.as_ptr(), from, &strip, copy);
                let grad = &self.grad[image * self.results.image() + block * CHANNELS * of_grad.group..];
                let [high, wide] = [0, 1].map(|axis| strip[axis].len());
                let [rows, columns] = Part::largest::<T>(filters, [high, wide]);
                for top in (0..high).step_by(rows) {
                    for left in (0..wide).step_by(columns) {
                        let size = [rows.min(high - top), columns.min(wide - left)];
                        let part = Part { first: [top, left], size };
                        for row in 0..part.size[0] {
                            let (y, x) = (strip[0].start + top + row, strip[1].start + left);
                            let grad = grad.as_ptr().add((y * self.results.size[1] + x) * of_grad.element);
                            let line = tile.add(row * part.size[1] * CHANNELS);
                            of_grad.interleave(grad, 1, line, part.apart(), part.size[1]);
                        }
                        self.pairs::<V>(&part, copy, tile, to);
                    }
                }
            }
        }
    }

    /// Adds what a part of a strip contributes to the gradients of all filters and channels of a block of groups.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    #[inline(always)]
    unsafe fn pairs<V: Vector<Element = T>>(&self, part: &Part, copy: *const T, tile: *const T, to: *mut T) {
        let Filters { channels, filters, .. } = self.filters;
        let of_pair = self.filters.of_pair();
        let Part { first: [top, left], .. } = *part;
        for channel in 0..channels {
            let copy =
                copy.wrapping_add(channel * self.strips.block() + top * self.strips.row() + left * CHANNELS);
            let mut filter = 0;
            while filter < filters {
                let both = const { V::REGISTERS >= 32 } && filter + 2 <= filters;
                // SAFETY: the caller's.
                unsafe {
                    let tile = tile.add(filter * part.apart());
                    let to = to.add((filter * channels + channel) * of_pair);
                    match both {
                        true => self.elements::<V, 2>(part, copy, tile, to),
                        false => self.elements::<V, 1>(part, copy, tile, to),
                    }
                }
                filter += if both { 2 } else { 1 };
            }
        }
    }

    /// Adds what a part of a strip contributes to the gradients of `COUNT` filters of each group and one of its channels.
    ///
    /// # Safety
    /// `copy` and `tile` have what belongs to the part; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn elements<V: Vector<Element = T>, const COUNT: usize>(
        &self,
        part: &Part,
        copy: *const T,
        tile: *const T,
        to: *mut T,
    ) {
        let [rows, columns] = part.size;
        let of_filter = self.filters.channels * self.filters.of_pair();
        for taps in self.taps.all().chunks(AT_ONCE) {
            for lane in (0..CHANNELS).step_by(V::LANES) {
                // SAFETY: the elements are inside of the copy and of the partial gradient. The last element stands in for
                // those that there are none of.
                unsafe {
                    let (mut from, mut to_of) = ([copy; AT_ONCE], [to; AT_ONCE]);
                    let mut sums = [[V::splat(T::ZERO); COUNT]; AT_ONCE];
                    for at in 0..AT_ONCE {
                        let tap = taps[at.min(taps.len() - 1)];
                        from[at] = copy.add(tap.met + lane);
                        to_of[at] = to.add(tap.element * CHANNELS + lane);
                        for (k, sum) in sums[at].iter_mut().enumerate() {
                            *sum = V::load(to_of[at].add(k * of_filter));
                        }
                    }
                    let mut grad = tile.add(lane);
                    for row in 0..rows {
                        let mut offset = row * self.strips.row();
                        for _ in 0..columns {
                            let mut grads = [V::splat(T::ZERO); COUNT];
                            for (k, register) in grads.iter_mut().enumerate() {
                                *register = V::load(grad.add(k * part.apart()));
                            }
                            for (from, sums) in from.iter().zip(&mut sums) {
                                let value = V::load(from.add(offset));
                                for (grad, sum) in grads.iter().zip(sums) {
                                    *sum = value.mul_add(*grad, *sum);
                                }
                            }
                            grad = grad.add(CHANNELS);
                            offset += CHANNELS;
                        }
                    }
                    for (sums, to) in sums.iter().zip(to_of).take(taps.len()) {
                        for (k, sum) in sums.iter().enumerate() {
                            sum.store(to.add(k * of_filter));
                        }
                    }
                }
            }
        }
    }
}
