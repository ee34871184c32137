//! Tiles of products by the crate `matrixmultiply`, each on the thread that asks for it: without its feature `threading`
//! the crate starts none.
#![allow(unsafe_code, reason = "calls the crate, which takes raw pointers")]

use std::ops::Range;

use super::{Operand, Product};
use crate::cpu::vector::Factor;

/// C ← α A B + β C: sizes m, k and n; then α, A, B, β and C, matrices with the distances of neighbours in a column and in a row.
type Compute<T> = unsafe fn(
    usize,
    usize,
    usize,
    T,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    *mut T,
    isize,
    isize,
);

/// The crate's product of matrices of numbers `T`.
pub(crate) struct Gemm<T> {
    pub(crate) compute: Compute<T>,
    pub(crate) zero_and_one: [T; 2],
}

impl<T: Factor> Product<T, Operand<T>> {
    /// Computes a tile of C on this thread, as [`compute`](Product::compute) does, by the crate.
    ///
    /// # Safety
    /// As for `compute`. Sums are numbers `T`, too.
    pub(super) unsafe fn compute_by_crate(&self, gemm: Gemm<T>, rows: Range<usize>, columns: Range<usize>) {
        let Gemm { compute, zero_and_one: [zero, one] } = gemm;
        let before = if self.accumulate { one } else { zero };
        let [a_row, a_column, b_row, b_column, c_row] =
            [self.a.row, self.a.column, self.b.row, self.b.column, self.c_row]
                .map(|distance| distance as isize);
        // SAFETY: the caller's. The addresses are those of the first elements of these rows of A, of these columns of B,
        // and of the tile, from which the crate goes by the distances; it does not read C times zero.
        unsafe {
            let a = self.a.start.wrapping_add(rows.start * self.a.row);
            let b = self.b.start.wrapping_add(columns.start * self.b.column);
            let c = self.c.wrapping_add(rows.start * self.c_row + columns.start).cast::<T>();
            compute(
                rows.len(),
                self.k,
                columns.len(),
                one,
                a,
                a_row,
                a_column,
                b,
                b_row,
                b_column,
                before,
                c,
                c_row,
                1,
            );
        }
    }
}
