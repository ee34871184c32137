//! Filters as a right factor: a row for each value that a result meets, a column for each outer channel.
#![allow(unsafe_code, reason = "gathers through raw pointers")]

use std::arch::x86_64::*;

use super::strip::Strips;
use crate::cpu::amx::{BLOCK, DEPTH, SIDE, TILE, transposed};
use crate::cpu::pairs::{Pair, pairs_of};
use crate::cpu::shared::Shared;
use crate::team::Team;

/// Filters that results meet in the order of these strips.
pub(super) struct PackedFilters {
    pub(super) strips: Strips,
    /// The width of a filter.
    pub(super) width: usize,
    /// The channels of results.
    pub(super) outer: usize,
}

impl PackedFilters {
    /// The pairs of all tiles.
    pub(super) fn len(&self) -> usize {
        self.outer.div_ceil(BLOCK) * self.strips.tiles() * 2 * TILE
    }

    /// Packs filters. `distances` are those of neighbouring outer and inner channels in `filters`.
    pub(super) fn pack(&self, team: &Team, filters: &[f32], [outer, inner]: [usize; 2], to: &mut [Pair]) {
        assert_eq!(to.len(), self.len());
        let tiles = self.strips.tiles();
        let to = Shared(to.as_mut_ptr());
        team.run_if(filters.len() > 1 << 14, tiles, &|tile| {
            let elements = self.strips.met(tile, self.width, inner);
            for block in 0..self.outer.div_ceil(BLOCK) {
                // Nothing is multiplied with a tile without any lines.
                for half in 0..(self.outer - block * BLOCK).div_ceil(SIDE).min(2) {
                    let first = block * BLOCK + half * SIDE;
                    let lines = (self.outer - first).min(SIDE);
                    // SAFETY: there is an `Isa` with tiles only where the machine has them. The filters have these elements, and
                    // nobody else writes this tile.
                    unsafe {
                        let start = filters.as_ptr().wrapping_add(first * outer);
                        let to = to.at(((block * tiles + tile) * 2 + half) * TILE);
                        pack_tile(start, outer, lines, elements, to);
                    }
                }
            }
        });
    }
}

/// Packs a tile: for each of some lines, the elements at these offsets, as many as are counted.
///
/// # Safety
/// The machine has AVX-512 BF16, the lines have these elements, and `to` is valid for writing a tile.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_tile(
    start: *const f32,
    line: usize,
    lines: usize,
    (offsets, count): ([i32; DEPTH], usize),
    to: *mut Pair,
) {
    let mask = (u64::MAX >> (64 - count)) as u32;
    let mut registers = [_mm512_setzero_si512(); SIDE];
    // SAFETY: the caller's; what is behind the elements is masked off.
    unsafe {
        let at = [0, SIDE].map(|first| _mm512_loadu_si512(offsets[first..].as_ptr().cast()));
        for (number, register) in registers.iter_mut().enumerate().take(lines) {
            let from = start.wrapping_add(number * line);
            let zero = _mm512_setzero_ps();
            let low = _mm512_mask_i32gather_ps::<4>(zero, mask as u16, at[0], from);
            let high = _mm512_mask_i32gather_ps::<4>(zero, (mask >> 16) as u16, at[1], from);
            *register = pairs_of([low, high]);
        }
        for (row, register) in transposed(registers).into_iter().enumerate() {
            _mm512_storeu_si512(to.add(row * SIDE).cast(), register);
        }
    }
}
