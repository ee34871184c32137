//! Gradients of images by the tiles of the results: the transpose of the results in the images.
//!
//! Where images have no borders, there are fewer of these tiles than of tiles that the images are cut into: for filters of 5 by 5 elements and results of 8 by 8,
//! 16 instead of 36. What a tile contributes to the elements that it covers is added to what others do, in the order of the tiles.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::transform::{Added, InputGradient, Memory, Patch, Spread, transform};
use super::{POINTS, Tiling};
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::stack;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// Gradients of images.
pub(in super::super) struct Contributions<'a, T> {
    /// The tiles of the results. Its filters go from the channels of the results to those of the images.
    pub(in super::super) tiling: Tiling,
    pub(in super::super) packed: &'a [T],
    /// The gradients of the results.
    pub(in super::super) grad: &'a [T],
    pub(in super::super) out: *mut T,
}

// SAFETY: threads write gradients that do not overlap.
unsafe impl<T: Sync> Sync for Contributions<'_, T> {}

impl<T: Float> Contributions<'_, T> {
    /// Computes all gradients.
    pub(in super::super) fn run(&self, isa: Isa, team: &Team) {
        let Tiling { filters, images, .. } = self.tiling;
        let [down, across] = self.tiling.grid();
        let (of_image, blocks) = (down * across, filters.blocks());
        // Neighbouring tiles add to the same elements, so a piece has whole images.
        let most = (self.tiling.at_once::<T>(filters.inner) / of_image.max(1)).max(1);
        let of_each = images.count.div_ceil(team.threads()).clamp(1, most);
        let pieces = images.count.div_ceil(of_each);
        let at_once = self.tiling.at_once::<T>(filters.inner).min(of_each * of_image);
        let bytes = self.tiling.bytes::<T>(at_once);
        // Each share of the blocks transforms the gradients again.
        let shares = team.threads().div_ceil((pieces * filters.groups).max(1)).min(blocks);
        team.run(filters.groups * pieces * shares, &|index| {
            let (index, share) = (index / shares, index % shares);
            let (group, piece) = (index / pieces, index % pieces);
            let images = [piece * of_each, images.count.min((piece + 1) * of_each)];
            let blocks = [share, share + 1].map(|share| share * blocks / shares);
            stack::lend(bytes, &mut |memory| {
                on_registers(isa, Piece { of: self, group, images, blocks, memory });
            });
        });
    }
}

/// The gradients of some images for some blocks of channels of one group.
struct Piece<'a, T> {
    of: &'a Contributions<'a, T>,
    group: usize,
    images: [usize; 2],
    blocks: [usize; 2],
    /// Memory for the values of tiles, and for their products.
    memory: [*mut T; 2],
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe {
            match self.of.tiling.taps {
                3 => self.compute::<V, 4>(),
                _ => self.compute::<V, 2>(),
            }
        }
    }
}

impl<T: Float> Piece<'_, T> {
    /// # Safety
    /// The machine has the instruction set of `V`; a tile has `STEP` by `STEP` results.
    #[inline(always)]
    unsafe fn compute<V: Vector<Element = T>, const STEP: usize>(&self) {
        let tiling = &self.of.tiling;
        let [down, across] = tiling.grid();
        let [first, end] = self.images.map(|image| image * down * across);
        // SAFETY: the caller's; nobody else uses these gradients.
        unsafe {
            self.clear();
            let at_once = tiling.at_once::<T>(tiling.filters.inner);
            // Parts of the same size.
            let parts = (end - first).div_ceil(at_once);
            for part in 0..parts {
                let tiles = [part, part + 1].map(|part| first + part * (end - first) / parts);
                self.tiles::<V, STEP>(tiles);
            }
        }
    }

    /// # Safety
    /// Nobody else uses the gradients of this piece.
    #[inline(always)]
    unsafe fn clear(&self) {
        let Tiling { filters, images, .. } = &self.of.tiling;
        let [first, end] = self.blocks.map(|block| (block * filters.widest()).min(filters.outer));
        let elements = images.plane();
        let [begin, behind] = self.images.map(|image| image * elements);
        // Where a piece has all channels, its elements are one run.
        let (runs, at_once) = match end - first == images.channels {
            true => (begin..begin + 1, (behind - begin) * images.channels),
            false => (begin..behind, end - first),
        };
        for element in runs {
            let at = element * images.channels + self.group * filters.outer + first;
            // SAFETY: the channels of an element are inside of the gradients.
            unsafe { self.of.out.add(at).write_bytes(0, at_once) };
        }
    }

    /// Adds what some tiles contribute.
    ///
    /// # Safety
    /// As for [`Self::compute`]; nobody else uses the gradients of this piece.
    #[inline(always)]
    unsafe fn tiles<V: Vector<Element = T>, const STEP: usize>(&self, [begin, end]: [usize; 2]) {
        let Contributions { tiling, packed, grad, out } = self.of;
        let Tiling { filters, images, results, .. } = tiling;
        let count = end - begin;
        let depth = filters.inner.next_multiple_of(V::LANES);
        let [values, products] = self.memory;
        // SAFETY: the values of the tiles, and their products with a block, have room; gradients are valid.
        unsafe {
            for tile in 0..count {
                let (image, _, result) = tiling.tile(begin + tile);
                let from = grad[image * results.image() + self.group * filters.inner..].as_ptr();
                Patch::<T, STEP>::new(*results, from, filters.inner, result.map(|at| at as isize))
                    .values::<V, Spread>(values.add(tile * depth), count * depth);
            }
            for block in self.blocks[0]..self.blocks[1] {
                let width = filters.width(block);
                let packed = &packed[self.group * filters.group() + filters.block(block)..];
                tiling.multiply::<V>([values, products], packed, [count, width]);
                let channel = block * filters.widest();
                let channels = (filters.outer - channel).min(width);
                for tile in 0..count {
                    let (image, first, _) = tiling.tile(begin + tile);
                    let out = out.add(image * images.image() + self.group * filters.outer + channel);
                    for lane in (0..channels).step_by(V::LANES) {
                        let point = count * width;
                        let start = products.cast_const().add(tile * width + lane);
                        let from = Memory { start, distances: [POINTS * point, point] };
                        let to = Added {
                            start: out.add(lane),
                            distances: [images.size[1] * images.channels, images.channels],
                            first,
                            size: images.size,
                            channels: channels - lane,
                        };
                        transform::<V, InputGradient, POINTS, POINTS>(&from, &to);
                    }
                }
            }
        }
    }
}
