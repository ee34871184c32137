//! The normal distribution in the arithmetic of `f32`, and the functions that consist of it. One exponential is all that they
//! need: the rest are polynomials.

use super::single::{lifted_exp, polynomial};
use crate::cpu::isa::fma;

/// Up to here the distribution function is computed from its middle, and beyond, from its end.
const MIDDLE: f32 = 1.0;
/// From here on, the density is 0.
const END: f32 = 15.0;
/// With it, the power of every number up to [`END`] is normal.
const LIFT: u32 = 40;
const DROP: f32 = 1.0 / (1u64 << LIFT) as f32;

/// What the distribution function Φ and the density φ consist of, at `x`.
struct Normal {
    /// `(Φ(x) - ½) / x`, for |x| up to [`MIDDLE`].
    slope: f32,
    /// `Φ(-|x|) / exp(-x²/2)`, for |x| from [`MIDDLE`] on.
    ratio: f32,
    /// `exp(-x²/2)`, times 2 to the power of [`LIFT`].
    power: f32,
}

impl Normal {
    /// `y · exp(-x²/2)`. The power may be so small that it has few digits, so it is not computed by itself.
    #[inline(always)]
    fn times_power(&self, y: f32) -> f32 {
        y * self.power * DROP
    }
}

#[inline(always)]
fn normal<const FUSED: bool>(x: f32) -> Normal {
    let size = x.abs().clamp(0.0, END);
    let square = size * size;
    let slope = polynomial::<FUSED, 6>(
        square,
        [-8.694_948_5e-6, 1.163_652_5e-4, -1.189_229_2e-3, 9.974_603e-3, -6.649_059e-2, 0.398_942_3],
    );
    // The polynomial approximates the ratio times |x| + 4 as a function of (|x| - 4) / (|x| + 4), up to 14.5 (after
    // M. Shepherd and J. Laframboise, Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞, 1981).
    let sum = size + 4.0;
    let scale = 1.0 / sum;
    // What the roundings of the sum and of the quotient have left; without a fused multiply-add, that of the sum.
    let of_quotient = if FUSED { scale.mul_add(-sum, 1.0) } else { 0.0 };
    let of_sum = size - (sum - 4.0);
    let scale = fma::<FUSED>(scale, fma::<FUSED>(-scale, of_sum, of_quotient), scale);
    let ratio = scale
        * polynomial::<FUSED, 8>(
            (size - 4.0) * scale,
            [
                1.476_010_1e-3,
                -3.393_935_3e-3,
                -7.506_738_6e-3,
                6.038_056e-2,
                -0.186_524_1,
                0.387_138_1,
                -0.607_896_6,
                0.755_285_14,
            ],
        );
    // The rounding error of the square counts, as the exponential magnifies it.
    let rest = if FUSED {
        size.mul_add(size, -square)
    } else {
        let short = f32::from_bits(size.to_bits() & !0xfff);
        (short * short - square) + (size + short) * (size - short)
    };
    let power = lifted_exp::<FUSED, LIFT>(-0.5 * square, -0.5 * rest);
    Normal { slope, ratio, power: if x.abs() < END { power } else { 0.0 } }
}

/// `x · Φ(x)`.
#[inline(always)]
pub(in crate::cpu) fn gelu<const FUSED: bool>(x: f32) -> f32 {
    let normal = normal::<FUSED>(x);
    let below = normal.times_power(x * normal.ratio);
    let far = if x < 0.0 { below } else { x * (1.0 - normal.times_power(normal.ratio)) };
    if x.abs() < MIDDLE { x * fma::<FUSED>(x, normal.slope, 0.5) } else { far }
}

/// `Φ(x) + x · φ(x)`, the derivative of [`gelu`].
#[inline(always)]
pub(in crate::cpu) fn gelu_slope<const FUSED: bool>(x: f32) -> f32 {
    /// 1/√2π
    const DENSITY: f32 = 0.398_942_3;
    let normal = normal::<FUSED>(x);
    let below = normal.times_power(fma::<FUSED>(-DENSITY, x.abs(), normal.ratio));
    let far = if x < 0.0 { below } else { 1.0 - below };
    let near = fma::<FUSED>(x, normal.slope + normal.times_power(DENSITY), 0.5);
    if x.abs() < MIDDLE { near } else { far }
}
