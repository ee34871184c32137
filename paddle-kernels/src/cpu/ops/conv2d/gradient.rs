//! Gradients of filters: sums over images and results.
//!
//! The results are cut into parts, whose number depends on the shapes alone. Each part has a gradient of its own, and
//! these are added up in their order, so bits do not depend on threads. A kernel computes the gradients of some elements
//! of the filters, for a block of filters; its sums stay in registers while it goes over the results of a strip.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::correlate::{Stack, TILE_BYTES};
use super::filters::Filters;
use super::strips::{CHANNELS, COPY_BYTES, Strip, Strips};
use super::taps::Taps;
use crate::cpu::isa::{Isa, Level};
use crate::cpu::number::Float;
use crate::cpu::transpose::transpose;
use crate::cpu::vector::Vector;
use crate::team::Team;

/// Sums of products of images and gradients of results.
pub(super) struct FilterGradient<'a, T> {
    pub(super) strips: Strips,
    pub(super) taps: Taps,
    pub(super) filters: Filters,
    /// The images: for each image and group, the channels.
    pub(super) source: &'a [T],
    /// The gradients of the results, likewise.
    pub(super) grad: &'a [T],
    pub(super) images: usize,
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

impl<T: Float> FilterGradient<'_, T> {
    /// Computes the partial gradients.
    pub(super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let strips = self.images * self.strips.count();
        team.run(self.filters.groups * parts, &|index| {
            let (part, group) = (index / self.filters.groups, index % self.filters.groups);
            let strips = [part, part + 1].map(|part| part * strips / parts);
            // SAFETY: an `Isa` exists only where the machine has it; each index has a partial gradient of its own.
            unsafe {
                let to = self.parts.add(index * self.filters.group());
                match isa.level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => self.part_avx512(group, strips, to),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => self.part_avx2(group, strips, to),
                    Level::Portable => self.part::<T::Portable>(group, strips, to),
                }
            }
        });
    }

    /// # Safety
    /// As for [`Self::part`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    unsafe fn part_avx512(&self, group: usize, strips: [usize; 2], to: *mut T) {
        // SAFETY: this function is compiled for these registers; the caller ensures the rest.
        unsafe { self.part::<T::Avx512>(group, strips, to) }
    }

    /// # Safety
    /// As for [`Self::part`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn part_avx2(&self, group: usize, strips: [usize; 2], to: *mut T) {
        // SAFETY: this function is compiled for these registers; the caller ensures the rest.
        unsafe { self.part::<T::Avx2>(group, strips, to) }
    }

    /// Computes the partial gradient of one group over some strips.
    ///
    /// # Safety
    /// `to` has room for it, and nobody else uses it; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn part<V: Vector<Element = T>>(&self, group: usize, [first, end]: [usize; 2], to: *mut T) {
        let mut copy = Stack::<COPY_BYTES>::new();
        let mut tile = Stack::<TILE_BYTES>::new();
        let (copy, tile) = ((&raw mut copy).cast::<T>(), (&raw mut tile).cast::<T>());
        let Filters { groups, inner, outer, .. } = self.filters;
        let [down, across] = self.strips.axes;
        let (source, result) = (down.source * across.source, down.count * across.count);
        // SAFETY: the strip's copy, and its gradients for one block, have room.
        unsafe {
            to.write_bytes(0, self.filters.group());
            for index in first..end {
                let (image, index) = (index / self.strips.count(), index % self.strips.count());
                let (planes, strip) = (image * groups + group, self.strips.strip(index));
                self.strips.copy(&self.source[planes * inner * source..][..inner * source], &strip, copy);
                for block in 0..self.filters.blocks() {
                    let (width, from) = (self.filters.width(block), block * self.filters.widest());
                    let count = (outer - from).min(width);
                    let grad = &self.grad[(planes * outer + from) * result..][..count * result];
                    self.gather(grad, count, width, &strip, tile);
                    self.block::<V>(copy, tile, &strip, width, to.add(from));
                }
            }
        }
    }

    /// Brings the gradients of a strip to the order in which results have the channels as neighbours.
    ///
    /// # Safety
    /// `to` has room for `width` elements for each result of the strip.
    #[inline(always)]
    unsafe fn gather(&self, grad: &[T], count: usize, width: usize, [rows, columns]: &Strip, to: *mut T) {
        let [down, across] = self.strips.axes;
        for (row, y) in rows.clone().enumerate() {
            let from = &grad[y * across.count + columns.start..];
            // SAFETY: the elements of a row are inside of each plane.
            unsafe {
                let to = to.add(row * columns.len() * width);
                transpose(from.as_ptr(), down.count * across.count, to, width, columns.len(), count);
                for column in 0..columns.len() {
                    to.add(column * width + count).write_bytes(0, width - count);
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
        let wide = V::REGISTERS >= 32;
        // SAFETY: the caller's.
        unsafe {
            match (self.filters.inner.is_multiple_of(RUN), width / V::LANES) {
                (true, 1) if wide => self.elements::<V, 4, RUN, 1>(copy, tile, strip, to),
                (true, 1) => self.elements::<V, 3, RUN, 1>(copy, tile, strip, to),
                (true, _) if wide => self.elements::<V, 3, RUN, 2>(copy, tile, strip, to),
                (true, _) => self.elements::<V, 1, RUN, 2>(copy, tile, strip, to),
                (false, 1) => self.elements::<V, 8, 1, 1>(copy, tile, strip, to),
                (false, _) if wide => self.elements::<V, 8, 1, 2>(copy, tile, strip, to),
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
                    from[at] =
                        copy.add(tap.met + channel / CHANNELS * self.strips.block() + channel % CHANNELS);
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
                        offset += CHANNELS;
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

/// Neighbouring channels whose gradients are computed at once, if their number is a multiple of it.
const RUN: usize = 4;
