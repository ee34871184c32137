//! The kernel of products: tiles of C, cut into strips of columns and blocks of rows, whose sums are held in registers.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::ops::Range;

use super::factor::{Columns, Panels, Right};
use super::grid::FEW_ROWS;
use super::{Operand, PANEL_WIDTH, Packed};
use crate::cpu::isa::Isa;
use crate::cpu::stack;
use crate::cpu::vector::{FEW_REGISTERS, Factor, FactorWork, Factors, Register, fetch};

/// A product as the kernels see it. The elements of a row of C are neighbours.
pub(in super::super) struct Product<T: Factor, B> {
    pub(in super::super) k: usize,
    pub(in super::super) a: Operand<T>,
    pub(in super::super) b: B,
    pub(in super::super) c: *mut T::Sum,
    /// The distance of neighbours in a column of C.
    pub(in super::super) c_row: usize,
    /// Whether the product is added to C.
    pub(in super::super) accumulate: bool,
}

// SAFETY: `Matmul::run` demands pointers that are valid on any thread, and gives each tile of C to one thread.
unsafe impl<T: Factor> Sync for Product<T, Operand<T>> {}
// SAFETY: the same of `Matmul::run_packed`.
unsafe impl<T: Factor> Sync for Product<T, Packed<'_, T>> {}

/// Memory that is needed soon: the kernel asks for it along with its multiply-adds, some of it with each term of the products.
#[derive(Clone, Copy)]
pub(super) struct Walks<T> {
    first: Walk<T>,
    /// From one walk to the next.
    stride: usize,
    count: usize,
}

/// What a block of C asks for: with each term, as many lines as it has registers of columns.
#[derive(Clone, Copy)]
struct Walk<T> {
    start: *const T,
    /// From one term to the next.
    step: usize,
    /// From one line to the next.
    across: usize,
}

/// What is needed behind a product whose right factor is packed.
pub(super) enum Coming<T> {
    /// For some rows of C, the next rows of A.
    Rows,
    Walks([Walks<T>; 2]),
    Nothing,
}

/// The lines of a walk, with the kernels that have one: those of packed right factors.
const LINES: usize = 2;

impl<T> Walks<T> {
    pub(super) const NONE: Walks<T> = {
        let first = Walk { start: std::ptr::null(), step: 0, across: 0 };
        Walks { first, stride: 0, count: 0 }
    };
}

impl<T> Operand<T> {
    /// Some columns, from row `p` on, of a matrix whose neighbours in a row are neighbours in memory: a row with each term.
    pub(super) fn walks(self, p: usize, columns: Range<usize>) -> Walks<T> {
        let across = LINE / size_of::<T>();
        let start = self.start.wrapping_add(p * self.row + columns.start);
        let first = Walk { start, step: self.row, across };
        Walks { first, stride: LINES * across, count: columns.len().div_ceil(LINES * across) }
    }

    /// Rows `rows` of such a matrix, by blocks of which there are `blocks`: an element of some rows with each term.
    fn walks_of_rows(self, rows: Range<usize>, blocks: usize) -> Walks<T> {
        let at_once = rows.len().div_ceil(LINES * blocks);
        let start = self.start.wrapping_add(rows.start * self.row);
        // Where the rows lie behind each other, several are one.
        let first = Walk { start, step: at_once, across: at_once * self.row };
        Walks { first, stride: LINES * at_once * self.row, count: rows.len().div_ceil(LINES * at_once) }
    }
}

/// A line of the cache, in bytes.
pub(super) const LINE: usize = 64;

/// The walks of some blocks: they are as far apart as they can be.
struct Pace<T> {
    walks: [Walks<T>; 2],
    /// The blocks from one walk to the next, and those until then.
    every: usize,
    wait: usize,
}

impl<T: Copy> Pace<T> {
    fn new(walks: [Walks<T>; 2], blocks: usize) -> Self {
        Pace { walks, every: (blocks / (walks[0].count + walks[1].count).max(1)).max(1), wait: 0 }
    }

    /// The walk of the next block. One that asks for nothing new asks for what it reads.
    #[inline(always)]
    fn next(&mut self, near: *const T) -> Walk<T> {
        let idle = Walk { start: near, step: 0, across: 0 };
        if self.wait > 0 {
            self.wait -= 1;
            return idle;
        }
        let Some(walks) = self.walks.iter_mut().find(|walks| walks.count > 0) else { return idle };
        let walk = walks.first;
        walks.first.start = walk.start.wrapping_add(walks.stride);
        walks.count -= 1;
        self.wait = self.every - 1;
        walk
    }
}

impl<T: Factor, B: Right<T>> Product<T, B> {
    /// Computes a tile of C on this thread.
    ///
    /// # Safety
    /// The tile lies inside C and nobody else touches it; what it needs of A and B can be read.
    pub(in super::super) unsafe fn compute(&self, isa: Isa, rows: Range<usize>, columns: Range<usize>) {
        let is_packed = self.b.is_packed();
        let reads_in_place = |b| is_for_few(&b, self.k, &rows, &columns);
        let by_few = !is_packed && (rows.len() == 1 || self.b.in_place().is_some_and(reads_in_place));
        let (bytes, way) = match by_few {
            _ if is_packed => (0, Way::Strips),
            true => (WIDE_PANEL_BYTES.min(2 * PANEL_WIDTH * self.k), Way::Few),
            false => (PANEL_BYTES.min(PANEL_WIDTH * self.k), Way::Strips),
        };
        // SAFETY: the caller's.
        stack::lend::<T, 1>([bytes], &mut |[packed]| unsafe {
            self.compute_by(isa, (rows.clone(), columns.clone()), way, packed);
        });
    }

    /// # Safety
    /// As for `compute`; `packed` has room for a panel of B, as this way packs it.
    unsafe fn compute_by(
        &self,
        isa: Isa,
        (rows, columns): (Range<usize>, Range<usize>),
        way: Way<'_, T>,
        packed: *mut T,
    ) {
        let Product { k, a, ref b, c, c_row, accumulate } = *self;
        let product = Product::<T, &dyn Panels<T>> { k, a, b, c, c_row, accumulate };
        T::on_factors(isa, Tile { of: &product, isa, rows, columns, way, packed });
    }
}

impl<T: Factor> Product<T, Packed<'_, T>> {
    /// Computes a tile of C on this thread, a block of rows after the other: a block is multiplied with all columns before the next one. So
    /// rows of A and C are read once.
    ///
    /// # Safety
    /// As for [`compute`](Product::compute).
    pub(super) unsafe fn compute_passing(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
        coming: &Coming<T>,
    ) {
        // SAFETY: the caller's; nothing is packed.
        unsafe { self.compute_by(isa, (rows, columns), Way::Passing(coming), std::ptr::null_mut()) }
    }
}

/// How a tile is computed.
#[derive(Clone, Copy)]
enum Way<'a, T> {
    /// Strip after strip, of which each is packed if it is not read in place.
    Strips,
    /// The same, with wide strips that few rows read in place.
    Few,
    /// Row after row, where all strips are packed.
    Passing(&'a Coming<T>),
}

/// The panel of B that a thread has packed: it stays in the first-level cache while rows of A pass by.
const PANEL_BYTES: usize = 48 * 1024;
/// The wide panel that few rows read.
const WIDE_PANEL_BYTES: usize = 64 * 1024;
/// Rows of a matrix that are a multiple of so many bytes apart, but not these alone, meet in so few sets of the second-level cache that a
/// part of them does not fit in.
const SAME_SETS: usize = 4096;

/// Whether few rows read wide strips of B where it is: it does not stay in the first-level cache.
fn is_for_few<T>(b: &Operand<T>, k: usize, rows: &Range<usize>, columns: &Range<usize>) -> bool {
    let row = b.row * size_of::<T>();
    let fits = columns.len().saturating_mul(k).saturating_mul(size_of::<T>()) <= PANEL_BYTES;
    rows.len() <= FEW_ROWS && !fits && (row <= SAME_SETS || !row.is_multiple_of(SAME_SETS))
}

/// A tile of a product.
struct Tile<'a, T: Factor> {
    of: &'a Product<T, &'a dyn Panels<T>>,
    isa: Isa,
    rows: Range<usize>,
    columns: Range<usize>,
    way: Way<'a, T>,
    packed: *mut T,
}

impl<T: Factor> FactorWork<T> for Tile<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Factors<Element = T>>(self) {
        // The instruction sets with registers of this width have 32 of them.
        const WIDEST: usize = 64;
        // SAFETY: as `Product::compute` requires.
        unsafe {
            if self.of.k == 0 && !self.of.accumulate {
                for i in self.rows {
                    let row = self.of.c.add(i * self.of.c_row + self.columns.start);
                    std::slice::from_raw_parts_mut(row, self.columns.len()).fill(T::Sum::ZERO);
                }
                return;
            }
            if self.rows.len() == 1 && matches!(self.way, Way::Few) {
                match self.of.b.in_place().filter(|_| self.columns.len() > 4 * V::LANES) {
                    Some(b) => self.of.row::<V>(b, self.rows.start, self.columns),
                    None => self.strips::<V, 1, 4>(),
                }
                return;
            }
            // The compiler makes no copies that this constant excludes.
            if const { V::LANES * size_of::<T>() == WIDEST } {
                match self.way {
                    Way::Few => self.strips::<V, 6, 4>(),
                    _ => self.strips::<V, 8, 2>(),
                }
            } else {
                self.strips::<V, 6, 2>();
            }
        }
    }
}

impl<T: Factor> Tile<'_, T> {
    /// Cuts the tile into strips of `WIDTH` registers of columns, and k so that the panel of B for a strip fits. Rows that pass by are cut
    /// before, and k is whole.
    ///
    /// # Safety
    /// As for [`Product::compute`]; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn strips<V: Factors<Element = T>, const HEIGHT: usize, const WIDTH: usize>(&self) {
        let Tile { of, isa, ref rows, ref columns, ref way, packed } = *self;
        let panel = if WIDTH > 2 { WIDE_PANEL_BYTES } else { PANEL_BYTES };
        let passing = match *way {
            Way::Passing(coming) => Some(coming),
            _ => None,
        };
        let deepest = if passing.is_some() { of.k } else { panel / size_of::<T>() / (WIDTH * V::LANES) };
        let chunks = of.k.div_ceil(deepest.max(1));
        let depth = of.k.div_ceil(chunks.max(1));
        let few_rows = WIDTH > 2 || rows.len() <= 2 * HEIGHT;
        let across = columns.len().div_ceil(WIDTH * V::LANES).max(1);
        let blocks = across * rows.len().div_ceil(HEIGHT);
        let mut pace = match passing {
            Some(Coming::Walks(walks)) => Pace::new(*walks, blocks),
            _ => Pace::new([Walks::NONE; 2], 1),
        };
        for chunk in 0..chunks {
            let inner = chunk * depth..of.k.min((chunk + 1) * depth);
            let add = of.accumulate || chunk > 0;
            let mut i = rows.start;
            while i < rows.end {
                let some = match passing {
                    Some(_) => i..i + height_of::<V, HEIGHT>(rows.end - i),
                    None => rows.clone(),
                };
                if let Some(Coming::Rows) = passing
                    && of.a.column == 1
                {
                    pace = Pace::new(
                        [of.a.walks_of_rows(some.end..some.end + HEIGHT, across), Walks::NONE],
                        across,
                    );
                }
                let mut j = columns.start;
                while j < columns.end {
                    let registers = match (columns.end - j).div_ceil(V::LANES) {
                        count if count >= WIDTH => WIDTH,
                        1 => 1,
                        _ => 2,
                    };
                    let step = registers * V::LANES;
                    let width = step.min(columns.end - j);
                    let (row, widest) = (inner.start, WIDTH * V::LANES);
                    // SAFETY: the strip is inside the tile, and `packed` holds `depth` rows of WIDTH registers.
                    unsafe {
                        let columns = Columns { row, first: j, width, step, widest, few_rows };
                        let (b, ahead) = match of.b.strip(&columns) {
                            Some(strip) => strip,
                            None => {
                                of.b.pack_on(isa, packed, step, inner.clone(), j..j + width);
                                (Operand { start: packed.cast_const(), row: step, column: 1 }, 0)
                            }
                        };
                        let walk = match ahead {
                            0 => pace.next(b.start),
                            _ => Walk { start: b.start.wrapping_add(ahead), step: b.row, across: V::LANES },
                        };
                        let strip = Strip { inner: inner.clone(), first: j, width, b, walk, add };
                        match registers {
                            1 => of.blocks::<V, HEIGHT, 1>(some.clone(), &strip),
                            2 if const { WIDTH > 2 } => of.blocks::<V, HEIGHT, 2>(some.clone(), &strip),
                            _ => of.blocks::<V, HEIGHT, WIDTH>(some.clone(), &strip),
                        }
                    }
                    j += width;
                }
                i = some.end;
            }
        }
    }
}

/// The rows of the next block, of `rest` ones. The last two blocks share their rows: a block of few rows takes nearly as long as a whole one.
#[inline(always)]
fn height_of<V: Factors, const HEIGHT: usize>(rest: usize) -> usize {
    match rest {
        // There are no copies of the kernel for other heights.
        _ if const { has_few::<V>() } => match rest {
            rest if rest >= HEIGHT => HEIGHT,
            4.. => 4,
            2.. => 2,
            _ => 1,
        },
        rest if rest > HEIGHT && rest < 2 * HEIGHT => rest.div_ceil(2),
        rest => rest.min(HEIGHT),
    }
}

/// Whether kernels of these registers have few shapes.
const fn has_few<V: Factors>() -> bool {
    V::Sums::REGISTERS <= FEW_REGISTERS
}

impl<T: Factor> Product<T, &dyn Panels<T>> {
    /// Computes a row of a tile, where B is in memory: some rows of B at a time, each from its begin to its end. So B comes from
    /// memory in its order, which is several times as fast as by columns.
    ///
    /// # Safety
    /// As for [`Product::compute`]; B is in memory, and the machine has the instruction set of `V`.
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
    /// As for `row`.
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

    /// Computes rows of a strip, `HEIGHT` of them at a time.
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
            let height = height_of::<V, HEIGHT>(rows.end - i);
            // SAFETY: the block is inside the strip. The compiler makes no copies for heights that the constants exclude.
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

    /// Computes `HEIGHT` rows of a strip, whose sums are held in registers.
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
            } else if strip.inner.len() >= WORTH_FETCHING {
                for r in 0..HEIGHT {
                    for w in 0..WIDTH {
                        fetch(c.wrapping_add(r * self.c_row + w * V::LANES));
                    }
                }
            }
            let mut offset = 0;
            let mut b = strip.b.start;
            let Walk { start: mut ahead, step, across } = strip.walk;
            for _ in strip.inner.clone() {
                let mut columns = [V::splat(T::ZERO); WIDTH];
                for (w, column) in columns.iter_mut().enumerate() {
                    *column = V::load(b.add(w * V::LANES));
                }
                for w in 0..WIDTH {
                    fetch(ahead.wrapping_add(w * across));
                }
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let value = V::splat(*row.add(offset));
                    for (column, sum) in columns.iter().zip(sums) {
                        *sum = value.multiply(*column, *sum);
                    }
                }
                offset += self.a.column;
                // After the last row these are outside of the memory, and not read.
                (b, ahead) = (b.wrapping_add(strip.b.row), ahead.wrapping_add(step));
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

/// With so many terms, C comes from memory while they are added up.
const WORTH_FETCHING: usize = 16;

/// Some columns of a tile, over a part of k.
struct Strip<T> {
    inner: Range<usize>,
    /// The first column.
    first: usize,
    width: usize,
    /// The rows `inner` of these columns, in whole registers.
    b: Operand<T>,
    /// What each block asks for.
    walk: Walk<T>,
    /// Adds to C.
    add: bool,
}
