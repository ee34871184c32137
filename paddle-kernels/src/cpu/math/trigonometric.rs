//! Sine, cosine and tangent.

use std::f64::consts::FRAC_PI_2;

use super::{MANTISSA_BITS, ROUND, fma, polynomial};

/// The first 192 binary digits of 2/π behind the point.
const TWO_OVER_PI: [u32; 6] = [0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041];

/// The number of digits in the first part of an entry. The product of such a part with an `f32` is exact.
const HIGH: usize = 29;
/// The number of digits in the second part.
const LOW: usize = 53;

/// 2/π without its first `i` binary digits, in two parts.
///
/// A number of 2²⁶ or more is a multiple of a power of two, so these digits add multiples of 4, which are whole turns,
/// to its product with 2/π. Without them the product is small enough to be exact (M. Payne and R. Hanek, Radian
/// reduction for trigonometric functions, 1983). The digits behind the second part contribute a few thousandths of a
/// unit in the last place of an `f32`, for the number that is nearest to a multiple of π/2.
static WITHOUT: [[f64; 2]; 128] = {
    let mut table = [[0.0; 2]; 128];
    let mut i = 0;
    while i + HIGH + LOW <= 32 * TWO_OVER_PI.len() {
        table[i] = [digits(i, HIGH), digits(i + HIGH, LOW)];
        i += 1;
    }
    table
};

/// The value of `count` digits of 2/π behind the first ones.
const fn digits(first: usize, count: usize) -> f64 {
    let (mut value, mut i) = (0, first);
    while i < first + count {
        value = value << 1 | (TWO_OVER_PI[i / 32] >> (31 - i % 32) & 1) as u64;
        i += 1;
    }
    value as f64 * f64::from_bits((super::BIAS - (first + count) as u64) << MANTISSA_BITS)
}

/// Splits the angle `x`, an `f32` of any size, into the nearest whole number of quarter turns and the rest. Of the
/// whole number, the last two bits are right.
#[inline(always)]
fn quarters<const FUSED: bool>(x: f64) -> (u64, f64) {
    /// The exponent of 2²⁵.
    const FIRST: u64 = super::BIAS + 25;
    let exponent = x.to_bits() >> MANTISSA_BITS & 0x7ff;
    let [high, low] = WITHOUT[exponent.saturating_sub(FIRST) as usize % WITHOUT.len()];
    let product = x * high;
    let rounded = product + ROUND;
    (rounded.to_bits(), fma::<FUSED>(x, low, product - (rounded - ROUND)))
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
