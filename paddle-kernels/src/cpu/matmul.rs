//! Dense matrix products.
//!
//! Every element of a product is one chain of multiply-adds in the order of the inner dimension:
//! `c = a[i, p] * b[p, j] + c` for `p = 0, 1, …, k - 1`, from 0 or from the element that it adds to. No tile, panel,
//! register or thread cuts or reorders that chain. So the bits of an element depend on its row of A and its column of
//! B alone: not on the number of threads, the other rows of the batch, or the width of the registers.
//!
//! Factors may be of half precision, in pairs along the inner dimension (see [`Pair`]): then the chain is one of pairs, and C is of
//! `f32`.
//!
//! B may be a matrix that is nowhere in memory, and of which panels are made as they are needed: see [`Right`].
//!
//! If both factors are in memory, the crate `matrixmultiply` may compute the tiles instead: see [`Multiplier`]. It adds
//! up parts of the chain, which it cuts by the inner dimension alone, so bits still do not depend on the number of threads.
//!
//! [`Multiplier`]: super::multiplier::Multiplier
//! [`Pair`]: super::pairs::Pair
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers, on several threads")]

mod factor;
mod grid;
mod kernel;
mod matrixmultiply;
mod packed;
mod parts;
mod streamed;

use std::ops::Range;

use super::kernel::Machine;
use super::shared::Shared;
use super::vector::Factor;
pub(super) use factor::{Operand, Right, Turned};
pub(super) use grid::Grid;
use grid::ONE_TILE;
pub(super) use kernel::Product;
pub(crate) use matrixmultiply::Gemm;
pub(crate) use packed::Packed;

/// C\[m, n\] = op(A)\[m, k\] · op(B)\[k, n\], all dense and row-major.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matmul {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// A is stored as its transpose, \[k, m\].
    pub(crate) trans_a: bool,
    /// B is stored as its transpose, \[n, k\].
    pub(crate) trans_b: bool,
}

impl Matmul {
    /// Computes the product, or with `accumulate` adds it to C. Our kernels allocate nothing.
    ///
    /// `finish` is called for parts of C, with their rows and columns, by the thread that computed them, as soon as
    /// they are final: the place to add a bias or apply an activation while a part is in the cache. Parts cover
    /// C once.
    ///
    /// # Safety
    /// `a` and `b` are valid for reading m·k and k·n elements, `c` for reading and writing m·n, on any thread; c
    /// overlaps neither, and nothing else touches it meanwhile. Without `accumulate`, C may be uninitialised.
    pub(crate) unsafe fn run<T: Factor>(
        &self,
        machine: &Machine,
        from: [*const T; 2],
        c: *mut T::Sum,
        accumulate: bool,
        finish: &(dyn Fn(Range<usize>, Range<usize>) + Sync),
    ) {
        let (grid, flip) = self.grid::<T>(machine.team.threads());
        let product = self.product(from, c, accumulate);
        machine.team.run_if(self.work() >= WORTH_A_TEAM, grid.tiles(), &|tile| {
            let (rows, columns) = grid.tile(tile);
            // SAFETY: the tile lies inside C and no other overlaps it.
            unsafe {
                self.compute(machine, &product, rows, columns, &|rows, columns| match flip {
                    true => finish(columns, rows),
                    false => finish(rows, columns),
                });
            }
        });
    }

    /// Computes `count` products. `starts` says where the matrices of each begin in A and B; those of C are one behind
    /// the other. Our kernels allocate nothing.
    ///
    /// # Safety
    /// As for [`run`](Matmul::run), of every product.
    pub(crate) unsafe fn run_many<T: Factor>(
        &self,
        machine: &Machine,
        [a, b]: [*const T; 2],
        c: *mut T::Sum,
        count: usize,
        starts: &(dyn Fn(usize) -> [usize; 2] + Sync),
    ) {
        let (grid, _) = self.grid::<T>(machine.team.threads());
        let (from, to, tiles) = ((Shared(a.cast_mut()), Shared(b.cast_mut())), Shared(c), grid.tiles());
        let work = self.work().max(1);
        let is_worth_it = work.saturating_mul(count) >= WORTH_A_TEAM;
        // Small ones together, so that a thread has something to do.
        let at_once = if tiles == 1 { (ONE_TILE / work).clamp(1, count.max(1)) } else { 1 };
        machine.team.run_if(is_worth_it, count.div_ceil(at_once) * tiles, &|index| {
            let (first, tile) = (index / tiles * at_once, index % tiles);
            let (rows, columns) = grid.tile(tile);
            for product in first..count.min(first + at_once) {
                let [a, b] = starts(product);
                // SAFETY: the parts are the caller's; the tile lies inside its own product of C and no other overlaps it.
                unsafe {
                    let from = [from.0.at(a).cast_const(), from.1.at(b).cast_const()];
                    let product = self.product(from, to.at(product * self.m * self.n), false);
                    self.compute(machine, &product, rows.clone(), columns.clone(), &|_, _| {});
                }
            }
        });
    }

    /// Computes a tile of the product on this thread, by what the machine has for products of this shape. Parts of it are finished as they
    /// become final.
    ///
    /// # Safety
    /// As for [`Product::compute`].
    unsafe fn compute<T: Factor>(
        &self,
        machine: &Machine,
        product: &Product<T, Operand<T>>,
        rows: Range<usize>,
        columns: Range<usize>,
        finish: &dyn Fn(Range<usize>, Range<usize>),
    ) {
        let is_theirs = machine.multiplier.is_matrixmultiply(self.m, self.n);
        let (some, across) = (rows.clone(), columns.clone());
        // SAFETY: the caller's.
        unsafe {
            match T::GEMM.filter(|_| is_theirs) {
                Some(gemm) => product.compute_by_crate(gemm, some, across),
                None if self.n == 1 => product.compute(machine.isa, some, across),
                None if self.packs_parts() => product.compute_in_parts(machine.isa, some, across),
                None if self.streams() => return product.compute_streamed(machine.isa, some, across, finish),
                None => product.compute(machine.isa, some, across),
            }
        }
        finish(rows, columns);
    }

    /// Whether the tiles are whole rows of C.
    pub(crate) fn has_whole_rows<T>(&self, machine: &Machine) -> bool {
        let (grid, flip) = self.grid::<T>(machine.team.threads());
        flip || grid.across() <= 1
    }

    /// The number of multiply-adds.
    fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// The tiles, and whether they are those of the transpose: a product with a column is the transpose of a product
    /// with a row, which keeps whole registers busy.
    fn grid<T>(&self, threads: usize) -> (Grid, bool) {
        let Matmul { m, n, k, .. } = *self;
        match n {
            1 => (Grid::new::<T>(n, m, k), true),
            _ if self.packs_parts() => (self.grid_of_parts::<T>(threads), false),
            _ if self.streams() => (self.grid_of_streams::<T>(threads), false),
            _ => (Grid::of_matrices::<T>([m, n, k], threads), false),
        }
    }

    /// The left factor as it is multiplied, and the right one.
    fn left<T>(&self, start: *const T) -> Operand<T> {
        let Matmul { m, k, trans_a, .. } = *self;
        Operand { start, row: if trans_a { 1 } else { k }, column: if trans_a { m } else { 1 } }
    }

    fn right<T>(&self, start: *const T) -> Operand<T> {
        let Matmul { n, k, trans_b, .. } = *self;
        Operand { start, row: if trans_b { 1 } else { n }, column: if trans_b { k } else { 1 } }
    }

    /// The product whose tiles are those of [`Matmul::grid`].
    fn product<T: Factor>(
        &self,
        [a, b]: [*const T; 2],
        c: *mut T::Sum,
        accumulate: bool,
    ) -> Product<T, Operand<T>> {
        let Matmul { m, n, k, .. } = *self;
        let (a, b) = (self.left(a), self.right(b));
        match n {
            1 => Product { k, a: b.transposed(), b: a.transposed(), c, c_row: m, accumulate },
            _ => Product { k, a, b, c, c_row: n, accumulate },
        }
    }
}

/// Fewer multiply-adds than this are not worth a team: handing out tiles, and waiting for the last one, take about a
/// microsecond, and these take two to five on one thread.
pub(super) const WORTH_A_TEAM: usize = 1 << 18;

/// The bytes of a row of the widest panel: two of the widest registers.
const PANEL_WIDTH: usize = 128;

#[cfg(test)]
mod tests;
