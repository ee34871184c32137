//! Products at one point: from the channels of tiles to those of filters.
#![allow(unsafe_code, reason = "computes with vectors")]

use crate::cpu::vector::{Element, Vector};

/// The products of tiles and a block of filters at one point.
#[derive(Clone, Copy)]
pub(super) struct Product<T> {
    /// The first channel of the first tile.
    pub(super) from: *const T,
    /// The distance of neighbouring tiles.
    pub(super) distance: usize,
    /// The channels that are summed over.
    pub(super) depth: usize,
    /// For each of these channels, the filters of the block.
    pub(super) packed: *const T,
    /// For each tile, the products with the filters of the block.
    pub(super) to: *mut T,
}

impl<T> Product<T> {
    /// The products of the tiles from `tile` on, with blocks of `width` filters.
    #[inline(always)]
    pub(super) fn behind(self, tile: usize, width: usize) -> Self {
        let from = self.from.wrapping_add(tile * self.distance);
        Product { from, to: self.to.wrapping_add(tile * width), ..self }
    }
}

/// Computes the products of `tiles` tiles with a block of `width` registers.
///
/// # Safety
/// The operands are valid; the machine has the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn product<V: Vector>(operands: Product<V::Element>, tiles: usize, width: usize) {
    macro_rules! by_count {
        ($($registers:literal: $($count:literal)*;)*) => {
            match (width, tiles) {
                $($(($registers, $count) => block::<V, $count, $registers>(operands),)*)*
                _ => unreachable!("most_columns gives no other"),
            }
        };
    }
    // SAFETY: the caller's.
    unsafe {
        by_count! {
            1: 1 2 4 6 7 8 10 12 14 16 24 28;
            2: 1 2 4 6 7 8 10 12 14;
        }
    }
}

/// # Safety
/// As for [`product`].
#[inline(always)]
unsafe fn block<V: Vector, const TILES: usize, const WIDTH: usize>(operands: Product<V::Element>) {
    let Product { from, distance, depth, packed, to } = operands;
    let width = WIDTH * V::LANES;
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); WIDTH]; TILES];
        let (mut weights, mut from) = (packed, from);
        for _ in 0..depth {
            let mut weight = [V::splat(V::Element::ZERO); WIDTH];
            for (w, weight) in weight.iter_mut().enumerate() {
                *weight = V::load(weights.add(w * V::LANES));
            }
            for (tile, sums) in sums.iter_mut().enumerate() {
                let value = V::splat(*from.add(tile * distance));
                for (weight, sum) in weight.iter().zip(sums) {
                    *sum = value.mul_add(*weight, *sum);
                }
            }
            weights = weights.add(width);
            from = from.add(1);
        }
        for (tile, sums) in sums.iter().enumerate() {
            for (w, sum) in sums.iter().enumerate() {
                sum.store(to.add(tile * width + w * V::LANES));
            }
        }
    }
}
