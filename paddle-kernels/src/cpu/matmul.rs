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
mod matrixmultiply;
mod packed;
mod parts;

use std::mem::MaybeUninit;
use std::ops::Range;

use super::isa::Isa;
use super::kernel::Machine;
use super::shared::Shared;
use super::vector::{FEW_REGISTERS, Factor, FactorWork, Factors, Register, fetch};
use factor::{Columns, Panels};
pub(super) use factor::{Operand, Right, Turned};
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
    /// `finish` is called for each tile of C, with its rows and columns, by the thread that computed it, as soon as
    /// the tile is final: the place to add a bias or apply an activation while the tile is in the cache. Tiles cover
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
            unsafe { self.compute(machine, &product, rows.clone(), columns.clone()) };
            let (rows, columns) = if flip { (columns, rows) } else { (rows, columns) };
            finish(rows, columns);
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
                    self.compute(machine, &product, rows.clone(), columns.clone());
                }
            }
        });
    }

    /// Computes a tile of the product on this thread, by what the machine has for products of this shape.
    ///
    /// # Safety
    /// As for [`Product::compute`].
    unsafe fn compute<T: Factor>(
        &self,
        machine: &Machine,
        product: &Product<T, Operand<T>>,
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let is_theirs = machine.multiplier.is_matrixmultiply(self.m, self.n);
            match T::GEMM.filter(|_| is_theirs) {
                Some(gemm) => product.compute_by(gemm, rows, columns),
                None if self.packs_parts() => product.compute_in_parts(machine.isa, rows, columns),
                None => product.compute(machine.isa, rows, columns),
            }
        }
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
            _ if self.packs_parts() => (Grid::of_packed_parts(m, n, threads), false),
            _ => (Grid::new::<T>(m, n, k), false),
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

/// The tiles of C. A tile has all of k, so bits do not depend on them.
pub(super) struct Grid {
    m: usize,
    n: usize,
    tile_rows: usize,
    tile_columns: usize,
}

/// Fewer multiply-adds than this are not worth a team: handing out tiles, and waiting for the last one, take about a
/// microsecond, and these take two to five on one thread.
pub(super) const WORTH_A_TEAM: usize = 1 << 18;
/// Fewer multiply-adds than this are one tile.
const ONE_TILE: usize = 1 << 17;
/// A tile has at least about this many.
const SMALLEST_TILE: usize = 1 << 15;
/// More rows than this push the rows of A out of the second-level cache before the next panel reads them again.
const MOST_ROWS: usize = 256;
/// Fewer rows than this do not repay packing a panel of B for them.
const FEWEST_ROWS: usize = 64;
/// A row of B is not cut into parts of fewer bytes, if A has a single row.
const LONG_ROW: usize = 1024;
/// So many tiles keep any team busy, and more only cost.
const MANY_TILES: usize = 32;

impl Grid {
    /// For a product of elements `T`.
    pub(super) fn new<T>(m: usize, n: usize, k: usize) -> Grid {
        // The columns that a tile is made of.
        let panel = PANEL_WIDTH / size_of::<T>();
        let work = m.saturating_mul(n).saturating_mul(k);
        if work < ONE_TILE {
            return Grid { m, n, tile_rows: m, tile_columns: n };
        }
        if m == 1 {
            // Long rows of B are read from their begin to their end.
            let tile_columns =
                n.div_ceil(MANY_TILES / 4).max(LONG_ROW / size_of::<T>()).next_multiple_of(panel);
            return Grid { m, n, tile_rows: m, tile_columns: tile_columns.min(n) };
        }
        let panels = n.div_ceil(panel);
        let bands = m.div_ceil(MOST_ROWS).max((MANY_TILES / 4).div_ceil(panels).min(m / FEWEST_ROWS));
        let tile_rows = m.div_ceil(bands).next_multiple_of(8).min(m);
        let bands = m.div_ceil(tile_rows);
        let by_count = panels * bands / MANY_TILES;
        let by_work = SMALLEST_TILE.div_ceil(tile_rows.saturating_mul(k).saturating_mul(panel));
        Grid { m, n, tile_rows, tile_columns: panel * by_count.max(by_work).clamp(1, panels) }
    }

    fn across(&self) -> usize {
        self.n.div_ceil(self.tile_columns.max(1))
    }

    pub(super) fn tiles(&self) -> usize {
        self.m.div_ceil(self.tile_rows.max(1)) * self.across()
    }

    pub(super) fn tile(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) =
            (index / self.across() * self.tile_rows, index % self.across() * self.tile_columns);
        (row..self.m.min(row + self.tile_rows), column..self.n.min(column + self.tile_columns))
    }
}

/// A product as the kernels see it. The elements of a row of C are neighbours.
pub(super) struct Product<T: Factor, B> {
    pub(super) k: usize,
    pub(super) a: Operand<T>,
    pub(super) b: B,
    pub(super) c: *mut T::Sum,
    /// The distance of neighbours in a column of C.
    pub(super) c_row: usize,
    /// Whether the product is added to C.
    pub(super) accumulate: bool,
}

// SAFETY: `Matmul::run` demands pointers that are valid on any thread, and gives each tile of C to one thread.
unsafe impl<T: Factor> Sync for Product<T, Operand<T>> {}
// SAFETY: the same of `Matmul::run_packed`.
unsafe impl<T: Factor> Sync for Product<T, Packed<'_, T>> {}

/// The bytes of a row of the widest panel: two of the widest registers.
const PANEL_WIDTH: usize = 128;
/// The panel of B that a thread has packed: it stays in the first-level cache while rows of A pass by.
const PANEL_BYTES: usize = 48 * 1024;

#[repr(align(64))]
struct Panel(
    #[allow(dead_code, reason = "written and read through its pointer")] MaybeUninit<[u8; PANEL_BYTES]>,
);

impl<T: Factor, B: Right<T>> Product<T, B> {
    /// Computes a tile of C on this thread.
    ///
    /// # Safety
    /// The tile lies inside C and nobody else touches it; what it needs of A and B can be read.
    pub(super) unsafe fn compute(&self, isa: Isa, rows: Range<usize>, columns: Range<usize>) {
        let Product { k, a, ref b, c, c_row, accumulate } = *self;
        let product = Product::<T, &dyn Panels<T>> { k, a, b, c, c_row, accumulate };
        T::on_factors(isa, Tile { of: &product, isa, rows, columns });
    }
}

/// A tile of a product.
struct Tile<'a, T: Factor> {
    of: &'a Product<T, &'a dyn Panels<T>>,
    isa: Isa,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T: Factor> FactorWork<T> for Tile<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Factors<Element = T>>(self) {
        // The instruction sets with registers of this width have 32 of them.
        const WIDEST: usize = 64;
        let Tile { of, isa, rows, columns } = self;
        // SAFETY: as `Product::compute` requires.
        unsafe {
            // The compiler makes no copy that this constant excludes.
            if const { V::LANES * size_of::<T>() == WIDEST } {
                of.tile::<V, 8>(isa, rows, columns);
            } else {
                of.tile::<V, 6>(isa, rows, columns);
            }
        }
    }
}

impl<T: Factor> Product<T, &dyn Panels<T>> {
    /// Computes a tile of C, `HEIGHT` rows and two registers of columns at a time.
    ///
    /// # Safety
    /// The tile lies inside C and nobody else touches it; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn tile<V: Factors<Element = T>, const HEIGHT: usize>(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        // SAFETY: the caller's.
        unsafe {
            if self.k == 0 && !self.accumulate {
                for i in rows {
                    std::slice::from_raw_parts_mut(self.c.add(i * self.c_row + columns.start), columns.len())
                        .fill(T::Sum::ZERO);
                }
            } else if rows.len() == 1 && !self.b.is_packed() {
                match self.b.in_place().filter(|_| columns.len() > 4 * V::LANES) {
                    Some(b) => self.row::<V>(b, rows.start, columns),
                    None => self.strips::<V, 1, 4>(isa, rows, columns),
                }
            } else {
                self.strips::<V, HEIGHT, 2>(isa, rows, columns);
            }
        }
    }

    /// Computes a row of a tile, where B is in memory: some rows of B at a time, each from its begin to its end. So B comes from
    /// memory in its order, which is several times as fast as by columns.
    ///
    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn row<V: Factors<Element = T>>(&self, b: Operand<T>, i: usize, columns: Range<usize>) {
        let mut p = 0;
        while p < self.k {
            // SAFETY: these rows are inside of B.
            unsafe {
                match self.k - p {
                    8.. => self.rows_of_right::<V, 8>(b, i, p, &columns),
                    4.. => self.rows_of_right::<V, 4>(b, i, p, &columns),
                    _ => self.rows_of_right::<V, 1>(b, i, p, &columns),
                }
            }
            p += match self.k - p {
                8.. => 8,
                4.. => 4,
                _ => 1,
            };
        }
    }

    /// Adds the products of `COUNT` elements of a row of A with as many rows of B, from `p` on.
    ///
    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn rows_of_right<V: Factors<Element = T>, const COUNT: usize>(
        &self,
        b: Operand<T>,
        i: usize,
        p: usize,
        columns: &Range<usize>,
    ) {
        let add = self.accumulate || p > 0;
        // SAFETY: the caller's.
        unsafe {
            let mut values = [V::splat(T::ZERO); COUNT];
            for (q, value) in values.iter_mut().enumerate() {
                *value = V::splat(*self.a.at(i, p + q));
            }
            let (from, to) = (b.at(p, columns.start), self.c.add(i * self.c_row + columns.start));
            let whole = columns.len() - columns.len() % V::LANES;
            for j in (0..whole).step_by(V::LANES) {
                let to = to.add(j);
                let mut sum = if add { V::Sums::load(to) } else { V::Sums::splat(T::Sum::ZERO) };
                for (q, value) in values.iter().enumerate() {
                    sum = value.multiply(V::load(from.add(q * b.row + j)), sum);
                }
                sum.store(to);
            }
            let rest = columns.len() - whole;
            if rest > 0 {
                let to = to.add(whole);
                let mut sum =
                    if add { V::Sums::load_partial(to, rest) } else { V::Sums::splat(T::Sum::ZERO) };
                for (q, value) in values.iter().enumerate() {
                    sum = value.multiply(V::load_partial(from.add(q * b.row + whole), rest), sum);
                }
                sum.store_partial(to, rest);
            }
        }
    }

    /// Cuts a tile into strips of `WIDTH` registers of columns, and k so that the panel of B for a strip fits.
    ///
    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn strips<V: Factors<Element = T>, const HEIGHT: usize, const WIDTH: usize>(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        let mut panel = Panel(MaybeUninit::uninit());
        let packed = (&raw mut panel).cast::<T>();
        let deepest = PANEL_BYTES / size_of::<T>() / (WIDTH * V::LANES);
        let chunks = self.k.div_ceil(deepest);
        let depth = self.k.div_ceil(chunks.max(1));
        for chunk in 0..chunks {
            let inner = chunk * depth..self.k.min((chunk + 1) * depth);
            let add = self.accumulate || chunk > 0;
            let mut j = columns.start;
            while j < columns.end {
                let registers = match (columns.end - j).div_ceil(V::LANES) {
                    count if count >= WIDTH => WIDTH,
                    1 => 1,
                    _ => 2,
                };
                let step = registers * V::LANES;
                let width = step.min(columns.end - j);
                // SAFETY: the strip is inside the tile, and `packed` holds `depth` rows of WIDTH registers.
                unsafe {
                    let few_rows = rows.len() <= 2 * HEIGHT;
                    let (row, widest) = (inner.start, WIDTH * V::LANES);
                    let (b, ahead) =
                        match self.b.strip(&Columns { row, first: j, width, step, widest, few_rows }) {
                            Some(strip) => strip,
                            None => {
                                self.b.pack_on(isa, packed, step, inner.clone(), j..j + width);
                                (Operand { start: packed.cast_const(), row: step, column: 1 }, 0)
                            }
                        };
                    let strip = Strip { inner: inner.clone(), first: j, width, b, ahead, add };
                    match registers {
                        1 => self.blocks::<V, HEIGHT, 1>(rows.clone(), &strip),
                        2 if const { WIDTH > 2 } => self.blocks::<V, HEIGHT, 2>(rows.clone(), &strip),
                        _ => self.blocks::<V, HEIGHT, WIDTH>(rows.clone(), &strip),
                    }
                }
                j += width;
            }
        }
    }

    /// Computes a strip of a tile, `HEIGHT` rows at a time.
    ///
    /// # Safety
    /// The strip is inside a tile that nobody else touches; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn blocks<V: Factors<Element = T>, const HEIGHT: usize, const WIDTH: usize>(
        &self,
        rows: Range<usize>,
        strip: &Strip<T>,
    ) {
        let mut i = rows.start;
        while i < rows.end {
            let rest = rows.end - i;
            // The compiler makes no copies for heights that the constant excludes.
            let height = match rest {
                4.. if const { has_few::<V>() } && rest < HEIGHT => 4,
                2.. if const { has_few::<V>() } && rest < HEIGHT => 2,
                _ => HEIGHT.min(rest),
            };
            // SAFETY: the block is inside the strip.
            unsafe {
                match height {
                    1 if const { HEIGHT > 1 } => self.block::<V, 1, WIDTH>(i, strip),
                    2 if const { HEIGHT > 2 } => self.block::<V, 2, WIDTH>(i, strip),
                    3 if const { HEIGHT > 3 && !has_few::<V>() } => self.block::<V, 3, WIDTH>(i, strip),
                    4 if const { HEIGHT > 4 } => self.block::<V, 4, WIDTH>(i, strip),
                    5 if const { HEIGHT > 5 && !has_few::<V>() } => self.block::<V, 5, WIDTH>(i, strip),
                    6 if const { HEIGHT > 6 && !has_few::<V>() } => self.block::<V, 6, WIDTH>(i, strip),
                    7 if const { HEIGHT > 7 && !has_few::<V>() } => self.block::<V, 7, WIDTH>(i, strip),
                    _ => self.block::<V, HEIGHT, WIDTH>(i, strip),
                }
            }
            i += height;
        }
    }

    /// The kernel: `HEIGHT` rows of a strip, its sums held in registers.
    ///
    /// # Safety
    /// As for `blocks`.
    #[inline(always)]
    unsafe fn block<V: Factors<Element = T>, const HEIGHT: usize, const WIDTH: usize>(
        &self,
        i: usize,
        strip: &Strip<T>,
    ) {
        let tail = strip.width - (WIDTH - 1) * V::LANES;
        // SAFETY: A is read at rows `i..i + HEIGHT` and columns `inner`, B in its panel, C in the block.
        unsafe {
            let mut rows = [self.a.start; HEIGHT];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = self.a.at(i + r, strip.inner.start);
            }
            let c = self.c.add(i * self.c_row + strip.first);
            let mut sums = [[V::Sums::splat(T::Sum::ZERO); WIDTH]; HEIGHT];
            if strip.add {
                for (r, sums) in sums.iter_mut().enumerate() {
                    for (w, sum) in sums.iter_mut().enumerate() {
                        let from = c.add(r * self.c_row + w * V::LANES);
                        let whole = w + 1 < WIDTH || tail == V::LANES;
                        *sum = if whole { V::Sums::load(from) } else { V::Sums::load_partial(from, tail) };
                    }
                }
            }
            let mut offset = 0;
            let mut b = strip.b.start;
            for _ in strip.inner.clone() {
                let mut columns = [V::splat(T::ZERO); WIDTH];
                for (w, column) in columns.iter_mut().enumerate() {
                    *column = V::load(b.add(w * V::LANES));
                }
                if strip.ahead > 0 {
                    for w in 0..WIDTH {
                        fetch(b.wrapping_add(strip.ahead + w * V::LANES));
                    }
                }
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let value = V::splat(*row.add(offset));
                    for (column, sum) in columns.iter().zip(sums) {
                        *sum = value.multiply(*column, *sum);
                    }
                }
                offset += self.a.column;
                // After the last row this is outside of B, and not read.
                b = b.wrapping_add(strip.b.row);
            }
            for (r, sums) in sums.iter().enumerate() {
                for (w, sum) in sums.iter().enumerate() {
                    let to = c.add(r * self.c_row + w * V::LANES);
                    let whole = w + 1 < WIDTH || tail == V::LANES;
                    if whole { sum.store(to) } else { sum.store_partial(to, tail) }
                }
            }
        }
    }
}

/// Whether kernels of these registers have few shapes.
const fn has_few<V: Factors>() -> bool {
    V::Sums::REGISTERS <= FEW_REGISTERS
}

/// Some columns of a tile, over a part of k.
struct Strip<T> {
    inner: Range<usize>,
    /// The first column.
    first: usize,
    width: usize,
    /// The rows `inner` of these columns, in whole registers.
    b: Operand<T>,
    /// How far ahead of what is read memory is asked for; 0 where it is in a cache.
    ahead: usize,
    /// Adds to C.
    add: bool,
}

#[cfg(test)]
mod tests;
