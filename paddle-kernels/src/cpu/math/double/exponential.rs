//! Powers of e, and functions that consist of them.

use std::f64::consts::LOG2_E;

use super::super::{BIAS, MANTISSA_BITS, ROUND, fma, polynomial};
use super::{LN_2_HIGH, LN_2_LOW};

/// Splits `eˣ` into 2ⁿ and `eʳ - 1`. `x` has a small second part.
#[inline(always)]
fn parts<const FUSED: bool>(x: f64, second: f64) -> (i64, f64) {
    let rounded = fma::<FUSED>(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let (high, low) = (fma::<FUSED>(n, -LN_2_HIGH, x), n * LN_2_LOW - second);
    let r = high - low;
    // The terms of the series from r²/2 on.
    let tail = polynomial::<FUSED, _>(
        r,
        [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ],
    );
    // The rounding error of r counts, as the slope is 1 + r.
    let rest = (high - r) - low;
    let less = r + fma::<FUSED>(r * r, tail, fma::<FUSED>(rest, r, rest));
    ((rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64), less)
}

/// 2ⁿ, for the exponent of a normal number.
#[inline(always)]
fn power_of_two(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(BIAS as i64) as u64) << MANTISSA_BITS)
}

/// 2ⁿ as two factors, since 2ⁿ itself may be too large or too small for a normal number.
#[inline(always)]
fn halves(n: i64) -> (f64, f64) {
    // AVX2 has no arithmetic shift of 64 bits, so the shift is applied to a positive number.
    let half = ((n.wrapping_add(1 << 12) as u64) >> 1) as i64 - (1 << 11);
    (power_of_two(half), power_of_two(n.wrapping_sub(half)))
}

/// `2ˢ eˣ`. `x` has a small second part.
#[inline(always)]
pub(super) fn scaled_exp<const FUSED: bool>(x: f64, second: f64, scale: i64) -> f64 {
    // Beyond these the result is 0 or infinite; `clamp` keeps NaN.
    let (n, less) = parts::<FUSED>(x.clamp(-746.0, 711.0), second);
    let (a, b) = halves(n.wrapping_add(scale));
    (1.0 + less) * a * b
}

/// `eˣ`
#[inline(always)]
pub(in crate::cpu) fn exp<const FUSED: bool>(x: f64) -> f64 {
    scaled_exp::<FUSED>(x, 0.0, 0)
}

/// `(eˣ - 1) / 2`
#[inline(always)]
fn half_exp_m1<const FUSED: bool>(x: f64) -> f64 {
    let (n, less) = parts::<FUSED>(x.clamp(-100.0, 711.0), 0.0);
    let power = power_of_two(n.wrapping_sub(1));
    let near = fma::<FUSED>(power, less, power - 0.5);
    // From 100 on, the 1 that is subtracted does not matter, and the last powers would be infinite.
    let (a, b) = halves(n.wrapping_sub(1));
    (if x > 100.0 { (1.0 + less) * a * b } else { near }).copysign(x)
}

/// `eˣ - 1`
#[inline(always)]
pub(in crate::cpu) fn exp_m1<const FUSED: bool>(x: f64) -> f64 {
    2.0 * half_exp_m1::<FUSED>(x)
}

/// The hyperbolic sine.
#[inline(always)]
pub(in crate::cpu) fn sinh<const FUSED: bool>(x: f64) -> f64 {
    let half = half_exp_m1::<FUSED>(x.abs());
    // ∞ / ∞ would be NaN.
    let rest = if half < f64::INFINITY { half / (2.0 * half + 1.0) } else { half };
    (half + rest).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(in crate::cpu) fn cosh<const FUSED: bool>(x: f64) -> f64 {
    let half = scaled_exp::<FUSED>(x.abs(), 0.0, -1);
    half + 0.25 / half
}

/// The hyperbolic tangent.
#[inline(always)]
pub(in crate::cpu) fn tanh<const FUSED: bool>(x: f64) -> f64 {
    // The result is 1 from 20 on.
    let half = half_exp_m1::<FUSED>(2.0 * x.abs().clamp(0.0, 20.0));
    (half / (half + 1.0)).copysign(x)
}
