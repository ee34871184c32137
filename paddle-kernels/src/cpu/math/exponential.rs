//! Powers of e, and functions that consist of them.

use std::f64::consts::{LN_2, LOG2_E};

use super::{BIAS, MANTISSA_BITS, ROUND, fma, polynomial};

/// The bounds of x between which eˣ is positive and finite. At the bounds, the powers of two become 0 and infinite.
const LOWEST: f64 = -1023.0 * LN_2;
const HIGHEST: f64 = 1024.0 * LN_2;
/// The upper bound for functions that subtract 1, as ∞ - 1 would not be a number.
const HIGHEST_FINITE: f64 = 1023.0 * LN_2;

/// Splits `eˣ` into 2ⁿ and `eʳ - 1`, for `x` from [`LOWEST`] to [`HIGHEST`]; 2⁻¹⁰²³ is 0 and 2¹⁰²⁴ is infinite.
#[inline(always)]
fn parts<const FUSED: bool>(x: f64) -> (f64, f64) {
    let rounded = fma::<FUSED>(x, LOG2_E, ROUND);
    let r = fma::<FUSED>(rounded - ROUND, -LN_2, x);
    (power_of_two(rounded), r * slope::<FUSED>(r))
}

/// 2ⁿ, from n plus [`ROUND`].
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(BIAS) << MANTISSA_BITS)
}

/// `(eʳ - 1) / r`, for |r| ≤ ½ ln 2.
#[inline(always)]
fn slope<const FUSED: bool>(r: f64) -> f64 {
    polynomial::<FUSED, _>(
        r,
        [
            2.762_511_557_828_763e-6,
            2.487_617_895_908_551_3e-5,
            0.000_198_412_087_325_363_84,
            0.001_388_882_165_071_769,
            0.008_333_333_353_729_397,
            0.041_666_666_891_091_7,
            0.166_666_666_666_482_9,
            0.499_999_999_997_977_73,
            1.0,
        ],
    )
}

/// `eˣ`.
#[inline(always)]
pub(in crate::cpu) fn exp<const FUSED: bool>(x: f64) -> f64 {
    let (power, rest) = parts::<FUSED>(x.clamp(LOWEST, HIGHEST));
    power * (1.0 + rest)
}

/// 2ˣ.
#[inline(always)]
pub(super) fn exp2<const FUSED: bool>(x: f64) -> f64 {
    let x = x.clamp(-1023.0, 1024.0);
    let rounded = x + ROUND;
    let r = (x - (rounded - ROUND)) * LN_2;
    power_of_two(rounded) * fma::<FUSED>(r, slope::<FUSED>(r), 1.0)
}

/// `eˣ - 1`; for infinity, a number larger than any `f32`.
#[inline(always)]
pub(in crate::cpu) fn exp_m1<const FUSED: bool>(x: f64) -> f64 {
    let (power, rest) = parts::<FUSED>(x.clamp(LOWEST, HIGHEST_FINITE));
    fma::<FUSED>(rest, power, power - 1.0).copysign(x)
}

/// The hyperbolic sine; for infinity, a number larger than any `f32`.
#[inline(always)]
pub(in crate::cpu) fn sinh<const FUSED: bool>(x: f64) -> f64 {
    let less = exp_m1::<FUSED>(x.abs());
    (0.5 * (less + less / (less + 1.0))).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(in crate::cpu) fn cosh<const FUSED: bool>(x: f64) -> f64 {
    let power = exp::<FUSED>(x.abs());
    0.5 * (power + 1.0 / power)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(in crate::cpu) fn tanh<const FUSED: bool>(x: f64) -> f64 {
    let less = exp_m1::<FUSED>(2.0 * x);
    (less / (less + 2.0)).copysign(x)
}
