//! Convolutions whose groups have one channel: each lane of a register is a group.
//!
//! A kernel computes neighbouring results of one row, for as many groups as there are channels in a block of a copy. Each
//! result is one chain of multiply-adds over the elements of the filter, and over the filters of the group if they are
//! summed over.
#![allow(unsafe_code, reason = "computes with vectors")]

mod in_place_gradient;
mod neighbours;

pub(super) use self::in_place_gradient::InPlaceGradient;
pub(super) use self::neighbours::Neighbours;
use super::correlate::{Stack, TILE_BYTES, fit, most_columns, store};
use super::gradient::gather;
use super::strips::{CHANNELS, COPY_BYTES, Strip, Strips};
use super::taps::Taps;
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The most filters of a group. With more, a group by itself fills a register.
pub(super) const FILTERS: usize = 4;
/// With fewer groups, most lanes would be empty.
pub(super) const GROUPS: usize = 4;

/// Filters of groups of one channel. Packed filters have for each block of groups and each filter of a group the elements,
/// and for each of these the groups.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    pub(super) groups: usize,
    /// The filters of a group.
    pub(super) filters: usize,
    /// The elements of a filter.
    pub(super) elements: usize,
}

impl Filters {
    pub(super) fn blocks(&self) -> usize {
        self.groups.div_ceil(CHANNELS)
    }

    /// The groups of a block.
    fn groups_of(&self, block: usize) -> usize {
        (self.groups - block * CHANNELS).min(CHANNELS)
    }

    /// The elements of packed filters.
    pub(super) fn packed(&self) -> usize {
        self.blocks() * self.filters * self.elements * CHANNELS
    }

    /// Where the elements of a filter of each group of a block begin among packed filters.
    fn at(&self, block: usize, filter: usize) -> usize {
        (block * self.filters + filter) * self.elements * CHANNELS
    }

    /// For each packed element, its place among filters; none in lanes without a group.
    fn places(&self) -> impl Iterator<Item = Option<usize>> {
        let Filters { groups, filters, elements } = *self;
        (0..self.packed()).map(move |at| {
            let (rest, lane) = (at / CHANNELS, at % CHANNELS);
            let (rest, element) = (rest / elements, rest % elements);
            let (block, filter) = (rest / filters, rest % filters);
            let group = block * CHANNELS + lane;
            (group < groups).then_some((group * filters + filter) * elements + element)
        })
    }

    pub(super) fn pack<T: Float>(&self, filters: &[T], packed: &mut [T]) {
        for (to, place) in packed.iter_mut().zip(self.places()) {
            *to = place.map_or(T::ZERO, |place| filters[place]);
        }
    }

    /// Adds up partial gradients, each packed like filters, in their order.
    pub(super) fn unpack<T: Float>(&self, parts: &[T], filters: &mut [T]) {
        for (at, place) in self.places().enumerate() {
            if let Some(place) = place {
                let parts = parts.chunks_exact(self.packed());
                filters[place] = parts.fold(T::ZERO, |sum, part| sum + part[at]);
            }
        }
    }
}

/// Sums over the elements of filters, and over the filters of a group: of images for results, and of gradients of results
/// for those of images.
pub(super) struct Depthwise<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    /// Whether filters of a group are summed over; otherwise each is a channel of the result.
    pub(super) sums: bool,
    pub(super) packed: &'a [T],
    pub(super) source: &'a [T],
    pub(super) images: Images,
    pub(super) results: Images,
    pub(super) out: *mut T,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for Depthwise<'_, T> {}

/// The results of one strip for a block of groups.
struct Piece<'a, T> {
    of: &'a Depthwise<'a, T>,
    index: usize,
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe { self.of.strip::<V>(self.index) }
    }
}

impl<T: Float> Depthwise<'_, T> {
    /// Computes all results.
    pub(super) fn run(&self, isa: Isa, team: &Team) {
        let work = self.images.count * self.filters.blocks() * self.strips.count();
        team.run(work, &|index| on_registers(isa, Piece { of: self, index }));
    }

    /// Computes the results of a strip for a block of groups.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn strip<V: Vector<Element = T>>(&self, index: usize) {
        let (index, block) = (index / self.filters.blocks(), index % self.filters.blocks());
        let (image, strip) = (index / self.strips.count(), self.strips.strip(index % self.strips.count()));
        let Filters { filters, .. } = self.filters;
        let groups = self.filters.groups_of(block);
        let [inner, outer] = if self.sums { [filters, 1] } else { [1, filters] };
        let [from, to] = [self.images, self.results].map(Images::distances);
        let source = &self.source[image * self.images.image() + block * CHANNELS * inner * from[0]..];
        let mut copy = Stack::<COPY_BYTES>::uninit();
        let mut tile = Stack::<TILE_BYTES>::uninit();
        let (copy, tile) = ((&raw mut copy).cast::<T>(), (&raw mut tile).cast::<T>());
        let strips = self.strips.with_channels(groups);
        let out = self.out.wrapping_add(image * self.results.image() + block * CHANNELS * outer * to[0]);
        // SAFETY: the strip's copy, and its results for one filter of each group, have room; results are inside of the
        // output.
        unsafe {
            clear::<T>(&strips, copy);
            for filter in 0..filters {
                if self.sums || filter == 0 {
                    let first = if self.sums { filter } else { 0 };
                    strips.copy(
                        source.as_ptr().add(first * from[0]),
                        [inner * from[0], from[1]],
                        &strip,
                        copy,
                    );
                }
                let packed = self.packed[self.filters.at(block, filter)..].as_ptr();
                self.rows::<V>(&strip, copy, packed, tile, self.sums && filter > 0);
                if !self.sums {
                    let out = out.add(filter * to[0]);
                    store(
                        self.strips.axes,
                        self.results.places(outer),
                        tile,
                        [CHANNELS, groups],
                        &strip,
                        out,
                    );
                }
            }
            if self.sums {
                store(self.strips.axes, self.results.places(1), tile, [CHANNELS, groups], &strip, out);
            }
        }
    }

    /// Computes the results of a strip for one filter of each group, or adds to them.
    ///
    /// # Safety
    /// `copy` and `tile` belong to the strip; `packed` points at the filters; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn rows<V: Vector<Element = T>>(
        &self,
        [rows, columns]: &Strip,
        copy: *const T,
        packed: *const T,
        tile: *mut T,
        adds: bool,
    ) {
        let (rows, columns) = (rows.len(), columns.len());
        let at_once = most_columns(columns, 1, V::REGISTERS).min(MOST_COLUMNS);
        for (row, lane) in
            (0..rows).flat_map(|row| (0..CHANNELS).step_by(V::LANES).map(move |lane| (row, lane)))
        {
            let mut done = 0;
            while done < columns {
                let count = at_once.min(columns - done);
                // SAFETY: the results are inside of the strip.
                unsafe {
                    let from = copy.add(row * self.strips.row() + done * CHANNELS + lane);
                    let (packed, to) = (packed.add(lane), tile.add((row * columns + done) * CHANNELS + lane));
                    match count {
                        8.. => self.block::<V, 8>(from, packed, to, adds),
                        4.. => self.block::<V, 4>(from, packed, to, adds),
                        2.. => self.block::<V, 2>(from, packed, to, adds),
                        _ => self.block::<V, 1>(from, packed, to, adds),
                    }
                }
                done += match count {
                    8.. => 8,
                    4.. => 4,
                    2.. => 2,
                    _ => 1,
                };
            }
        }
    }

    /// The kernel: `COLUMNS` neighbouring results for a register of groups.
    ///
    /// # Safety
    /// `from` points at the row of a copy and at the first of the results, `packed` at the filters, `to` at the results; the
    /// machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn block<V: Vector<Element = T>, const COLUMNS: usize>(
        &self,
        from: *const T,
        packed: *const T,
        to: *mut T,
        adds: bool,
    ) {
        // SAFETY: the copy has all that the results meet.
        unsafe {
            let mut sums = [V::splat(T::ZERO); COLUMNS];
            if adds {
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(to.add(column * CHANNELS));
                }
            }
            for tap in self.taps.all() {
                let weight = V::load(packed.add(tap.element * CHANNELS));
                let from = from.add(tap.met);
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(from.add(column * CHANNELS)).mul_add(weight, *sum);
                }
            }
            for (column, sum) in sums.iter().enumerate() {
                sum.store(to.add(column * CHANNELS));
            }
        }
    }
}

/// Fills a copy with zeros if it has lanes without a channel: kernels compute with these.
///
/// # Safety
/// `copy` has room for a copy of the strips.
#[inline(always)]
unsafe fn clear<T: Float>(strips: &Strips, copy: *mut T) {
    if strips.channels < CHANNELS {
        // SAFETY: a copy has one block.
        unsafe { copy.write_bytes(0, strips.block()) };
    }
}

/// The most results that a kernel computes at once.
const MOST_COLUMNS: usize = 8;
/// The elements of the filter whose gradients a kernel computes at once.
const AT_ONCE: usize = 9;

/// Gradients of the filters of groups of one channel: sums over images and results, in parts whose number depends on the
/// shapes alone.
pub(super) struct DepthwiseGradient<'a, T> {
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
unsafe impl<T: Sync> Sync for DepthwiseGradient<'_, T> {}

/// A partial gradient of a block of groups.
struct Part<'a, T> {
    of: &'a DepthwiseGradient<'a, T>,
    part: usize,
    block: usize,
    strips: [usize; 2],
}

impl<T: Float> Work<T> for Part<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; each part and block has a partial gradient of its own.
        unsafe { self.of.part::<V>(self.part, self.block, self.strips) }
    }
}

impl<T: Float> DepthwiseGradient<'_, T> {
    /// Computes `parts` partial gradients.
    pub(super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let strips = self.images.count * self.strips.count();
        team.run(self.filters.blocks() * parts, &|index| {
            let (part, block) = (index / self.filters.blocks(), index % self.filters.blocks());
            let strips = [part, part + 1].map(|part| part * strips / parts);
            on_registers(isa, Part { of: self, part, block, strips });
        });
    }

    /// Computes the partial gradients of a block of groups over some strips.
    ///
    /// # Safety
    /// Nobody else uses these partial gradients; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn part<V: Vector<Element = T>>(&self, part: usize, block: usize, [first, end]: [usize; 2]) {
        let Filters { filters, elements, .. } = self.filters;
        let groups = self.filters.groups_of(block);
        let [from, of_grad] = [self.images, self.results].map(Images::distances);
        let mut copy = Stack::<COPY_BYTES>::uninit();
        let mut tile = Stack::<TILE_BYTES>::uninit();
        let (copy, tile) = ((&raw mut copy).cast::<T>(), (&raw mut tile).cast::<T>());
        let strips = self.strips.with_channels(groups);
        // SAFETY: the strip's copy, and its gradients for one filter of each group, have room; the partial gradients are
        // inside of the part.
        unsafe {
            let to = self.parts.add(part * self.filters.packed() + self.filters.at(block, 0));
            to.write_bytes(0, filters * elements * CHANNELS);
            clear::<T>(&strips, copy);
            for index in first..end {
                let (image, index) = (index / self.strips.count(), index % self.strips.count());
                let strip = self.strips.strip(index);
                let source = &self.source[image * self.images.image() + block * CHANNELS * from[0]..];
                strips.copy(source.as_ptr(), from, &strip, copy);
                for filter in 0..filters {
                    let channel = (block * CHANNELS * filters + filter) * of_grad[0];
                    let grad = &self.grad[image * self.results.image() + channel..];
                    let results = self.results.places(filters);
                    gather(results, grad.as_ptr(), [CHANNELS, groups], &strip, tile);
                    self.elements::<V>(copy, tile, &strip, to.add(filter * elements * CHANNELS));
                }
            }
        }
    }

    /// Adds what a strip contributes to the gradients of one filter of each group.
    ///
    /// # Safety
    /// `copy` and `tile` have what belongs to the strip; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn elements<V: Vector<Element = T>>(
        &self,
        copy: *const T,
        tile: *const T,
        [rows, columns]: &Strip,
        to: *mut T,
    ) {
        for taps in self.taps.all().chunks(AT_ONCE) {
            for lane in (0..CHANNELS).step_by(V::LANES) {
                // SAFETY: the elements are inside of the copy and of the partial gradient. The last element stands in for
                // those that there are none of.
                unsafe {
                    let (mut from, mut to_of) = ([copy; AT_ONCE], [to; AT_ONCE]);
                    let mut sums = [V::splat(T::ZERO); AT_ONCE];
                    for at in 0..AT_ONCE {
                        let tap = taps[at.min(taps.len() - 1)];
                        from[at] = copy.add(tap.met + lane);
                        to_of[at] = to.add(tap.element * CHANNELS + lane);
                        sums[at] = V::load(to_of[at]);
                    }
                    let mut grad = tile.add(lane);
                    for row in 0..rows.len() {
                        let mut offset = row * self.strips.row();
                        for _ in 0..columns.len() {
                            let register = V::load(grad);
                            for (from, sum) in from.iter().zip(&mut sums) {
                                *sum = V::load(from.add(offset)).mul_add(register, *sum);
                            }
                            grad = grad.add(CHANNELS);
                            offset += CHANNELS;
                        }
                    }
                    for (sum, to) in sums.iter().zip(to_of).take(taps.len()) {
                        sum.store(to);
                    }
                }
            }
        }
    }
}
