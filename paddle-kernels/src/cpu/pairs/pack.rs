//! Packing: matrices of numbers become matrices of pairs.
#![allow(unsafe_code, reason = "vector instructions, and pieces of a matrix on several threads")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::Pair;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::Machine;
use crate::cpu::shared::Shared;

/// About so many numbers are packed at once: a few microseconds of work.
const PIECE: usize = 1 << 15;

/// Which neighbours become a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Neighbours in a line.
    Along,
    /// Neighbours of two lines.
    Across,
}

/// Matrices of `f32` numbers, one behind the other, each of which becomes a matrix of pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairing {
    pub(crate) matrices: usize,
    /// The lines of a matrix, and the numbers of a line.
    pub(crate) lines: usize,
    pub(crate) length: usize,
    pub(crate) way: Way,
}

impl Pairing {
    /// The lines of a matrix of pairs, and the pairs of a line.
    fn packed(&self) -> [usize; 2] {
        match self.way {
            Way::Along => [self.lines, self.length.div_ceil(2)],
            Way::Across => [self.lines.div_ceil(2), self.length],
        }
    }

    /// The number of all pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.matrices * self.packed().iter().product::<usize>()
    }

    /// Packs all matrices.
    pub(crate) fn pack(&self, machine: &Machine, from: &[f32], to: &mut [Pair]) {
        let Pairing { matrices, lines, length, way } = *self;
        assert_eq!([from.len(), to.len()], [matrices * lines * length, self.pairs()]);
        let [packed_lines, width] = self.packed();
        let (count, at_once) = (matrices * packed_lines, (PIECE / length.max(1)).max(1));
        let shared = Shared(to.as_mut_ptr());
        machine.team.run_if(from.len() > 2 * PIECE, count.div_ceil(at_once), &|piece| {
            let first = piece * at_once;
            let end = count.min(first + at_once);
            // SAFETY: the lines of a piece are its own, and inside of the pairs.
            let to =
                unsafe { std::slice::from_raw_parts_mut(shared.at(first * width), (end - first) * width) };
            match way {
                Way::Along => along(machine.isa, &from[first * length..end * length], [length, width], to),
                Way::Across => {
                    for (to, line) in to.chunks_exact_mut(width.max(1)).zip(first..end) {
                        let (matrix, line) = (line / packed_lines, line % packed_lines * 2);
                        let count = (lines - line).min(2);
                        let from = &from[(matrix * lines + line) * length..][..count * length];
                        neighbours(machine.isa, from, [length, count], length, to);
                    }
                }
            }
        });
    }
}

/// Packs lines of `length` numbers to lines of `width` pairs.
fn along(isa: Isa, from: &[f32], [length, width]: [usize; 2], to: &mut [Pair]) {
    #[cfg(target_arch = "x86_64")]
    if isa.has_dots() {
        // SAFETY: the machine has the instructions.
        return unsafe { along_with_dots(from, [length, width], to) };
    }
    along_by_numbers(isa, from, [length, width], to);
}

/// Packs lines of `length` numbers, which begin `step` numbers apart, two to a line of pairs. If their number is odd, the last is
/// alone, with zeros.
fn neighbours(isa: Isa, from: &[f32], [step, count]: [usize; 2], length: usize, to: &mut [Pair]) {
    assert_eq!(to.len(), count.div_ceil(2) * length);
    #[cfg(target_arch = "x86_64")]
    if isa.has_dots() {
        // SAFETY: the machine has the instructions.
        return unsafe { neighbours_with_dots(from, [step, count], length, to) };
    }
    neighbours_by_numbers(isa, from, [step, count], length, to);
}

/// The lines that become the `at`-th line of pairs. The second is empty if the first is alone.
#[inline(always)]
fn two(from: &[f32], [step, count]: [usize; 2], length: usize, at: usize) -> [&[f32]; 2] {
    let second = if 2 * at + 1 < count { &from[(2 * at + 1) * step..][..length] } else { &[] };
    [&from[2 * at * step..][..length], second]
}

dispatch! {
    fn along_by_numbers<const FUSED: bool>(isa, from: &[f32], sizes: [usize; 2], to: &mut [Pair]) {
        let [length, width] = sizes;
        for (from, to) in from.chunks_exact(length.max(1)).zip(to.chunks_exact_mut(width.max(1))) {
            for (from, to) in from.chunks_exact(2).zip(&mut *to) {
                *to = Pair::of(from[0], from[1]);
            }
            if length % 2 == 1 {
                to[width - 1] = Pair::of(from[length - 1], 0.0);
            }
        }
    }
}

dispatch! {
    fn neighbours_by_numbers<const FUSED: bool>(isa, from: &[f32], lines: [usize; 2], length: usize, to: &mut [Pair]) {
        for (at, to) in to.chunks_exact_mut(length.max(1)).enumerate() {
            let [first, second] = two(from, lines, length, at);
            if second.is_empty() {
                for (first, to) in first.iter().zip(to) {
                    *to = Pair::of(*first, 0.0);
                }
            } else {
                for ((first, second), to) in first.iter().zip(second).zip(to) {
                    *to = Pair::of(*first, *second);
                }
            }
        }
    }
}

/// The numbers of a register.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;

/// Loads at most [`LANES`] numbers that begin at `at`; the lanes behind them are zero.
///
/// # Safety
/// The machine has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load(from: &[f32], at: usize) -> __m512 {
    let count = from.len().saturating_sub(at).min(LANES);
    // SAFETY: lanes behind the numbers are masked off.
    unsafe { _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, from.as_ptr().wrapping_add(at)) }
}

/// Stores a register of pairs that begin at `at`, as many as there are.
///
/// # Safety
/// The machine has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn store(pairs: __m512i, to: &mut [Pair], at: usize) {
    let count = (to.len() - at).min(LANES);
    // SAFETY: lanes behind the pairs are masked off.
    unsafe {
        let to = to.as_mut_ptr().add(at).cast::<i32>();
        _mm512_mask_storeu_epi32(to, ((1u32 << count) - 1) as u16, pairs);
    }
}

/// Thirty-two numbers, rounded: pairs of neighbours.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
pub(in crate::cpu) fn rounded([low, high]: [__m512; 2]) -> __m512i {
    // SAFETY: thirty-two bf16 numbers are sixteen pairs.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) }
}

/// The numbers of two registers, rounded and in turn: pairs of one of each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
pub(in crate::cpu) fn in_turn(both: [__m512; 2]) -> __m512i {
    const IN_TURN: [i16; 2 * LANES] = {
        let mut order = [0; 2 * LANES];
        let mut lane = 0;
        while lane < order.len() {
            order[lane] = (lane / 2 + lane % 2 * LANES) as i16;
            lane += 1;
        }
        order
    };
    // SAFETY: the order fills a register.
    let order = unsafe { _mm512_loadu_si512(IN_TURN.as_ptr().cast()) };
    _mm512_permutexvar_epi16(order, rounded(both))
}

/// # Safety
/// The machine has AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn along_with_dots(from: &[f32], [length, width]: [usize; 2], to: &mut [Pair]) {
    for (from, to) in from.chunks_exact(length.max(1)).zip(to.chunks_exact_mut(width.max(1))) {
        let mut at = 0;
        while at < width {
            // SAFETY: the machine has the instructions.
            unsafe { store(rounded([load(from, 2 * at), load(from, 2 * at + LANES)]), to, at) };
            at += LANES;
        }
    }
}

/// # Safety
/// The machine has AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn neighbours_with_dots(from: &[f32], lines: [usize; 2], length: usize, to: &mut [Pair]) {
    for (line, to) in to.chunks_exact_mut(length.max(1)).enumerate() {
        let [first, second] = two(from, lines, length, line);
        let mut at = 0;
        while at < length {
            // SAFETY: the machine has the instructions.
            unsafe { store(in_turn([load(first, at), load(second, at)]), to, at) };
            at += LANES;
        }
    }
}
