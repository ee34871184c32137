//! Logarithms, and functions that consist of them.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E, LOG10_E};

use super::super::{BIAS, MANTISSA_BITS, fma, polynomial};
use super::{LN_2_HIGH, LN_2_LOW};

/// log₁₀ 2 in two parts, of which the first has low bits that are 0.
const LOG10_2_HIGH: f64 = 3.010_299_956_636_117_7e-1;
const LOG10_2_LOW: f64 = 3.694_239_077_158_931e-13;

/// Splits a positive number into n and f such that `x = 2ⁿ (1 + f)`, with 1 + f between √½ and √2.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    const ROOT_HALF: u64 = FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    /// The numbers of this binade are integers, with the units in their low bits.
    const COUNT: f64 = (1_u64 << MANTISSA_BITS) as f64;
    /// Makes every denormal number normal.
    const LIFT: f64 = 54.0;
    let is_small = x < f64::MIN_POSITIVE;
    let normal = if is_small { x * (1_u64 << 54) as f64 } else { x };
    let shifted = normal.to_bits().wrapping_add(ONE - ROOT_HALF);
    let n = f64::from_bits(shifted >> MANTISSA_BITS | COUNT.to_bits()) - (COUNT + BIAS as f64);
    let f = f64::from_bits((shifted & ((1 << MANTISSA_BITS) - 1)).wrapping_add(ROOT_HALF)) - 1.0;
    (if is_small { n - LIFT } else { n }, f)
}

/// `ln(1 + f) - f`, for 1 + f between √½ and √2.
#[inline(always)]
fn near_one<const FUSED: bool>(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let (z, half) = (s * s, 0.5 * f * f);
    let tail = z * polynomial::<FUSED, _>(
        z,
        [
            1.479_819_860_511_658_6e-1,
            1.531_383_769_920_937_3e-1,
            1.818_357_216_161_805e-1,
            2.222_219_843_214_978_4e-1,
            2.857_142_874_366_239e-1,
            3.999_999_999_940_942e-1,
            6.666_666_666_666_735e-1,
        ],
    );
    fma::<FUSED>(s, half + tail, -half)
}

/// A logarithm of `x`. For positive numbers it is `value`.
#[inline(always)]
fn everywhere(x: f64, value: f64) -> f64 {
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x < 0.0 { f64::NAN } else { value };
    if x == 0.0 { f64::NEG_INFINITY } else { value }
}

/// The natural logarithm.
#[inline(always)]
pub(in crate::cpu) fn ln<const FUSED: bool>(x: f64) -> f64 {
    let (n, f) = split(x);
    let low = fma::<FUSED>(n, LN_2_LOW, near_one::<FUSED>(f));
    everywhere(x, fma::<FUSED>(n, LN_2_HIGH, low + f))
}

/// `ln(1 + x)`
#[inline(always)]
pub(in crate::cpu) fn ln_1p<const FUSED: bool>(x: f64) -> f64 {
    let sum = 1.0 + x;
    let (n, f) = split(sum);
    // The rounding error of the sum.
    let rest = (if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) }) / sum;
    // If the result is small, no digit of `x` may be lost.
    let (f, rest) = if n == 0.0 { (x, 0.0) } else { (f, rest) };
    let low = fma::<FUSED>(n, LN_2_LOW, rest) + near_one::<FUSED>(f);
    everywhere(sum, fma::<FUSED>(n, LN_2_HIGH, low + f)).copysign(x)
}

/// The logarithm to base 2.
#[inline(always)]
pub(in crate::cpu) fn log2<const FUSED: bool>(x: f64) -> f64 {
    let (n, f) = split(x);
    everywhere(x, fma::<FUSED>(near_one::<FUSED>(f) + f, LOG2_E, n))
}

/// The logarithm to base 10.
#[inline(always)]
pub(in crate::cpu) fn log10<const FUSED: bool>(x: f64) -> f64 {
    let (n, f) = split(x);
    let low = fma::<FUSED>(n, LOG10_2_LOW, (near_one::<FUSED>(f) + f) * LOG10_E);
    everywhere(x, fma::<FUSED>(n, LOG10_2_HIGH, low))
}

/// Larger numbers are not squared, as their squares may be infinite.
const LARGE: f64 = (1_u64 << 60) as f64;

/// The inverse hyperbolic sine.
#[inline(always)]
pub(in crate::cpu) fn asinh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    let less = size + square / (1.0 + (square + 1.0).sqrt());
    let (less, more) = if size < LARGE { (less, 0.0) } else { (size, LN_2) };
    (ln_1p::<FUSED>(less) + more).copysign(x)
}

/// The inverse hyperbolic cosine.
#[inline(always)]
pub(in crate::cpu) fn acosh<const FUSED: bool>(x: f64) -> f64 {
    let above = x - 1.0;
    let less = above + (above * (above + 2.0)).sqrt();
    let (less, more) = if x < LARGE { (less, 0.0) } else { (x, LN_2) };
    let value = ln_1p::<FUSED>(less) + more;
    if x < 1.0 { f64::NAN } else { value }
}

/// The inverse hyperbolic tangent.
#[inline(always)]
pub(in crate::cpu) fn atanh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * ln_1p::<FUSED>(2.0 * size / (1.0 - size))).copysign(x)
}
