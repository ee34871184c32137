//! The inverses of the trigonometric functions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

use super::super::polynomial;

/// The rounding error of π/2.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;

/// The angle of the point (x, y), for x and y of 0 or more that are not both 0.
#[inline(always)]
fn angle<const FUSED: bool>(y: f64, x: f64) -> f64 {
    /// tan(π/8)
    const LOW: f64 = SQRT_2 - 1.0;
    /// tan(3π/8)
    const HIGH: f64 = SQRT_2 + 1.0;
    // A multiple of π/4, and the quotient t that gives the difference from it, |t| ≤ tan(π/8).
    let (near, low, above, below) =
        if y > LOW * x { (FRAC_PI_4, 0.5 * FRAC_PI_2_LOW, y - x, y + x) } else { (0.0, 0.0, y, x) };
    let (near, low, above, below) =
        if y > HIGH * x { (FRAC_PI_2, FRAC_PI_2_LOW, -x, y) } else { (near, low, above, below) };
    let t = above / below;
    let z = t * t;
    let less = z * polynomial::<FUSED, _>(
        z,
        [
            1.628_582_011_536_578_2e-2,
            -3.653_157_274_421_691_6e-2,
            4.976_877_994_615_932_4e-2,
            -5.833_570_133_790_573_5e-2,
            6.661_073_137_387_531e-2,
            -7.691_876_205_044_83e-2,
            9.090_887_133_436_507e-2,
            -1.111_111_040_546_235_6e-1,
            1.428_571_427_250_346_6e-1,
            -1.999_999_999_987_648_3e-1,
            3.333_333_333_333_293e-1,
        ],
    );
    near + (t - (t * less - low))
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
