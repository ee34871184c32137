//! Products of matrices, tile by tile: a workgroup computes a tile of a result, whose factors go through memory that the
//! threads share. What a tile is depends on the result: a large one reads its factors less often, small ones keep more threads busy, and
//! where there are few even of these, the terms of sums are shared among workgroups, too.

use std::sync::Arc;

use paddle_core::ops::Real;
use paddle_core::plan::{Extent, OperandType, Precision};
use paddle_core::program::DType;

use super::form::{
    Float, LANES, Register, Shared, Unsigned, Variable, barrier, each, for_each, lane, scalar, when,
    workgroup, workgroups,
};
use super::kernel::{Condition, Grid, Kernel, product};
use super::tensor::Tensor;

/// A tile of a result.
#[derive(Clone, Copy)]
struct Tile {
    rows: u32,
    columns: u32,
    /// The part of it that a thread computes.
    part: [u32; 2],
    /// The terms of each sum that are in shared memory at a time.
    depth: u32,
}

impl Tile {
    const fn new(rows: u32, columns: u32, part: [u32; 2], depth: u32) -> Tile {
        assert!(rows / part[0] * (columns / part[1]) == LANES);
        assert!((rows * depth).is_multiple_of(LANES) && (columns * depth).is_multiple_of(LANES));
        Tile { rows, columns, part, depth }
    }

    /// Of results with no more than 16 rows, and more.
    const SMALL: [Tile; 2] = [Tile::new(16, 64, [4, 4], 16), Tile::new(32, 32, [4, 4], 16)];
    /// Of results with no more than 16 columns, 32, and more.
    const LARGE: [Tile; 3] =
        [Tile::new(128, 16, [8, 4], 8), Tile::new(128, 32, [8, 8], 8), Tile::new(64, 64, [8, 8], 8)];

    const fn elements(self) -> usize {
        (self.rows * self.columns) as usize
    }
}

/// So many tiles keep a card busy.
const ENOUGH: usize = 256;
/// When the terms of tiles are shared among workgroups.
struct Sharing {
    /// From so many terms,
    terms: usize,
    /// up to so many elements,
    elements: usize,
    /// and among how many workgroups for each tile.
    workgroups: u32,
}

/// The last one that applies is taken. More workgroups keep more sums.
const SHARED: [Sharing; 3] = [
    Sharing { terms: 1 << 9, elements: 1 << 17, workgroups: 16 },
    Sharing { terms: 1 << 14, elements: 1 << 15, workgroups: 128 },
    Sharing { terms: 1 << 17, elements: 1 << 12, workgroups: 512 },
];

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
    /// Whether a library computes it nearly always.
    pub(super) has_library: bool,
}

/// An element of a factor, by matrix, row or column, and term.
pub(super) type Factor<'a> = &'a dyn Fn(Unsigned, Unsigned, Unsigned) -> Float;

/// Takes an element of a result, by matrix, row and column.
pub(super) type Store<'a> = &'a dyn Fn(Unsigned, Unsigned, Unsigned, Float);

/// How a launch computes products.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Large,
    Small,
    /// Among so many workgroups for each tile.
    Shared(u32),
}

/// What a stage does.
enum Part {
    /// It computes tiles.
    Tiles(Tile),
    /// It computes what so many shares of the terms give to tiles.
    Shares(Tile, u32),
    /// It adds up what so many shares give.
    Sum(u32),
}

/// A stage of products, while it is written.
pub(super) struct Stage<'a> {
    product: &'a Product,
    part: Part,
    /// The number of the first scratch with sums of shares. There is one for each way in which they are shared.
    scratch: usize,
}

impl Product {
    /// Adds the stages that compute the products to a kernel. `write` begins a form, and gives both factors, and what stores an
    /// element of the result to [`Stage::write`]. Operands behind this number are scratches.
    pub(super) fn stages(&self, kernel: Kernel, first_scratch: usize, write: impl Fn(&Stage<'_>)) -> Kernel {
        let scratch = first_scratch + kernel.scratch.len();
        let stage = |kernel: Kernel, part: Part| {
            let grid = self.grid(&part);
            kernel.stage(grid, || write(&Stage { product: self, part, scratch }))
        };
        let small = Tile::SMALL[match *self.m {
            [Extent::Fixed(..=16)] => 0,
            _ => 1,
        }];
        if self.has_library {
            return stage(kernel, Part::Tiles(small));
        }
        let large = Tile::LARGE[match *self.n {
            [Extent::Fixed(..=16)] => 0,
            [Extent::Fixed(..=32)] => 1,
            _ => 2,
        }];
        let (elements, terms) = ([&*self.m, &self.n, &self.matrices].concat(), self.k.clone());
        let kind = Arc::new(move |sizes: &[usize]| {
            let (elements, terms) = (product(&elements, sizes), product(&terms, sizes));
            if elements >= ENOUGH * large.elements() {
                Kind::Large
            } else if elements < ENOUGH / 2 * small.elements() {
                let applies = |of: &&Sharing| terms >= of.terms && elements <= of.elements;
                let shared = SHARED.iter().rfind(applies);
                shared.map_or(Kind::Small, |of| Kind::Shared(of.workgroups))
            } else {
                Kind::Small
            }
        });
        let is = |of: Kind| -> Condition {
            let kind = kind.clone();
            Arc::new(move |sizes| kind(sizes) == of)
        };
        let first = kernel.stages.len();
        let kernel = stage(kernel, Part::Tiles(large)).if_sizes(first, is(Kind::Large));
        let mut kernel = stage(kernel, Part::Tiles(small)).if_sizes(first + 1, is(Kind::Small));
        for (at, &Sharing { workgroups, .. }) in SHARED.iter().enumerate() {
            let is_shared = is(Kind::Shared(workgroups));
            kernel = stage(stage(kernel, Part::Shares(small, workgroups)), Part::Sum(workgroups));
            kernel = kernel.if_sizes(first + 2 + 2 * at, is_shared.clone());
            kernel = kernel.scratch_if(self.partial(workgroups), is_shared);
        }
        kernel
    }

    /// The shape of what shares give.
    fn partial(&self, shares: u32) -> Vec<Extent> {
        [&[Extent::Fixed(shares as usize)], &*self.matrices, &self.m, &self.n].concat()
    }

    fn grid(&self, part: &Part) -> Grid {
        let elements = || [&*self.matrices, &self.m, &self.n].concat();
        let tiles = |tile: &Tile, matrices| {
            Grid::Tiles([self.m.clone(), self.n.clone(), matrices], [tile.rows, tile.columns])
        };
        match part {
            Part::Tiles(tile) => tiles(tile, self.matrices.clone()),
            Part::Shares(tile, shares) => {
                tiles(tile, [&[Extent::Fixed(*shares as usize)], &*self.matrices].concat())
            }
            Part::Sum(_) => Grid::Items(elements()),
        }
    }
}

impl Stage<'_> {
    /// Writes the products. `store` gets matrix, row, column, and the element.
    pub(super) fn write(&self, x: Factor<'_>, y: Factor<'_>, store: Store<'_>) {
        let u = Unsigned::of;
        let [m, n, k] = [&self.product.m, &self.product.n, &self.product.k].map(|extents| scalar(extents));
        let partial = |shares: u32| {
            let ty = OperandType::new(DType::F32, self.product.partial(shares));
            let at =
                SHARED.iter().position(|of| of.workgroups == shares).expect("one of the numbers there are");
            Tensor::new(self.scratch + at, &ty)
        };
        match self.part {
            Part::Tiles(tile) => {
                self.tiles(tile, u(1), x, y, &|_, matrix, row, column, sum| store(matrix, row, column, sum))
            }
            Part::Shares(tile, shares) => {
                let partial = partial(shares);
                let matrices = scalar(&self.product.matrices);
                self.tiles(tile, u(shares), x, y, &|share, matrix, row, column, sum| {
                    partial.set(((share * matrices + matrix) * m + row) * n + column, sum);
                });
            }
            Part::Sum(shares) => {
                let (partial, elements) = (partial(shares), scalar(&self.product.matrices) * m * n);
                each(elements, |index| {
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(u(0), u(shares), u(1), |share| {
                        // Shares behind the last term have none.
                        let terms = (k + u(shares - 1)) / u(shares);
                        when((share * terms).less(k), || {
                            sum.set(sum.get() + partial.float(share * elements + index));
                        });
                    });
                    let (matrix, rest) = (index / (m * n), index % (m * n));
                    store(matrix, rest / n, rest % n, sum.get());
                });
            }
        }
    }

    /// Writes tiles, for each of as many shares of the terms.
    fn tiles(
        &self,
        tile: Tile,
        shares: Unsigned,
        x: Factor<'_>,
        y: Factor<'_>,
        store: &dyn Fn(Unsigned, Unsigned, Unsigned, Unsigned, Float),
    ) {
        let Tile { rows, columns, part, depth } = tile;
        let Product { m, n, k, matrices, by_terms, .. } = self.product;
        let u = Unsigned::of;
        let [m, n, k, matrices] = [m, n, k, matrices].map(|extents| scalar(extents));
        let (down, across) = ((m + u(rows - 1)) / u(rows), (n + u(columns - 1)) / u(columns));
        let (left, right) = (Shared::<Float>::new(rows * depth), Shared::<Float>::new(columns * depth));
        let lane = lane();
        let threads = columns / part[1];
        let (row, column) = (lane / u(threads) * u(part[0]), lane % u(threads) * u(part[1]));
        let terms = (k + shares - u(1)) / shares;
        for_each(workgroup(), down * across * matrices * shares, workgroups(), |number| {
            let (layer, at) = (number / (down * across), number % (down * across));
            let (share, matrix) = (layer / matrices, layer % matrices);
            let (first_row, first_column) = (at / across * u(rows), at % across * u(columns));
            let (first_term, end) = (share * terms, ((share + u(1)) * terms).least(k));
            let sums: Vec<Variable<Float>> =
                (0..part[0] * part[1]).map(|_| Variable::new(Float::constant(0.0))).collect();
            for_each(first_term, end, u(depth), |term| {
                // Neighbouring threads read neighbouring elements.
                let load = |shared: &Shared<Float>, factor: Factor<'_>, first, size, side: u32, by_terms| {
                    // Not in a loop, of which a thread may have few (see `LANES`).
                    for turn in 0..side * depth / LANES {
                        let at = lane + u(turn * LANES);
                        let (place, above) = match by_terms {
                            true => (at / u(depth), at % u(depth)),
                            false => (at % u(side), at / u(side)),
                        };
                        let to = above * u(side) + place;
                        let (place, term): (Unsigned, Unsigned) = (first + place, term + above);
                        shared.set(to, Float::constant(0.0));
                        when(place.less(size) & term.less(end), || {
                            shared.set(to, self.product.rounded(factor(matrix, place, term)));
                        });
                    }
                };
                load(&left, x, first_row, m, rows, by_terms[0]);
                load(&right, y, first_column, n, columns, by_terms[1]);
                barrier();
                for above in 0..depth {
                    let xs: Vec<Float> =
                        (0..part[0]).map(|i| left.get(u(above * rows) + row + u(i))).collect();
                    let ys: Vec<Float> =
                        (0..part[1]).map(|j| right.get(u(above * columns) + column + u(j))).collect();
                    let pairs = xs.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y)));
                    for (sum, (x, y)) in sums.iter().zip(pairs) {
                        sum.set(x.multiply_add(y, sum.get()));
                    }
                }
                barrier();
            });
            for i in 0..part[0] {
                for j in 0..part[1] {
                    let (row, column) = (first_row + row + u(i), first_column + column + u(j));
                    let sum = sums[(i * part[1] + j) as usize];
                    when(row.less(m) & column.less(n), || store(share, matrix, row, column, sum.get()));
                }
            }
        });
    }
}

impl Product {
    /// A factor in its precision.
    fn rounded(&self, x: Float) -> Float {
        match self.precision {
            Precision::F32 | Precision::Bf16x3 => x,
            Precision::Bf16 => bits_of_bf16(x).as_float(),
        }
    }
}

/// The bits of the nearest number of which 16 bits are kept; the lower 16 are zero.
pub(super) fn bits_of_bf16(x: Float) -> Unsigned {
    let u = Unsigned::of;
    let bits = x.bits();
    let rounded = bits + u(0x7fff) + ((bits >> u(16)) & u(1));
    // What is not a number stays so, though its payload may be lost.
    Unsigned::choose(x.is_not_a_number(), u(0x7fc0_0000), rounded & u(0xffff_0000))
}
