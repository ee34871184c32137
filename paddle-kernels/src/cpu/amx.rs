//! Products of `f32` numbers that are rounded to bf16, by AMX, Intel's instructions for matrices.
//!
//! A tile is a register of 16 rows of 16 pairs, or of 16 sums. One instruction adds the product of two tiles to a third: of 16
//! rows and 16 columns, along 32 elements of the inner dimension. It first adds up the products of the first numbers of all 16
//! pairs, and those of the second ones, and adds both to the sums. So the bits of an element depend on its row of A and its
//! column of B alone, as in other products (see [`matmul`](super::matmul)), but they are not those that other instructions give.
//! Numbers below the smallest normal one count as zero.
//!
//! With [`Factors::Sums`], factors are sums of two numbers in bf16, and three products are added up.
//!
//! The factors are packed to tiles: B as a whole, before the product, and the rows of A that a thread multiplies, by that
//! thread. Elements beyond a factor are zero. Convolutions pack what they meet, and use the same blocks.
#![allow(unsafe_code, reason = "instructions for tiles, and matrices through raw pointers")]

mod pack;
mod permission;

use std::arch::asm;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

pub(super) use self::pack::{Lines, Part, Row, transposed};
pub(super) use self::permission::is_permitted;
use super::kernel::Machine;
use super::matmul::Matmul;
use super::pairs::Pair;
use super::shared::Shared;

/// The rows and the columns of a tile.
pub(super) const SIDE: usize = 16;
/// The pairs of a tile.
pub(super) const TILE: usize = SIDE * SIDE;
/// The elements of the inner dimension that a tile has.
pub(super) const DEPTH: usize = 2 * SIDE;
/// The rows and the columns of a block of C: two tiles each, so that each tile that is loaded is multiplied twice.
pub(super) const BLOCK: usize = 2 * SIDE;
/// The tiles of the inner dimension that are multiplied before the next rows of B: those of two rows of A fill two thirds of the
/// first-level cache, and B passes by.
pub(super) const MOST_TILES: usize = 16;
/// About so many pairs are packed at once: a few microseconds of work.
const PIECE: usize = 1 << 14;
/// Fewer numbers than this are not worth a team that packs them: they take some ten microseconds on one thread.
const WORTH_PACKING: usize = 1 << 17;
/// Fewer multiply-adds than this are not worth a team: they take a few microseconds on one thread.
const WORTH_A_TEAM: usize = 1 << 20;

/// What the factors are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factors {
    /// A number in bf16.
    Numbers,
    /// The sum of two.
    Sums,
}

impl Factors {
    fn parts(self) -> &'static [Part] {
        match self {
            Factors::Numbers => &[Part::First],
            Factors::Sums => &[Part::First, Part::Rest],
        }
    }

    /// The parts of the two factors that are multiplied: all but the rests with each other.
    fn products(self) -> &'static [[usize; 2]] {
        match self {
            Factors::Numbers => &[[0, 0]],
            Factors::Sums => &[[0, 0], [0, 1], [1, 0]],
        }
    }
}

/// The tiles that `elements` of the inner dimension fill.
fn deep(elements: usize) -> usize {
    elements.div_ceil(DEPTH)
}

/// The pairs to which a right factor is packed: for each two tiles of columns, for each part, for all tiles of the inner
/// dimension, both tiles.
pub(super) fn packed_len(product: &Matmul, factors: Factors) -> usize {
    product.n.div_ceil(BLOCK) * factors.parts().len() * deep(product.k) * 2 * TILE
}

/// Packs `matrices` right factors, which are one behind the other.
pub(super) fn pack_right(
    machine: &Machine,
    (product, factors): (&Matmul, Factors),
    matrices: usize,
    from: &[f32],
    to: &mut [Pair],
) {
    let Matmul { n, k, trans_b, .. } = *product;
    let (tiles, across) = (deep(k), n.div_ceil(BLOCK));
    assert_eq!([from.len(), to.len()], [matrices * n * k, matrices * packed_len(product, factors)]);
    // In the order of the factor in memory: a tile of the inner dimension for all columns, or columns for all of the inner
    // dimension.
    let (parts, pairs) = if trans_b { (across, tiles * 2 * TILE) } else { (tiles, across * 2 * TILE) };
    let (count, at_once) = (matrices * parts, (PIECE / pairs.max(1)).max(1));
    let shared = Shared(to.as_mut_ptr());
    machine.team.run_if(from.len() >= WORTH_PACKING, count.div_ceil(at_once), &|piece| {
        for part in piece * at_once..count.min((piece + 1) * at_once) {
            let (matrix, part) = (part / parts, part % parts);
            let start = from[matrix * n * k..].as_ptr();
            let (lines, panels, inner) = match trans_b {
                true => (Lines { start, line: k, inner: 1, lines: n, depth: k }, part..part + 1, 0..tiles),
                false => (Lines { start, line: 1, inner: n, lines: n, depth: k }, 0..across, part..part + 1),
            };
            for panel in panels {
                for (number, &part) in factors.parts().iter().enumerate() {
                    let panel_part = (matrix * across + panel) * factors.parts().len() + number;
                    let to = shared.at((panel_part * tiles + inner.start) * 2 * TILE);
                    // SAFETY: there is an `Isa` with tiles only where the machine has them. These tiles of the panel are this
                    // piece's own, and the factor has these lines.
                    unsafe { lines.pack(panel * BLOCK, inner.clone(), (Row::Pairs, part), to) };
                }
            }
        }
    });
}

/// Products with packed right factors.
pub(super) struct Products<'a> {
    pub(super) product: Matmul,
    pub(super) factors: Factors,
    pub(super) count: usize,
    /// The left factors, and the packed right ones, one behind the other.
    pub(super) left: &'a [f32],
    pub(super) right: &'a [Pair],
    /// The numbers of the two factors of a product.
    pub(super) factors_of: &'a (dyn Fn(usize) -> [usize; 2] + Sync),
}

impl Products<'_> {
    /// The blocks of columns that are one tile of work. What a thread computes are whole rows, for which it packs the left
    /// factor once, if there are enough of them for the team.
    fn columns_at_once(&self, machine: &Machine) -> usize {
        let Matmul { m, n, .. } = self.product;
        let (bands, panels) = (self.count * m.div_ceil(BLOCK), n.div_ceil(BLOCK).max(1));
        let parts = match machine.team.threads() {
            1 => 1,
            threads => (2 * threads).div_ceil(bands.max(1)).min(panels),
        };
        panels.div_ceil(parts)
    }

    /// Computes all products, one behind the other in `c`. Returns whether `finish` was called with the elements of C, as soon
    /// as they were final: it is so where what threads compute are whole rows.
    ///
    /// # Safety
    /// `c` is valid for writing as many products, on any thread, and nothing else touches it meanwhile.
    pub(super) unsafe fn run(
        &self,
        machine: &Machine,
        c: *mut f32,
        finish: &(dyn Fn(Range<usize>) + Sync),
    ) -> bool {
        let Products { product, factors, count, left, right, factors_of } = *self;
        let Matmul { m, n, k, trans_a, .. } = product;
        let at_once = self.columns_at_once(machine);
        let (bands, parts) = (m.div_ceil(BLOCK), n.div_ceil(BLOCK).div_ceil(at_once));
        let is_whole = parts == 1;
        let to = Shared(c);
        let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(count);
        machine.team.run_if(work >= WORTH_A_TEAM, count * bands * parts, &|index| {
            let (band, part) = (index / parts, index % parts);
            let (at, rows) = (band / bands, band % bands * BLOCK);
            let rows = rows..m.min(rows + BLOCK);
            let columns = part * at_once * BLOCK..n.min((part + 1) * at_once * BLOCK);
            let [a, b] = factors_of(at);
            let start = left[a * m * k..].as_ptr();
            let lines = match trans_a {
                true => Lines { start, line: 1, inner: m, lines: m, depth: k },
                false => Lines { start, line: k, inner: 1, lines: m, depth: k },
            };
            let packed = packed_len(&product, factors);
            let band = Band { factors, lines, right: &right[b * packed..][..packed], columns: n };
            // SAFETY: these rows and columns of this product are this tile's own.
            unsafe { band.multiply(rows.clone(), columns, to.at(at * m * n)) };
            if is_whole {
                finish((at * m + rows.start) * n..(at * m + rows.end) * n);
            }
        });
        is_whole
    }
}

/// Some rows of a product.
struct Band<'a> {
    factors: Factors,
    /// The rows of the left factor.
    lines: Lines,
    right: &'a [Pair],
    /// The columns of C.
    columns: usize,
}

impl Band<'_> {
    /// Multiplies at most [`BLOCK`] rows with some columns, of which the first is at the beginning of a panel.
    ///
    /// # Safety
    /// The machine has tiles, `c` is valid for writing these rows and columns, and nobody else touches them.
    unsafe fn multiply(&self, rows: Range<usize>, columns: Range<usize>, c: *mut f32) {
        let tiles = deep(self.lines.depth);
        let step = self.columns;
        if tiles == 0 {
            for row in rows {
                // SAFETY: the caller's.
                unsafe { c.add(row * step + columns.start).write_bytes(0, columns.len()) };
            }
            return;
        }
        let (parts, products) = (self.factors.parts(), self.factors.products());
        // As many for each part.
        let mut packed = [const { Packed::new() }; 2];
        let packed = packed.each_mut().map(Packed::tiles);
        // SAFETY: the caller's; there is room for the most tiles of two rows.
        unsafe {
            let in_use = Configured::new();
            let at_once = MOST_TILES / parts.len();
            for first in (0..tiles).step_by(at_once) {
                let chunk = first..tiles.min(first + at_once);
                for (&part, to) in parts.iter().zip(packed) {
                    self.lines.pack(rows.start, chunk.clone(), (Row::Lines, part), to);
                }
                for column in columns.clone().step_by(BLOCK) {
                    let size = [rows.len(), BLOCK.min(columns.end - column)];
                    let c = c.add(rows.start * step + column);
                    for (at, &[left, right]) in products.iter().enumerate() {
                        let panel = column / BLOCK * parts.len() + right;
                        let right = self.right[(panel * tiles + first) * 2 * TILE..].as_ptr();
                        let add = first > 0 || at > 0;
                        in_use.block([packed[left], right], chunk.len(), (c, step), size, add);
                    }
                }
            }
        }
    }
}

/// Two rows of tiles, or two columns of them.
#[repr(align(64))]
pub(super) struct Packed(MaybeUninit<[Pair; MOST_TILES * 2 * TILE]>);

impl Packed {
    pub(super) const fn new() -> Packed {
        Packed(MaybeUninit::uninit())
    }

    pub(super) fn tiles(&mut self) -> *mut Pair {
        self.0.as_mut_ptr().cast()
    }
}

/// The sums of a block of which only a part is in C.
#[repr(align(64))]
struct Sums(MaybeUninit<[f32; BLOCK * BLOCK]>);

/// Defines a function that computes tiles of C, whose rows are `step` elements apart, from `depth` tiles of each row and of each
/// column of tiles; or adds to them. Left tiles are in `tmm4` and `tmm5`, right ones in `tmm6` and `tmm7`, and two of each
/// follow each other in memory.
macro_rules! product_of_tiles {
    ($name:ident: load $load:tt, zero $zero:tt, step $step:tt, store $store:tt) => {
        /// # Safety
        /// There are as many tiles, and the tiles of C are valid for writing; if they are added to, for reading. The machine has
        /// tiles, and they are configured.
        #[inline]
        unsafe fn $name([a, b]: [*const Pair; 2], depth: usize, (c, step): (*mut f32, usize), add: bool) {
            product_of_tiles!(@ a, b, depth, c, step, add, $load, $zero, $step, $store)
        }
    };
    (@ $a:ident, $b:ident, $depth:ident, $c:ident, $of:ident, $add:ident,
        [$($load:literal)*], [$($zero:literal)*], [$($step:literal)*], [$($store:literal)*]) => {
        // SAFETY: the caller's. All that is read and written are the two factors' tiles and those of C.
        unsafe {
            asm!(
                "test {add}, {add}",
                "jz 2f",
                $($load,)*
                "jmp 3f",
                "2:",
                $($zero,)*
                "3:",
                $($step,)*
                "add {a}, 2048",
                "add {b}, 2048",
                "dec {depth}",
                "jnz 3b",
                $($store,)*
                add = in(reg) usize::from($add),
                a = inout(reg) $a => _,
                b = inout(reg) $b => _,
                depth = inout(reg) $depth => _,
                c = in(reg) $c,
                lower = in(reg) $c.wrapping_add(SIDE * $of),
                step = in(reg) $of * size_of::<f32>(),
                row = in(reg) SIDE * size_of::<Pair>(),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    };
}

product_of_tiles!(two_by_two:
    load [
        "tileloadd tmm0, [{c} + {step}]"
        "tileloadd tmm1, [{c} + {step} + 64]"
        "tileloadd tmm2, [{lower} + {step}]"
        "tileloadd tmm3, [{lower} + {step} + 64]"
    ],
    zero ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"],
    step [
        "tileloadd tmm4, [{a} + {row}]"
        "tileloadd tmm6, [{b} + {row}]"
        "tileloadd tmm7, [{b} + {row} + 1024]"
        "tileloadd tmm5, [{a} + {row} + 1024]"
        "tdpbf16ps tmm0, tmm4, tmm6"
        "tdpbf16ps tmm1, tmm4, tmm7"
        "tdpbf16ps tmm2, tmm5, tmm6"
        "tdpbf16ps tmm3, tmm5, tmm7"
    ],
    store [
        "tilestored [{c} + {step}], tmm0"
        "tilestored [{c} + {step} + 64], tmm1"
        "tilestored [{lower} + {step}], tmm2"
        "tilestored [{lower} + {step} + 64], tmm3"
    ]
);

// Each operand has to be named in the text, if only in a comment.
product_of_tiles!(one_by_two:
    load ["tileloadd tmm0, [{c} + {step}]" "tileloadd tmm1, [{c} + {step} + 64]"],
    zero ["tilezero tmm0" "tilezero tmm1"],
    step [
        "tileloadd tmm4, [{a} + {row}]"
        "tileloadd tmm6, [{b} + {row}]"
        "tileloadd tmm7, [{b} + {row} + 1024]"
        "tdpbf16ps tmm0, tmm4, tmm6"
        "tdpbf16ps tmm1, tmm4, tmm7"
    ],
    store ["tilestored [{c} + {step}], tmm0" "/* {lower} */ tilestored [{c} + {step} + 64], tmm1"]
);

product_of_tiles!(two_by_one:
    load ["tileloadd tmm0, [{c} + {step}]" "tileloadd tmm2, [{lower} + {step}]"],
    zero ["tilezero tmm0" "tilezero tmm2"],
    step [
        "tileloadd tmm4, [{a} + {row}]"
        "tileloadd tmm6, [{b} + {row}]"
        "tileloadd tmm5, [{a} + {row} + 1024]"
        "tdpbf16ps tmm0, tmm4, tmm6"
        "tdpbf16ps tmm2, tmm5, tmm6"
    ],
    store ["tilestored [{c} + {step}], tmm0" "tilestored [{lower} + {step}], tmm2"]
);

/// This thread's tiles, while they are in use.
pub(super) struct Configured(PhantomData<*const ()>);

impl Configured {
    /// Gives all tiles 16 rows of 64 bytes.
    ///
    /// # Safety
    /// The machine has tiles, and this thread does not use them yet.
    pub(super) unsafe fn new() -> Configured {
        #[repr(C, align(64))]
        struct Config {
            palette: u8,
            start: u8,
            reserved: [u8; 14],
            bytes: [u16; 16],
            rows: [u8; 16],
        }
        static ALL: Config = Config {
            palette: 1,
            start: 0,
            reserved: [0; 14],
            bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
            rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
        };
        // SAFETY: the caller's. Nothing is written but the tiles, which the compiler does not use.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const ALL, options(nostack, readonly, preserves_flags));
        }
        Configured(PhantomData)
    }

    /// Computes a block of C, whose rows are `step` elements apart, from `depth` tiles of two rows and of two columns.
    ///
    /// # Safety
    /// As many tiles are there, and the block is valid for writing; if it is added to, for reading.
    pub(super) unsafe fn block(
        &self,
        tiles: [*const Pair; 2],
        depth: usize,
        (c, step): (*mut f32, usize),
        size: [usize; 2],
        add: bool,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match size {
                [BLOCK, BLOCK] => two_by_two(tiles, depth, (c, step), add),
                [BLOCK, SIDE] => two_by_one(tiles, depth, (c, step), add),
                [SIDE, BLOCK] => one_by_two(tiles, depth, (c, step), add),
                _ => self.rows(tiles, depth, |row| c.add(row * step), size, add),
            }
        }
    }

    /// Like [`block`](Self::block), of rows that are anywhere.
    ///
    /// # Safety
    /// As for `block`, of each row.
    #[inline]
    pub(super) unsafe fn rows(
        &self,
        tiles: [*const Pair; 2],
        depth: usize,
        c: impl Fn(usize) -> *mut f32,
        size: [usize; 2],
        add: bool,
    ) {
        // SAFETY: the caller's. The sums are a whole block, of which the part that is in C is copied.
        unsafe {
            let mut sums = Sums(MaybeUninit::uninit());
            let to = sums.0.as_mut_ptr().cast::<f32>();
            let [rows, columns] = size;
            if add {
                // What is added to elements that the block does not have is not used.
                to.write_bytes(0, BLOCK * BLOCK);
                for row in 0..rows {
                    c(row).copy_to_nonoverlapping(to.add(row * BLOCK), columns);
                }
            }
            match [rows <= SIDE, columns <= SIDE] {
                [true, _] => one_by_two(tiles, depth, (to, BLOCK), add),
                [false, true] => two_by_one(tiles, depth, (to, BLOCK), add),
                [false, false] => two_by_two(tiles, depth, (to, BLOCK), add),
            }
            for row in 0..rows {
                to.add(row * BLOCK).copy_to_nonoverlapping(c(row), columns);
            }
        }
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        // SAFETY: the machine has tiles, and nobody needs what is in them. Tiles in use slow the processor down, and are saved
        // whenever the system takes a thread off it.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    }
}

#[cfg(test)]
mod tests;
