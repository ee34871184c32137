//! Packing: numbers are rounded to bf16, and become tiles.
#![allow(unsafe_code, reason = "vector instructions, and matrices through raw pointers")]

use std::arch::x86_64::*;
use std::ops::Range;

use super::{DEPTH, SIDE, TILE};
use crate::cpu::pairs::{Pair, in_turn, pairs_of};

/// A factor as lines along the inner dimension: the rows of a left factor, the columns of a right one. Element `i` of line `j`
/// is `start[j * line + i * inner]`; one of the steps is 1.
#[derive(Clone, Copy)]
pub(in super::super) struct Lines {
    pub(in super::super) start: *const f32,
    pub(in super::super) line: usize,
    pub(in super::super) inner: usize,
    /// The number of lines, and of the elements of each.
    pub(in super::super) lines: usize,
    pub(in super::super) depth: usize,
}

// SAFETY: a factor is only read, and those who make one answer for its memory.
unsafe impl Sync for Lines {}

/// What a row of a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Row {
    /// A line: of a left factor.
    Lines,
    /// The same pair of each line: of a right factor.
    Pairs,
}

impl Lines {
    /// Packs the lines from `first` on: for each of some tiles of the inner dimension, two tiles, of 16 lines each. Lines and
    /// elements that the factor does not have are zero, but a tile without any lines is left as it is: nothing is multiplied
    /// with it.
    ///
    /// # Safety
    /// The machine has AVX-512 BF16, the lines can be read, and `to` is valid for writing as many tiles.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(in super::super) unsafe fn pack(
        &self,
        first: usize,
        tiles: Range<usize>,
        (row, part): (Row, Part),
        to: *mut Pair,
    ) {
        let mut to = to;
        for tile in tiles {
            for first in [first, first + SIDE] {
                let lines = self.lines.saturating_sub(first).min(SIDE);
                if lines == 0 {
                    to = to.wrapping_add(TILE);
                    continue;
                }
                let depth = (self.depth - tile * DEPTH).min(DEPTH);
                let start = self.start.wrapping_add(first * self.line + tile * DEPTH * self.inner);
                // SAFETY: the caller's; what is read is inside of the lines.
                unsafe {
                    let (registers, has) = match self.inner {
                        1 => (along(start, self.line, [lines, depth], part), Row::Lines),
                        _ => (across(start, self.inner, [lines, depth], part), Row::Pairs),
                    };
                    let registers = if has == row { registers } else { transposed(registers) };
                    for (at, register) in registers.into_iter().enumerate() {
                        _mm512_storeu_si512(to.add(at * SIDE).cast(), register);
                    }
                    to = to.add(TILE);
                }
            }
        }
    }
}

/// Which of the numbers in bf16 whose sum a number is, or nearly so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Part {
    /// The nearest one.
    First,
    /// The one that is nearest to the rest; zero if the first is not finite.
    Rest,
}

impl Part {
    /// What is rounded for this part.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    #[inline]
    fn of(self, numbers: __m512) -> __m512 {
        match self {
            Part::First => numbers,
            Part::Rest => {
                // SAFETY: sixteen bf16 numbers have 16 bits each.
                let first = unsafe { std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(numbers)) };
                let first = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(first));
                let exponent = _mm512_set1_epi32(0x7F80_0000);
                let is_finite = _mm512_cmpneq_epi32_mask(_mm512_and_si512(first, exponent), exponent);
                _mm512_maskz_sub_ps(is_finite, numbers, _mm512_castsi512_ps(first))
            }
        }
    }
}

/// The mask of the first `count` lanes, of 16 at most.
fn first_lanes(count: usize) -> u16 {
    ((1u32 << count.min(SIDE)) - 1) as u16
}

/// The pairs of each line, whose elements are neighbours.
///
/// # Safety
/// The machine has AVX-512 BF16, and the lines have as many elements.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn along(start: *const f32, step: usize, [lines, depth]: [usize; 2], part: Part) -> [__m512i; SIDE] {
    let mut registers = [_mm512_setzero_si512(); SIDE];
    let [low, high] = [first_lanes(depth), first_lanes(depth.saturating_sub(SIDE))];
    for (at, register) in registers.iter_mut().enumerate().take(lines) {
        let from = start.wrapping_add(at * step);
        // SAFETY: the masks leave out what is behind the line.
        unsafe {
            let low = part.of(_mm512_maskz_loadu_ps(low, from));
            let high = part.of(_mm512_maskz_loadu_ps(high, from.wrapping_add(SIDE)));
            *register = pairs_of([low, high]);
        }
    }
    registers
}

/// The same pair of all lines, whose elements of the same number are neighbours.
///
/// # Safety
/// As for [`along`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn across(start: *const f32, step: usize, [lines, depth]: [usize; 2], part: Part) -> [__m512i; SIDE] {
    let mut registers = [_mm512_setzero_si512(); SIDE];
    let mask = first_lanes(lines);
    for (at, register) in registers.iter_mut().enumerate().take(depth.div_ceil(2)) {
        let from = start.wrapping_add(2 * at * step);
        // SAFETY: the masks leave out what is behind the lines.
        unsafe {
            let second = if 2 * at + 1 < depth { mask } else { 0 };
            let first = part.of(_mm512_maskz_loadu_ps(mask, from));
            let second = part.of(_mm512_maskz_loadu_ps(second, from.wrapping_add(step)));
            *register = in_turn([first, second]);
        }
    }
    registers
}

/// Sixteen registers of sixteen lanes: lane `i` of register `j` becomes lane `j` of register `i`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(in super::super) fn transposed(rows: [__m512i; SIDE]) -> [__m512i; SIDE] {
    let mut twos = rows;
    for at in (0..SIDE).step_by(2) {
        twos[at] = _mm512_unpacklo_epi32(rows[at], rows[at + 1]);
        twos[at + 1] = _mm512_unpackhi_epi32(rows[at], rows[at + 1]);
    }
    // Within each quarter of a register, four lanes of four rows.
    let mut fours = twos;
    for at in (0..SIDE).step_by(4) {
        for half in 0..2 {
            fours[at + 2 * half] = _mm512_unpacklo_epi64(twos[at + half], twos[at + half + 2]);
            fours[at + 2 * half + 1] = _mm512_unpackhi_epi64(twos[at + half], twos[at + half + 2]);
        }
    }
    let mut eights = fours;
    for at in 0..4 {
        for half in [0, 8] {
            eights[half + at] = _mm512_shuffle_i32x4::<0b10_00_10_00>(fours[half + at], fours[half + at + 4]);
            eights[half + at + 4] =
                _mm512_shuffle_i32x4::<0b11_01_11_01>(fours[half + at], fours[half + at + 4]);
        }
    }
    let mut columns = eights;
    for at in 0..8 {
        columns[at] = _mm512_shuffle_i32x4::<0b10_00_10_00>(eights[at], eights[at + 8]);
        columns[at + 8] = _mm512_shuffle_i32x4::<0b11_01_11_01>(eights[at], eights[at + 8]);
    }
    columns
}
