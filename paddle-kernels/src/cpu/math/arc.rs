//! The inverses of the trigonometric functions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

use super::polynomial;

/// The angle of the point (x, y), for x and y of 0 or more that are not both 0.
#[inline(always)]
fn angle<const FUSED: bool>(y: f64, x: f64) -> f64 {
    /// tan(π/8)
    const LOW: f64 = SQRT_2 - 1.0;
    /// tan(3π/8)
    const HIGH: f64 = SQRT_2 + 1.0;
    // A multiple of π/4, and the quotient t that gives the difference from it, |t| ≤ tan(π/8).
    let (near, above, below) = if y > LOW * x { (FRAC_PI_4, y - x, y + x) } else { (0.0, y, x) };
    let (near, above, below) = if y > HIGH * x { (FRAC_PI_2, -x, y) } else { (near, above, below) };
    let t = above / below;
    near + t * polynomial::<FUSED, _>(
        t * t,
        [
            0.030_660_553_362_531_068,
            -0.058_743_839_156_979_755,
            0.075_636_717_936_058_89,
            -0.090_783_877_779_207_31,
            0.111_103_847_260_942_09,
            -0.142_856_904_109_692_62,
            0.199_999_996_046_397_04,
            -0.333_333_333_308_015_8,
            0.999_999_999_999_973_2,
        ],
    )
}

/// √(1 - x²)
#[inline(always)]
fn leg(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}

/// The arc tangent.
#[inline(always)]
pub(in crate::cpu) fn atan<const FUSED: bool>(x: f64) -> f64 {
    angle::<FUSED>(x.abs(), 1.0).copysign(x)
}

/// The arc sine.
#[inline(always)]
pub(in crate::cpu) fn asin<const FUSED: bool>(x: f64) -> f64 {
    angle::<FUSED>(x.abs(), leg(x)).copysign(x)
}

/// The arc cosine.
#[inline(always)]
pub(in crate::cpu) fn acos<const FUSED: bool>(x: f64) -> f64 {
    let angle = angle::<FUSED>(leg(x), x.abs());
    if x < 0.0 { PI - angle } else { angle }
}
