//! Factors of half precision: bf16, in pairs.
//!
//! bf16 is the upper half of an `f32`: its exponents, and 8 significant bits. The product of two such numbers is exact in `f32`. A
//! pair has two numbers that are neighbours along the inner dimension of a product, so the product of two pairs adds two
//! products to a sum; a product of matrices of numbers is one of matrices of pairs, with half the inner dimension. If that is odd,
//! the last pair has a zero.
//!
//! Processors with AVX-512 BF16 multiply pairs by one instruction, which takes and gives zero for numbers below the smallest
//! normal one. Elsewhere a pair is two multiply-adds of its halves. Where there are tiles, [`amx`](super::amx) multiplies instead.
#![allow(unsafe_code, reason = "vector instructions, and matrices through raw pointers")]

mod pack;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

pub(super) use self::pack::{Pairing, Way};
#[cfg(target_arch = "x86_64")]
pub(super) use self::pack::{in_turn, rounded as pairs_of};
use super::isa::{Isa, Level, has_no_copy};
use super::matmul::Gemm;
use super::vector::{Element, Factor, FactorWork, Factors, Lanes, Register, Vector};
#[cfg(target_arch = "x86_64")]
use super::vector::{F32x8, F32x16};

/// Two numbers; the first is the lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Pair(u32);

impl Pair {
    /// Two numbers, rounded to the nearest, ties to even. NaN stays NaN.
    #[inline(always)]
    pub(crate) fn of(first: f32, second: f32) -> Pair {
        Pair(rounded(first) >> 16 | rounded(second) & 0xFFFF_0000)
    }
}

/// The bits of a number of which the upper half is rounded.
#[inline(always)]
fn rounded(value: f32) -> u32 {
    let bits = value.to_bits();
    // Without a bit that stays, NaN might become infinite.
    let nan = bits | 1 << 22;
    let number = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
    if value.is_nan() { nan } else { number }
}

impl Factor for Pair {
    type Sum = f32;

    const ZERO: Pair = Pair(0);
    const GEMM: Option<Gemm<Pair>> = None;

    #[inline(always)]
    unsafe fn transpose_block(from: *const Pair, stride: usize, to: *mut Pair, step: usize) {
        // Both types have the same size, and any bits are a number.
        // SAFETY: as required of the caller.
        unsafe { f32::transpose_block(from.cast(), stride, to.cast(), step) }
    }

    fn on_factors(isa: Isa, work: impl FactorWork<Pair>) {
        // SAFETY: an `Isa` exists only where the machine has it.
        unsafe {
            match isa.level() {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 if isa.has_dots() => avx512bf16(work),
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => avx512(work),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 if const { Level::Avx2.has_copy(true) } => avx2(work),
                Level::Portable if const { Level::Portable.has_copy(true) } => {
                    work.run::<Pairs<<f32 as Element>::Portable, false>>();
                }
                level => has_no_copy(level),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16")]
fn avx512bf16(work: impl FactorWork<Pair>) {
    // SAFETY: this function is compiled for these registers.
    unsafe { work.run::<Pairs<F32x16, true>>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn avx512(work: impl FactorWork<Pair>) {
    // SAFETY: this function is compiled for these registers.
    unsafe { work.run::<Pairs<F32x16, false>>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(work: impl FactorWork<Pair>) {
    // SAFETY: this function is compiled for these registers.
    unsafe { work.run::<Pairs<F32x8, false>>() }
}

/// A register of pairs, in one of as many `f32` numbers. With `DOTS`, an instruction multiplies them.
#[derive(Clone, Copy)]
pub(crate) struct Pairs<V, const DOTS: bool>(V);

impl<V: Vector<Element = f32>, const DOTS: bool> Register for Pairs<V, DOTS> {
    type Element = Pair;
    const LANES: usize = V::LANES;
    const REGISTERS: usize = V::REGISTERS;

    #[inline(always)]
    unsafe fn splat(value: Pair) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(V::splat(f32::from_bits(value.0))) }
    }

    #[inline(always)]
    unsafe fn load(from: *const Pair) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(V::load(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const Pair, count: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(V::load_partial(from.cast(), count)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut Pair) {
        // SAFETY: the caller's.
        unsafe { self.0.store(to.cast()) }
    }

    #[inline(always)]
    unsafe fn store_partial(self, to: *mut Pair, count: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.store_partial(to.cast(), count) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Factors for Pairs<F32x16, true> {
    type Sums = F32x16;

    #[inline(always)]
    unsafe fn multiply(self, b: Self, sums: F32x16) -> F32x16 {
        // SAFETY: the caller has the instruction. A register of pairs and one of numbers have the same bits.
        unsafe {
            let [a, b] = [self.0.0, b.0.0].map(|register| std::mem::transmute::<__m512, __m512bh>(register));
            F32x16(_mm512_dpbf16_ps(sums.0, a, b))
        }
    }
}

impl<V: Split> Factors for Pairs<V, false> {
    type Sums = V;

    #[inline(always)]
    unsafe fn multiply(self, b: Self, sums: V) -> V {
        // SAFETY: the caller's.
        unsafe {
            let ([first, second], [b_first, b_second]) = (self.0.split(), b.0.split());
            second.mul_add(b_second, first.mul_add(b_first, sums))
        }
    }
}

/// A register of `f32` numbers that can take the bits of numbers apart.
pub(crate) trait Split: Vector<Element = f32> {
    /// The lower and the upper halves of all lanes, as numbers.
    ///
    /// # Safety
    /// As for [`Register`].
    unsafe fn split(self) -> [Self; 2];
}

#[cfg(target_arch = "x86_64")]
impl Split for F32x16 {
    #[inline(always)]
    unsafe fn split(self) -> [Self; 2] {
        // SAFETY: the caller has the instruction set.
        unsafe {
            let (bits, upper) = (_mm512_castps_si512(self.0), _mm512_set1_epi32(0xFFFF_0000u32 as i32));
            [_mm512_slli_epi32::<16>(bits), _mm512_and_si512(bits, upper)]
                .map(|half| F32x16(_mm512_castsi512_ps(half)))
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Split for F32x8 {
    #[inline(always)]
    unsafe fn split(self) -> [Self; 2] {
        // SAFETY: the caller has the instruction set.
        unsafe {
            let (bits, upper) = (_mm256_castps_si256(self.0), _mm256_set1_epi32(0xFFFF_0000u32 as i32));
            [_mm256_slli_epi32::<16>(bits), _mm256_and_si256(bits, upper)]
                .map(|half| F32x8(_mm256_castsi256_ps(half)))
        }
    }
}

impl<const LANES: usize> Split for Lanes<f32, LANES>
where
    Lanes<f32, LANES>: Vector<Element = f32>,
{
    #[inline(always)]
    unsafe fn split(self) -> [Self; 2] {
        let of = |half: fn(u32) -> u32| Lanes(self.0.map(|lane| f32::from_bits(half(lane.to_bits()))));
        [of(|bits| bits << 16), of(|bits| bits & 0xFFFF_0000)]
    }
}

#[cfg(test)]
mod tests;
