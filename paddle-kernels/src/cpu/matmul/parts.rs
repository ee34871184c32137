//! Products of many rows and columns whose left factor is stored as its transpose: gradients of matrices. Neighbours in a row of A are
//! far apart in memory there. They meet in the same sets of the first-level cache, and leave it before the next rows read theirs; and the
//! other factor would come from memory once more for every few rows. So a part of both factors is brought together before it is multiplied.
//! While it is, the kernel asks for the next one.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::ops::Range;

use super::factor::Panels;
use super::kernel::{Coming, Product, Walks};
use super::packed::Packed;
use super::{Grid, Matmul, Operand, PANEL_WIDTH};
use crate::cpu::isa::Isa;
use crate::cpu::stack;
use crate::cpu::vector::Factor;

/// The rows of A, and the columns of B, that are packed together.
const ROWS: usize = 64;
const COLUMNS: usize = 512;
/// The distance of two packed columns of A. It is no power of two, so they lie in different sets of the cache.
const LEFT_STEP: usize = ROWS + 16;
/// A part of k, in bytes of a row.
const DEPTH: usize = 512;
/// Packing pays from so many elements in a row, and so many columns on.
const LONG: usize = 128;
const WIDE: usize = 128;

impl Matmul {
    /// Whether parts of both factors are packed.
    pub(super) fn packs_parts(&self) -> bool {
        self.trans_a && self.k >= LONG && self.m >= 2 * ROWS && self.n >= WIDE
    }

    /// The tiles of a product that packs parts of its factors.
    pub(super) fn grid_of_parts<T>(&self, threads: usize) -> Grid {
        Grid::of_columns::<T>([self.m, self.n], COLUMNS, ROWS, threads)
    }
}

impl<T: Factor> Product<T, Operand<T>> {
    /// Computes a tile of C on this thread, part by part.
    ///
    /// # Safety
    /// As for [`compute`](Product::compute); the tile is one of [`Matmul::grid_of_parts`].
    pub(super) unsafe fn compute_in_parts(&self, isa: Isa, rows: Range<usize>, columns: Range<usize>) {
        let width = columns.len().next_multiple_of(PANEL_WIDTH / size_of::<T>());
        let parts = self.k.div_ceil(DEPTH / size_of::<T>());
        let depth = self.k.div_ceil(parts);
        let bytes = [LEFT_STEP, width].map(|row| row * depth * size_of::<T>());
        stack::lend::<T, 2>(bytes, &mut |[left, right]| {
            for part in 0..parts {
                let inner = part * depth..self.k.min((part + 1) * depth);
                let accumulate = self.accumulate || part > 0;
                // SAFETY: the part is inside of B, and there is memory for its panels.
                let b = unsafe { Packed::pack(isa, self.b, inner.clone(), columns.clone(), right) };
                for first in rows.clone().step_by(ROWS) {
                    let some = first..rows.end.min(first + ROWS);
                    let a =
                        Operand { start: left.wrapping_sub(first).cast_const(), row: 1, column: LEFT_STEP };
                    let product = Product { k: inner.len(), a, b, c: self.c, c_row: self.c_row, accumulate };
                    let coming = self.part_behind(&rows, &some, &inner, &columns);
                    // SAFETY: the part is inside of A and fits into the memory, of which the product reads these rows alone.
                    unsafe {
                        let from = self.a.transposed();
                        from.pack_on(isa, left, LEFT_STEP, inner.clone(), some.clone());
                        product.compute_passing(isa, some, columns.clone(), &coming);
                    }
                }
            }
        });
    }

    /// What is packed next: other rows of A, and a share of the next rows of B.
    fn part_behind(
        &self,
        all: &Range<usize>,
        some: &Range<usize>,
        inner: &Range<usize>,
        columns: &Range<usize>,
    ) -> Coming<T> {
        let is_last = some.end == all.end;
        let (row, p) = if is_last { (all.start, inner.end) } else { (some.end, inner.start) };
        let left = self.a.transposed().walks(p, row..(row + ROWS).min(all.end));
        let pieces = all.len().div_ceil(ROWS);
        let share = columns.len().div_ceil(pieces).next_multiple_of(PANEL_WIDTH / size_of::<T>());
        let first = columns.start + (some.start - all.start) / ROWS * share;
        let right = self.b.walks(inner.end, first.min(columns.end)..(first + share).min(columns.end));
        match inner.end == self.k {
            true if is_last => Coming::Nothing,
            true => Coming::Walks([left, Walks::NONE]),
            false => Coming::Walks([left, right]),
        }
    }
}
