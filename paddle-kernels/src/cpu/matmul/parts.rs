//! Products of many rows and columns whose left factor is stored as its transpose: gradients of matrices. Neighbours in a row of A are
//! far apart in memory there. They meet in the same sets of the first-level cache, and leave it before the next rows read theirs; and the
//! other factor would come from memory once more for every few rows. So a part of both factors is brought together before it is multiplied.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::factor::Near;
use super::{Grid, Matmul, Operand, Panels, Product};
use crate::cpu::isa::Isa;
use crate::cpu::vector::Factor;

/// The rows of A, and the columns of B, that are packed together.
const ROWS: usize = 64;
const COLUMNS: usize = 128;
/// The distances of two packed columns of A and rows of B. They are no powers of two, so they lie in different sets of the cache.
const LEFT_STEP: usize = ROWS + 16;
const RIGHT_STEP: usize = COLUMNS + 16;
/// A part of k, in bytes of a row.
const DEPTH: usize = 1024;
/// Packing pays from so many elements in a row on.
const LONG: usize = 128;

/// Room for a part of a factor.
#[repr(align(64))]
struct Room<const STEP: usize>(
    #[allow(dead_code, reason = "written and read through its pointer")] MaybeUninit<[[u8; STEP]; DEPTH]>,
);

impl Matmul {
    /// Whether parts of both factors are packed.
    pub(super) fn packs_parts(&self) -> bool {
        self.trans_a && self.k >= LONG && self.m >= 2 * ROWS && self.n >= COLUMNS
    }
}

impl Grid {
    /// For a product that packs parts of its factors: few columns, and as many rows as leave something to do for all threads.
    pub(super) fn of_packed_parts(m: usize, n: usize, threads: usize) -> Grid {
        let (bands, across) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS));
        let most = if threads == 1 { bands } else { bands * across / (2 * threads) };
        let together = most.clamp(1, bands.max(1));
        Grid { m, n, tile_rows: together * ROWS, tile_columns: COLUMNS }
    }
}

impl<T: Factor> Product<T, Operand<T>> {
    /// Computes a tile of C on this thread, part by part.
    ///
    /// # Safety
    /// As for [`compute`](Product::compute); the tile is one of [`Grid::of_packed_parts`].
    // The memory of its parts would be on the stack of whatever it were inlined into, for small products, too.
    #[inline(never)]
    pub(super) unsafe fn compute_in_parts(&self, isa: Isa, rows: Range<usize>, columns: Range<usize>) {
        let mut memory =
            (Room::<LEFT_STEP>(MaybeUninit::uninit()), Room::<RIGHT_STEP>(MaybeUninit::uninit()));
        let (left, right) = ((&raw mut memory.0).cast::<T>(), (&raw mut memory.1).cast::<T>());
        let parts = self.k.div_ceil(DEPTH / size_of::<T>());
        let depth = self.k.div_ceil(parts);
        assert!(columns.len() <= COLUMNS);
        for part in 0..parts {
            let inner = part * depth..self.k.min((part + 1) * depth);
            let accumulate = self.accumulate || part > 0;
            // SAFETY: the part is inside of both factors, and fits into the memory, which products read at these rows and columns alone.
            unsafe {
                self.b.pack_on(isa, right, RIGHT_STEP, inner.clone(), columns.clone());
                for first in rows.clone().step_by(ROWS) {
                    let rows = first..rows.end.min(first + ROWS);
                    self.a.transposed().pack_on(isa, left, LEFT_STEP, inner.clone(), rows.clone());
                    let a =
                        Operand { start: left.wrapping_sub(first).cast_const(), row: 1, column: LEFT_STEP };
                    let b = Near::new(right.wrapping_sub(columns.start).cast_const(), RIGHT_STEP);
                    let product = Product { k: inner.len(), a, b, c: self.c, c_row: self.c_row, accumulate };
                    product.compute(isa, rows, columns.clone());
                }
            }
        }
    }
}
