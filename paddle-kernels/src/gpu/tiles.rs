//! Products of matrices, tile by tile: a workgroup computes a tile of a result, whose factors go through memory that the
//! threads share.

use paddle_core::ops::Real;
use paddle_core::plan::{Extent, Precision};

use super::form::{
    Float, LANES, Register, Shared, Unsigned, Variable, barrier, for_each, lane, scalar, when, workgroup,
    workgroups,
};
use super::kernel::{Grid, Kernel};

/// The sides of a tile of the result.
const TILE: u32 = 32;
/// The terms of each sum that are in shared memory at a time.
const DEPTH: u32 = 16;
/// The sides of the part of a tile that a thread computes.
const PART: u32 = 4;
/// The threads along a side of a tile.
const ACROSS: u32 = TILE / PART;

/// Matrices `[m, n]` of sums of `k` products.
pub(super) struct Product {
    pub(super) m: Vec<Extent>,
    pub(super) n: Vec<Extent>,
    pub(super) k: Vec<Extent>,
    /// The number of matrices.
    pub(super) matrices: Vec<Extent>,
    /// The precision of the factors. Sums are in single precision.
    pub(super) precision: Precision,
    /// Whether neighbouring terms of a row of the first factor are neighbours in memory, rather than neighbouring rows; and the
    /// same of the columns of the second one.
    pub(super) by_terms: [bool; 2],
}

/// An element of a factor, by matrix, row or column, and term.
pub(super) type Factor<'a> = &'a dyn Fn(Unsigned, Unsigned, Unsigned) -> Float;

impl Product {
    /// Adds the stage that computes the products to a kernel. `write` begins the form, and gives both factors, and what stores an
    /// element of the result to `tiles`.
    pub(super) fn stage(&self, kernel: Kernel, write: impl FnOnce(&Product)) -> Kernel {
        let grid = Grid::Tiles([self.m.clone(), self.n.clone(), self.matrices.clone()], TILE as usize);
        kernel.stage(grid, || write(self))
    }

    /// Writes the products. `store` gets matrix, row, column, and the element.
    pub(super) fn tiles(
        &self,
        x: Factor<'_>,
        y: Factor<'_>,
        store: &dyn Fn(Unsigned, Unsigned, Unsigned, Float),
    ) {
        const { assert!(ACROSS * ACROSS == LANES) };
        let u = Unsigned::of;
        let [m, n, k] = [&self.m, &self.n, &self.k].map(|extents| scalar(extents));
        let tiles = |size: Unsigned| (size + u(TILE - 1)) / u(TILE);
        let (down, across) = (tiles(m), tiles(n));
        let (left, right) = (Shared::<Float>::new(TILE * DEPTH), Shared::<Float>::new(TILE * DEPTH));
        let result = Shared::<Float>::new(TILE * TILE);
        let lane = lane();
        let (row, column) = (lane / u(ACROSS) * u(PART), lane % u(ACROSS) * u(PART));
        for_each(workgroup(), down * across * scalar(&self.matrices), workgroups(), |tile| {
            let matrix = tile / (down * across);
            let tile = tile - matrix * (down * across);
            let (first_row, first_column) = (tile / across * u(TILE), tile % across * u(TILE));
            let sums: Vec<Variable<Float>> =
                (0..PART * PART).map(|_| Variable::new(Float::constant(0.0))).collect();
            for_each(u(0), k, u(DEPTH), |term| {
                // Neighbouring threads read neighbouring elements.
                let load = |shared: &Shared<Float>,
                            factor: Factor<'_>,
                            first: Unsigned,
                            size: Unsigned,
                            by_terms: bool| {
                    // Not in a loop, of which a thread may have few (see `LANES`).
                    for turn in 0..TILE * DEPTH / LANES {
                        let at = lane + u(turn * LANES);
                        let (place, depth) = match by_terms {
                            true => (at / u(DEPTH), at % u(DEPTH)),
                            false => (at % u(TILE), at / u(TILE)),
                        };
                        let to = depth * u(TILE) + place;
                        let (place, term) = (first + place, term + depth);
                        shared.set(to, Float::constant(0.0));
                        when(place.less(size) & term.less(k), || {
                            shared.set(to, self.rounded(factor(matrix, place, term)));
                        });
                    }
                };
                load(&left, x, first_row, m, self.by_terms[0]);
                load(&right, y, first_column, n, self.by_terms[1]);
                barrier();
                for depth in 0..DEPTH {
                    let at = u(depth * TILE);
                    let xs: Vec<Float> = (0..PART).map(|i| left.get(at + row + u(i))).collect();
                    let ys: Vec<Float> = (0..PART).map(|j| right.get(at + column + u(j))).collect();
                    for (i, &x) in xs.iter().enumerate() {
                        for (j, &y) in ys.iter().enumerate() {
                            let sum = sums[i * PART as usize + j];
                            sum.set(sum.get() + x * y);
                        }
                    }
                }
                barrier();
            });
            // The tile goes through shared memory, so that neighbouring threads store neighbours.
            for i in 0..PART {
                for j in 0..PART {
                    result.set((row + u(i)) * u(TILE) + column + u(j), sums[(i * PART + j) as usize].get());
                }
            }
            barrier();
            for_each(lane, u(TILE * TILE), u(LANES), |at| {
                let (row, column) = (first_row + at / u(TILE), first_column + at % u(TILE));
                when(row.less(m) & column.less(n), || store(matrix, row, column, result.get(at)));
            });
            barrier();
        });
    }

    /// A factor in its precision.
    fn rounded(&self, x: Float) -> Float {
        match self.precision {
            Precision::F32 => x,
            Precision::Bf16 => to_bf16(x),
        }
    }
}

/// The nearest number of which 16 bits are kept.
fn to_bf16(x: Float) -> Float {
    bits_of_bf16(x).as_float()
}

/// Its bits, of which the lower 16 are zero.
pub(super) fn bits_of_bf16(x: Float) -> Unsigned {
    let u = Unsigned::of;
    let bits = x.bits();
    let rounded = bits + u(0x7fff) + ((bits >> u(16)) & u(1));
    // What is not a number stays so, though its payload may be lost.
    Unsigned::choose(x.is_not_a_number(), u(0x7fc0_0000), rounded & u(0xffff_0000))
}
