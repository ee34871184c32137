//! Gradients of filters: sums over images and results.
//!
//! The results are cut into parts, whose number depends on the shapes alone. Each part has a gradient of its own, and
//! these are added up in their order, so bits do not depend on threads. A kernel computes the gradients of some elements
//! of the filters, for a block of filters; its sums stay in registers while it goes over the results of a strip.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::correlate::{Stack, TILE_BYTES};
use super::filters::Filters;
use super::strips::{COPY_BYTES, Strip, Strips};
use super::taps::Taps;
use crate::cpu::images::{Images, Places};
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
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

/// A partial gradient of one group.
struct Part<'a, T> {
    of: &'a FilterGradient<'a, T>,
    group: usize,
    strips: [usize; 2],
    to: *mut T,
}

impl<T: Float> Work<T> for Part<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; nobody else uses this partial gradient.
        unsafe { self.of.part::<V>(self.group, self.strips, self.to) }
    }
}

impl<T: Float> FilterGradient<'_, T> {
    /// Computes the partial gradients.
    pub(super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let strips = self.images.count * self.strips.count();
        team.run(self.filters.groups * parts, &|index| {
            let (part, group) = (index / self.filters.groups, index % self.filters.groups);
            let strips = [part, part + 1].map(|part| part * strips / parts);
            // SAFETY: each index has a partial gradient of its own.
            let to = unsafe { self.parts.add(index * self.filters.group()) };
            on_registers(isa, Part { of: self, group, strips, to });
        });
    }

    /// Computes the partial gradient of one group over some strips.
    ///
    /// # Safety
    /// `to` has room for it, and nobody else uses it; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn part<V: Vector<Element = T>>(&self, group: usize, [first, end]: [usize; 2], to: *mut T) {
        let mut copy = Stack::<COPY_BYTES>::uninit();
        let mut tile = Stack::<TILE_BYTES>::uninit();
        let (copy, tile) = ((&raw mut copy).cast::<T>(), (&raw mut tile).cast::<T>());
        let Filters { inner, outer, .. } = self.filters;
        let (distances, to_channel) = (self.images.distances(), self.results.distances()[0]);
        // SAFETY: the strip's copy, and its gradients for one block, have room.
        unsafe {
            to.write_bytes(0, self.filters.group());
            for index in first..end {
                let (image, index) = (index / self.strips.count(), index % self.strips.count());
                let strip = self.strips.strip(index);
                let source = &self.source[image * self.images.image() + group * inner * distances[0]..];
                self.strips.copy(source.as_ptr(), distances, &strip, copy);
                for block in 0..self.filters.blocks() {
                    let (width, from) = (self.filters.width(block), block * self.filters.widest());
                    let count = (outer - from).min(width);
                    let channel = (group * outer + from) * to_channel;
                    let grad = &self.grad[image * self.results.image() + channel..];
                    gather(self.results.places(1), grad.as_ptr(), [width, count], &strip, tile);
                    self.block::<V>(copy, tile, &strip, width, to.add(from));
                }
            }
        }
    }

    /// Adds what a strip contributes to the gradients of a block of filters.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    #[inline(always)]
    unsafe fn block<V: Vector<Element = T>>(
        &self,
        copy: *const T,
        tile: *const T,
        strip: &Strip,
        width: usize,
        to: *mut T,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let has_runs = self.strips.of_block > 1 && self.filters.inner.is_multiple_of(RUN);
            let count = self.taps.all().len() * self.filters.inner;
            // The compiler makes no copies for registers that the constant excludes.
            if const { V::REGISTERS >= 32 } {
                return match (has_runs, width / V::LANES) {
                    (true, 1) => self.elements::<V, 4, RUN, 1>(copy, tile, strip, to),
                    (true, _) => self.elements::<V, 3, RUN, 2>(copy, tile, strip, to),
                    (false, 1) if count > 14 => self.elements::<V, 27, 1, 1>(copy, tile, strip, to),
                    (false, 1) => self.elements::<V, 14, 1, 1>(copy, tile, strip, to),
                    (false, _) if count <= 9 => self.elements::<V, 9, 1, 2>(copy, tile, strip, to),
                    (false, _) => self.elements::<V, 13, 1, 2>(copy, tile, strip, to),
                };
            }
            match (has_runs, width / V::LANES) {
                (true, 1) => self.elements::<V, 3, RUN, 1>(copy, tile, strip, to),
                (true, _) => self.elements::<V, 1, RUN, 2>(copy, tile, strip, to),
                (false, 1) => self.elements::<V, 12, 1, 1>(copy, tile, strip, to),
                (false, _) => self.elements::<V, 6, 1, 2>(copy, tile, strip, to),
            }
        }
    }

    /// The kernel, for all elements of a block of filters: it computes `AT_ONCE` times `RUN` gradients at once, for `WIDTH`
    /// registers of filters.
    ///
    /// # Safety
    /// `copy` and `tile` have what belongs to the strip; `to` is the partial gradient of the first filter of the block; the
    /// machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn elements<V: Vector<Element = T>, const AT_ONCE: usize, const RUN: usize, const WIDTH: usize>(
        &self,
        copy: *const T,
        tile: *const T,
        [rows, columns]: &Strip,
        to: *mut T,
    ) {
        let (inner, width) = (self.filters.inner, self.filters.width_of_all());
        let runs = inner / RUN;
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
                for row in 0..rows.len() {
                    let mut offset = row * self.strips.row();
                    for _ in 0..columns.len() {
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
