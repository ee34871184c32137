//! Products of many rows: these pass by a part of the right factor, which is packed once and stays in the second-level cache. So rows of A and
//! of C come from memory once for as many columns, and the kernel asks for them before they are needed.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::ops::Range;

use super::kernel::{Coming, Product};
use super::packed::Packed;
use super::{Grid, Matmul, Operand, PANEL_WIDTH};
use crate::cpu::isa::Isa;
use crate::cpu::stack;
use crate::cpu::vector::Factor;

/// Fewer rows do not repay packing.
const FEWEST_ROWS: usize = 128;
/// Where a row of A is shorter, reading and writing C takes most of the time.
const SHORTEST: usize = 16;
/// The bytes of B that rows pass by.
const RIGHT_BYTES: usize = 256 * 1024;
/// So many rows are finished together. They are in a cache then.
const TOGETHER: usize = 64;

impl Matmul {
    /// Whether rows pass by parts of the right factor.
    pub(super) fn streams(&self) -> bool {
        !self.trans_a && self.m >= FEWEST_ROWS && self.k >= SHORTEST
    }

    /// The tiles of a product whose rows pass by.
    pub(super) fn grid_of_streams<T>(&self, threads: usize) -> Grid {
        let Matmul { m, n, k, .. } = *self;
        let panel = PANEL_WIDTH / size_of::<T>();
        let panels = (RIGHT_BYTES / PANEL_WIDTH / k.max(1)).max(1);
        Grid::of_columns::<T>([m, n], panels * panel, TOGETHER, threads)
    }
}

impl<T: Factor> Product<T, Operand<T>> {
    /// Computes a tile of C on this thread, and finishes some rows after the other.
    ///
    /// # Safety
    /// As for [`compute`](Product::compute); the tile is one of [`Matmul::grid_of_streams`].
    pub(super) unsafe fn compute_streamed(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
        finish: &dyn Fn(Range<usize>, Range<usize>),
    ) {
        let width = columns.len().next_multiple_of(PANEL_WIDTH / size_of::<T>());
        let deepest = (RIGHT_BYTES / size_of::<T>() / width).max(1);
        let parts = self.k.div_ceil(deepest);
        let depth = self.k.div_ceil(parts);
        stack::lend::<T, 1>([width * depth * size_of::<T>()], &mut |[right]| {
            for part in 0..parts {
                let inner = part * depth..self.k.min((part + 1) * depth);
                let a = Operand { start: self.a.start.wrapping_add(inner.start * self.a.column), ..self.a };
                let accumulate = self.accumulate || part > 0;
                // SAFETY: the part is inside of B, and there is memory for its panels.
                let b = unsafe { Packed::pack(isa, self.b, inner.clone(), columns.clone(), right) };
                let product = Product { k: inner.len(), a, b, c: self.c, c_row: self.c_row, accumulate };
                // SAFETY: the caller's; the columns are those that were packed.
                unsafe { product.pass(isa, rows.clone(), columns.clone(), part + 1 == parts, finish) };
            }
        });
    }
}

impl<T: Factor> Product<T, Packed<'_, T>> {
    /// Lets rows pass by columns that were packed. Where the product `is_final`, some rows after the other are finished.
    ///
    /// # Safety
    /// As for [`compute`](Product::compute).
    pub(super) unsafe fn pass(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
        is_final: bool,
        finish: &dyn Fn(Range<usize>, Range<usize>),
    ) {
        for first in rows.clone().step_by(TOGETHER) {
            let rows = first..rows.end.min(first + TOGETHER);
            // SAFETY: the caller's.
            unsafe { self.compute_passing(isa, rows.clone(), columns.clone(), &Coming::Rows) };
            if is_final {
                finish(rows, columns.clone());
            }
        }
    }
}
