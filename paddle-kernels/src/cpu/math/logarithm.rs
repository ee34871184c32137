//! Logarithms, functions that consist of them, and powers.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::exponential::exp2;
use super::rounding::Rounding;
use super::{BIAS, MANTISSA_BITS, fma, polynomial};

/// Splits a positive normal number into n and m such that `x = 2ⁿ m`, with `m` between √½ and √2.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    const ROOT_HALF: u64 = FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    /// The numbers of this binade are integers, with the units in their low bits.
    const COUNT: f64 = (1_u64 << MANTISSA_BITS) as f64;
    let shifted = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    let n = f64::from_bits(shifted >> MANTISSA_BITS | COUNT.to_bits()) - (COUNT + BIAS as f64);
    let m = f64::from_bits((shifted & ((1 << MANTISSA_BITS) - 1)) + ROOT_HALF);
    (n, m)
}

/// `ln(1 + f)`, for 1 + f between √½ and √2: twice the area tangent of s = f / (2 + f), |s| ≤ 0.1716.
#[inline(always)]
fn near_one<const FUSED: bool>(f: f64) -> f64 {
    let s = f / (2.0 + f);
    s * polynomial::<FUSED, _>(
        s * s,
        [
            0.196_082_453_057_040_75,
            0.221_742_400_037_659_05,
            0.285_721_663_724_946_56,
            0.399_999_948_897_499_85,
            0.666_666_666_795_858_1,
            1.999_999_999_999_947_2,
        ],
    )
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
    let (n, m) = parts(x);
    everywhere(x, fma::<FUSED>(n, LN_2, near_one::<FUSED>(m - 1.0)))
}

/// `ln(1 + x)`.
#[inline(always)]
pub(in crate::cpu) fn ln_1p<const FUSED: bool>(x: f64) -> f64 {
    let sum = 1.0 + x;
    let (n, m) = parts(sum);
    // If the result is small, no digit of `x` may be lost.
    let f = if n == 0.0 { x } else { m - 1.0 };
    everywhere(sum, fma::<FUSED>(n, LN_2, near_one::<FUSED>(f))).copysign(x)
}

/// The logarithm to base 2; exact for powers of two.
#[inline(always)]
pub(in crate::cpu) fn log2<const FUSED: bool>(x: f64) -> f64 {
    let (n, m) = parts(x);
    everywhere(x, fma::<FUSED>(near_one::<FUSED>(m - 1.0), LOG2_E, n))
}

/// The logarithm to base 10.
#[inline(always)]
pub(in crate::cpu) fn log10<const FUSED: bool>(x: f64) -> f64 {
    let (n, m) = parts(x);
    everywhere(x, fma::<FUSED>(n, LOG10_2, near_one::<FUSED>(m - 1.0) * LOG10_E))
}

/// The inverse hyperbolic sine.
#[inline(always)]
pub(in crate::cpu) fn asinh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    let value = ln_1p::<FUSED>(size + square / (1.0 + (square + 1.0).sqrt()));
    // ∞ / ∞ would be NaN.
    (if size < f64::INFINITY { value } else { size }).copysign(x)
}

/// The inverse hyperbolic cosine.
#[inline(always)]
pub(in crate::cpu) fn acosh<const FUSED: bool>(x: f64) -> f64 {
    let above = x - 1.0;
    let value = ln_1p::<FUSED>(above + (above * (above + 2.0)).sqrt());
    if x < 1.0 { f64::NAN } else { value }
}

/// The inverse hyperbolic tangent.
#[inline(always)]
pub(in crate::cpu) fn atanh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * ln_1p::<FUSED>(2.0 * size / (1.0 - size))).copysign(x)
}

#[inline(always)]
fn is_whole<const FUSED: bool>(y: f64) -> bool {
    y.towards_zero::<FUSED>() == y
}

/// `x` to the power of `y`, in all cases as IEEE 754 defines `pow`.
#[inline(always)]
pub(in crate::cpu) fn pow<const FUSED: bool>(x: f64, y: f64) -> f64 {
    let size = x.abs();
    let value = exp2::<FUSED>(y * log2::<FUSED>(size));
    let value = if size == 1.0 { 1.0 } else { value };
    let is_whole = is_whole::<FUSED>(y);
    let is_odd = is_whole & !self::is_whole::<FUSED>(0.5 * y);
    let value = if is_odd { value.copysign(x) } else { value };
    let has_no_root = (x < 0.0) & (x > f64::NEG_INFINITY) & !is_whole;
    let value = if has_no_root { f64::NAN } else { value };
    if (x == 1.0) | (y == 0.0) { 1.0 } else { value }
}
