//! Gradients of filters: sums over images and results.
//!
//! The results are cut into parts, whose number depends on the shapes alone. Each part has a gradient of its own, and
//! these are added up in their order, so bits do not depend on threads. A kernel computes the gradients of some elements
//! of the filters, for a block of filters; its sums stay in registers while it goes over the results of some strips. So the
//! sums of large filters are not fetched and stored again for each few results, there are several strips of small images at
//! once, of as many channels as their copies have room for.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::axis::Axis;
use super::filters::Filters;
use super::strips::{CHANNELS, COPY_BYTES, RESULTS, Strip, Strips};
use super::taps::Taps;
use crate::cpu::images::{Images, Places};
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::stack;
use crate::cpu::transpose::interleave;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// Sums of products of images and gradients of results.
pub(super) struct FilterGradient<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    pub(super) source: &'a [T],
    /// The images of the source.
    pub(super) images: Images,
    /// The gradients of the results.
    pub(super) grad: &'a [T],
    /// The images of the gradients.
    pub(super) results: Images,
    /// The partial gradients: for each part, group, element of the filter and inner channel, the outer channels.
    pub(super) parts: *mut T,
    /// How many strips are gone over at once.
    pub(super) at_once: usize,
}

// SAFETY: threads write partial gradients that do not overlap.
unsafe impl<T: Sync> Sync for FilterGradient<'_, T> {}

/// The most parts.
const PARTS: usize = 8;
/// The most elements of all partial gradients.
const ELEMENTS: usize = 1 << 22;

/// The number of parts for strips of all images, with `elements` elements each.
pub(super) fn parts(strips: usize, elements: usize) -> usize {
    strips.min(PARTS).min(ELEMENTS / elements.max(1)).max(1)
}

/// The most strips that are gone over at once.
const STRIPS: usize = 64;
/// With so many results at once, fetching and storing sums takes little of the time.
const ENOUGH: usize = 128;

/// Strips of as many channels as have room beside each other, and how many strips: enough for [`ENOUGH`] results, or all of
/// them. `pieces` is the least number of strips of an image, if there can be as many.
pub(super) fn strips_at_once<T>(
    axes: [Axis; 2],
    channels: usize,
    pieces: usize,
    images: usize,
) -> Option<(Strips, usize)> {
    let mut found = None;
    let mut of_chunk = channels;
    loop {
        if let Some(strips) = Strips::new::<T>(axes, of_chunk, Some(pieces)) {
            let results = strips.results();
            let room = COPY_BYTES / (strips.elements() * size_of::<T>()).max(1);
            let all = images * strips.count();
            let at_once = (RESULTS / results.max(1)).min(room).min(all).clamp(1, STRIPS);
            let is_enough = at_once * results >= ENOUGH || at_once == all;
            // Fewer channels are no better if they do not make it enough.
            if is_enough || found.is_none() {
                found = Some((strips, at_once));
            }
            if is_enough {
                break;
            }
        }
        if of_chunk <= CHANNELS {
            break;
        }
        of_chunk = (of_chunk / 2).next_multiple_of(CHANNELS);
    }
    found
}

/// A partial gradient of some channels of one group.
struct Part<'a, T> {
    of: &'a FilterGradient<'a, T>,
    group: usize,
    chunk: usize,
    strips: [usize; 2],
    to: *mut T,
    /// Memory for copies of strips, and for the gradients of their results.
    memory: [*mut T; 2],
}

/// Strips that are gone over at once: their rows and columns.
struct Sizes {
    sizes: [[usize; 2]; STRIPS],
    count: usize,
}

impl<T: Float> Work<T> for Part<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; nobody else uses this partial gradient.
        unsafe { self.of.part::<V>(self.group, self.chunk, self.strips, self.to, self.memory) }
    }
}

impl<T: Float> FilterGradient<'_, T> {
    /// Computes the partial gradients.
    pub(super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let strips = self.images.count * self.strips.count();
        let chunks = self.filters.inner.div_ceil(self.strips.channels);
        let of_results = self.strips.results() * self.filters.widest() * size_of::<T>();
        let bytes = [self.strips.bytes::<T>(), of_results].map(|bytes| self.at_once * bytes);
        team.run(self.filters.groups * parts * chunks, &|index| {
            let (index, chunk) = (index / chunks, index % chunks);
            let (part, group) = (index / self.filters.groups, index % self.filters.groups);
            let strips = [part, part + 1].map(|part| part * strips / parts);
            // SAFETY: each index has channels of a partial gradient of its own.
            let to = unsafe { self.parts.add(index * self.filters.group()) };
            stack::lend(bytes, &mut |memory| {
                on_registers(isa, Part { of: self, group, chunk, strips, to, memory });
            });
        });
    }

    /// Computes the partial gradient of some channels of one group over some strips.
    ///
    /// # Safety
    /// `to` has room for the gradient of the group, and nobody else uses that of these channels; the machine has the
    /// instruction set of `V`.
    #[inline(always)]
    unsafe fn part<V: Vector<Element = T>>(
        &self,
        group: usize,
        chunk: usize,
        [first, end]: [usize; 2],
        to: *mut T,
        [copy, tile]: [*mut T; 2],
    ) {
        let Filters { inner, outer, .. } = self.filters;
        let (distances, to_channel) = (self.images.distances(), self.results.distances()[0]);
        let (begin, of_copy, width_of_all) =
            (chunk * self.strips.channels, self.strips.elements(), self.filters.width_of_all());
        let strips = self.strips.with_channels(self.strips.channels.min(inner - begin));
        // SAFETY: the copies of strips, and their gradients for one block, have room.
        unsafe {
            for element in 0..self.filters.elements() {
                let to = to.add((element * inner + begin) * width_of_all);
                to.write_bytes(0, strips.channels * width_of_all);
            }
            let mut index = first;
            while index < end {
                let mut sizes = Sizes { sizes: [[0; 2]; STRIPS], count: self.at_once.min(end - index) };
                for (at, size) in sizes.sizes[..sizes.count].iter_mut().enumerate() {
                    let (image, strip) = self.strip(index + at);
                    *size = [strip[0].len(), strip[1].len()];
                    let channel = (group * inner + begin) * distances[0];
                    let source = &self.source[image * self.images.image() + channel..];
                    strips.copy(source.as_ptr(), distances, &strip, copy.add(at * of_copy));
                }
                for block in 0..self.filters.blocks() {
                    let (width, from) = (self.filters.width(block), block * self.filters.widest());
                    let count = (outer - from).min(width);
                    let channel = (group * outer + from) * to_channel;
                    let mut results = tile;
                    for (at, size) in sizes.sizes[..sizes.count].iter().enumerate() {
                        let (image, strip) = self.strip(index + at);
                        let grad = &self.grad[image * self.results.image() + channel..];
                        gather(self.results.places(1), grad.as_ptr(), [width, count], &strip, results);
                        results = results.add(size[0] * size[1] * width);
                    }
                    let to = to.add(begin * width_of_all + from);
                    self.block::<V>(strips.channels, copy, tile, &sizes, width, to);
                }
                index += sizes.count;
            }
        }
    }

    /// The image of a strip, and the strip.
    #[inline(always)]
    fn strip(&self, index: usize) -> (usize, Strip) {
        (index / self.strips.count(), self.strips.strip(index % self.strips.count()))
    }

    /// Adds what strips contribute to the gradients of some channels of a block of filters.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    #[inline(always)]
    unsafe fn block<V: Vector<Element = T>>(
        &self,
        channels: usize,
        copy: *const T,
        tile: *const T,
        sizes: &Sizes,
        width: usize,
        to: *mut T,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let has_runs = self.strips.of_block > 1 && channels.is_multiple_of(RUN);
            let count = self.taps.all().len() * channels;
            // The compiler makes no copies for registers that the constant excludes.
            if const { V::REGISTERS >= 32 } {
                return match (has_runs, width / V::LANES) {
                    (true, 1) => self.elements::<V, 4, RUN, 1>(channels, copy, tile, sizes, to),
                    (true, _) => self.elements::<V, 3, RUN, 2>(channels, copy, tile, sizes, to),
                    (false, 1) if count > 14 => self.elements::<V, 27, 1, 1>(channels, copy, tile, sizes, to),
                    (false, 1) => self.elements::<V, 14, 1, 1>(channels, copy, tile, sizes, to),
                    (false, _) if count <= 9 => self.elements::<V, 9, 1, 2>(channels, copy, tile, sizes, to),
                    (false, _) => self.elements::<V, 13, 1, 2>(channels, copy, tile, sizes, to),
                };
            }
            match (has_runs, width / V::LANES) {
                (true, 1) => self.elements::<V, 3, RUN, 1>(channels, copy, tile, sizes, to),
                (true, _) => self.elements::<V, 1, RUN, 2>(channels, copy, tile, sizes, to),
                (false, 1) => self.elements::<V, 12, 1, 1>(channels, copy, tile, sizes, to),
                (false, _) => self.elements::<V, 6, 1, 2>(channels, copy, tile, sizes, to),
            }
        }
    }

    /// The kernel, for all elements of some channels of a block of filters: it computes `AT_ONCE` times `RUN` gradients at
    /// once, for `WIDTH` registers of filters.
    ///
    /// # Safety
    /// `copy` and `tile` have what belongs to the strips; `to` is the partial gradient of the first filter of the block and the
    /// first of the channels; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn elements<V: Vector<Element = T>, const AT_ONCE: usize, const RUN: usize, const WIDTH: usize>(
        &self,
        channels: usize,
        copy: *const T,
        tile: *const T,
        sizes: &Sizes,
        to: *mut T,
    ) {
        let (inner, width) = (self.filters.inner, self.filters.width_of_all());
        let (runs, of_copy) = (channels / RUN, self.strips.elements());
        let taps = self.taps.all();
        let count = taps.len() * runs;
        let mut first = 0;
        while first < count {
            // SAFETY: the elements are inside of the copy and of the partial gradient.
            unsafe {
                let (mut from, mut sum_at) = ([copy; AT_ONCE], [to; AT_ONCE]);
                for at in 0..AT_ONCE {
                    // The last one stands in for those that there are none of.
                    let index = (first + at).min(count - 1);
                    let (tap, channel) = (taps[index / runs], index % runs * RUN);
                    let of_block = self.strips.of_block;
                    let channel_at = channel / of_block * self.strips.block() + channel % of_block;
                    from[at] = copy.add(tap.met + channel_at);
                    sum_at[at] = to.add((tap.element * inner + channel) * width);
                }
                let mut sums = [[[V::splat(T::ZERO); WIDTH]; RUN]; AT_ONCE];
                for (sums, at) in sums.iter_mut().zip(sum_at) {
                    for (channel, sums) in sums.iter_mut().enumerate() {
                        for (w, sum) in sums.iter_mut().enumerate() {
                            *sum = V::load(at.add(channel * width + w * V::LANES));
                        }
                    }
                }
                let mut grad = tile;
                for (at, [rows, columns]) in sizes.sizes[..sizes.count].iter().enumerate() {
                    for row in 0..*rows {
                        let mut offset = at * of_copy + row * self.strips.row();
                        for _ in 0..*columns {
                            let mut grads = [V::splat(T::ZERO); WIDTH];
                            for (w, register) in grads.iter_mut().enumerate() {
                                *register = V::load(grad.add(w * V::LANES));
                            }
                            for (from, sums) in from.iter().zip(&mut sums) {
                                for (channel, sums) in sums.iter_mut().enumerate() {
                                    let value = V::splat(*from.add(offset + channel));
                                    for (grad, sum) in grads.iter().zip(sums) {
                                        *sum = value.mul_add(*grad, *sum);
                                    }
                                }
                            }
                            grad = grad.add(WIDTH * V::LANES);
                            offset += self.strips.of_block;
                        }
                    }
                }
                for (sums, at) in sums.iter().zip(sum_at).take(count - first) {
                    for (channel, sums) in sums.iter().enumerate() {
                        for (w, sum) in sums.iter().enumerate() {
                            sum.store(at.add(channel * width + w * V::LANES));
                        }
                    }
                }
            }
            first += AT_ONCE;
        }
    }
}

/// Brings `count` channels of the results of a strip side by side, `width` elements for each result. `from` is the first of
/// the channels.
///
/// # Safety
/// `from` has these channels of an image, and `to` has room.
#[inline(always)]
pub(super) unsafe fn gather<T: Float>(
    places: Places,
    from: *const T,
    [width, count]: [usize; 2],
    [rows, columns]: &Strip,
    to: *mut T,
) {
    let Places { width: across, channel, element } = places;
    for (row, y) in rows.clone().enumerate() {
        // SAFETY: the elements of a row are inside of each channel.
        unsafe {
            let from = from.add((y * across + columns.start) * element);
            let to = to.add(row * columns.len() * width);
            interleave(from, [channel, element], to, width, count, columns.len());
            for column in 0..columns.len() {
                to.add(column * width + count).write_bytes(0, width - count);
            }
        }
    }
}

/// Neighbouring channels whose gradients are computed at once, if their number is a multiple of it.
const RUN: usize = 4;
