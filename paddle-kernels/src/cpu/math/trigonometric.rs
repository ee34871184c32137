//! Sine, cosine and tangent.

use std::f64::consts::FRAC_PI_2;

use super::{MANTISSA_BITS, ROUND, fma, polynomial};

/// The first binary digits of 2/π behind the point.
const TWO_OVER_PI: [u64; 4] =
    [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// Splits the angle `x`, an `f32` of any size, into the nearest whole number of quarter turns and the rest. Of the
/// whole number, the last two bits are right.
#[inline(always)]
fn quarters<const FUSED: bool>(x: f64) -> (u64, f64) {
    /// From here on, the products of `x` with the two parts of 2/π are not exact, or too large.
    const LARGE: f64 = (1_u64 << 26) as f64;
    let (near, far) = (quarters_of_small::<FUSED>(x), quarters_of_large(x));
    if x.abs() < LARGE { near } else { far }
}

/// As [`quarters`], for numbers below 2²⁶.
#[inline(always)]
fn quarters_of_small<const FUSED: bool>(x: f64) -> (u64, f64) {
    /// The first 29 digits of 2/π, so that the product with an `f32` is exact, and the next 53.
    const HIGH: f64 = (TWO_OVER_PI[0] >> 35) as f64 / (1_u64 << 29) as f64;
    const LOW: f64 = ((TWO_OVER_PI[0] << 29 | TWO_OVER_PI[1] >> 35) >> 11) as f64
        / ((1_u64 << 29) as f64 * (1_u64 << 53) as f64);
    let product = x * HIGH;
    let rounded = product + ROUND;
    (rounded.to_bits(), fma::<FUSED>(x, LOW, product - (rounded - ROUND)))
}

/// As [`quarters`], for numbers of 2²⁵ or more.
///
/// Such a number is a multiple of a power of two, so the first digits of 2/π add multiples of 4 to the product, which are
/// whole turns. The product with those behind them is computed in integers (M. Payne and R. Hanek, Radian reduction for
/// trigonometric functions, 1983). A table of these digits would be slower: it would be read by addresses of its own for each
/// number.
#[inline(always)]
fn quarters_of_large(x: f64) -> (u64, f64) {
    /// The exponent of 2²⁵.
    const FIRST: u64 = super::BIAS + 25;
    /// The bits of an `f64` behind those of an `f32`.
    const BEHIND: u32 = MANTISSA_BITS - (f32::MANTISSA_DIGITS - 1);
    /// 2⁵² and 2⁸⁴, whose last places are 1 and 2³².
    const ONES: f64 = (1_u64 << 52) as f64;
    const HIGHER: f64 = ONES * (1_u64 << 32) as f64;
    let [a, b, c, d] = TWO_OVER_PI;
    let bits = x.to_bits();
    let without = (bits >> MANTISSA_BITS & 0x7ff).wrapping_sub(FIRST) & 127;
    let (first, second, third) = if without < 64 { (a, b, c) } else { (b, c, d) };
    // 96 digits, of which the first two have the weights 2 and 1.
    let shift = without as u32 & 63;
    let high = first << shift | second >> 1 >> (63 - shift);
    let low = (second << shift | third >> 1 >> (63 - shift)) >> 32;
    let mantissa = bits >> BEHIND & 0xff_ffff | 0x80_0000;
    let product = mantissa.wrapping_mul(high).wrapping_add(mantissa.wrapping_mul(low) >> 32);
    let whole = product.wrapping_add(1 << 61) >> 62;
    // The rest is a signed integer. Its halves become the mantissas of large numbers.
    let rest = product.wrapping_sub(whole << 62) ^ 1 << 63;
    let upper = f64::from_bits(rest >> 32 | HIGHER.to_bits()) - (HIGHER + (1_u64 << 63) as f64);
    let lower = f64::from_bits(rest & 0xffff_ffff | ONES.to_bits()) - ONES;
    let rest = (upper + lower) * (1.0 / (1_u64 << 62) as f64);
    // Infinity has no angle.
    let rest = rest + 0.0 * x;
    if x < 0.0 { (whole.wrapping_neg(), -rest) } else { (whole, rest) }
}

/// The sine of a fraction of a quarter turn, |r| ≤ ½.
#[inline(always)]
fn sin_of_part<const FUSED: bool>(r: f64) -> f64 {
    r * polynomial::<FUSED, _>(
        r * r,
        [
            -3.556_369_371_360_422e-6,
            0.000_160_429_255_542_023_35,
            -0.004_681_752_589_609_857,
            0.079_692_626_155_601_59,
            -0.645_964_097_504_305_2,
            FRAC_PI_2,
        ],
    )
}

/// The cosine of a fraction of a quarter turn, |r| ≤ ½.
#[inline(always)]
fn cos_of_part<const FUSED: bool>(r: f64) -> f64 {
    polynomial::<FUSED, _>(
        r * r,
        [
            -2.485_082_381_773_045e-5,
            0.000_919_161_658_439_556_3,
            -0.020_863_467_986_973_1,
            0.253_669_507_152_510_8,
            -1.233_700_550_120_127_2,
            0.999_999_999_999_944_3,
        ],
    )
}

/// The sine of the angle of `whole` quarter turns plus `rest`.
#[inline(always)]
fn sin_of<const FUSED: bool>(whole: u64, rest: f64) -> f64 {
    let (sin, cos) = (sin_of_part::<FUSED>(rest), cos_of_part::<FUSED>(rest));
    let value = if whole & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ (whole & 2) << 62)
}

/// The sine. `x` is an `f32`.
#[inline(always)]
pub(in crate::cpu) fn sin<const FUSED: bool>(x: f64) -> f64 {
    let (whole, rest) = quarters::<FUSED>(x);
    sin_of::<FUSED>(whole, rest)
}

/// The cosine. `x` is an `f32`.
#[inline(always)]
pub(in crate::cpu) fn cos<const FUSED: bool>(x: f64) -> f64 {
    let (whole, rest) = quarters::<FUSED>(x);
    sin_of::<FUSED>(whole.wrapping_add(1), rest)
}

/// The tangent. `x` is an `f32`.
#[inline(always)]
pub(in crate::cpu) fn tan<const FUSED: bool>(x: f64) -> f64 {
    let (whole, rest) = quarters::<FUSED>(x);
    let (sin, cos) = (sin_of_part::<FUSED>(rest), cos_of_part::<FUSED>(rest));
    let (above, below) = if whole & 1 == 0 { (sin, cos) } else { (-cos, sin) };
    above / below
}
