//! Functions in the arithmetic of `f32`, where speed counts most, as in gates and in softmax.
//!
//! The largest errors found, in units in the last place, on x86-64 with and without `FUSED`: `exp` 0.83 and 0.92, `exp_m1` 1.4,
//! `ln` 0.83, `tanh` 1.2 and 1.3, `silu` 2.6, `mish` 3.1, `gelu_tanh` 2.4. The last bit may differ between the two.
//!
//! The polynomials of `ln` and `tanh` are those of the Cephes library (S. Moshier, `logf`, `tanhf`); that of `exp` was fitted for the
//! least relative error from -½ ln 2 to ½ ln 2, with the first two coefficients of the series; the others were fitted like those of
//! [`math`](super).

use std::f32::consts::{LN_2, LOG2_E};

use crate::cpu::isa::fma;

/// ln 2 in two parts. The first is 355/512, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const BIAS: i32 = f32::MAX_EXP - 1;

/// The value of a polynomial, highest coefficient first.
#[inline(always)]
pub(super) fn polynomial<const FUSED: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for coefficient in &coefficients[1..] {
        value = fma::<FUSED>(value, x, *coefficient);
    }
    value
}

/// eˣ.
#[inline(always)]
pub(in crate::cpu) fn exp<const FUSED: bool>(x: f32) -> f32 {
    // The power of two may be too large or too small to be a normal number. So it is computed times a power of two that is known.
    let (bias, factor) = if x < 0.0 { (BIAS + 32, 1.0 / (1u64 << 32) as f32) } else { (BIAS - 1, 2.0) };
    let bias = bias as f32;
    // Below the one, the power of two is 0; above the other, infinite. `clamp` keeps NaN.
    let parts = Parts::of_exp::<FUSED>(x.clamp(-(BIAS + 32) as f32 * LN_2, 89.5), -0.0, bias);
    parts.value::<FUSED>() * parts.power * factor
}

/// eˣ of a number up to 0: all that sigmoids and softmaxes need, and three quarters of the instructions of [`exp`].
#[inline(always)]
pub(in crate::cpu) fn exp_negative<const FUSED: bool>(x: f32) -> f32 {
    lifted_exp::<FUSED, LIFT>(x, -0.0) * DROP
}

/// e to the power of `x + rest`, times 2 to the power of `LIFT`: of an `x` for which that is a number, as up to 0, and a rest as small as a rounding error of it.
/// What is below the least normal number is 0. So no digit of a product with the power is lost if it is divided by 2 to the power
/// of `LIFT` at the end.
#[inline(always)]
pub(super) fn lifted_exp<const FUSED: bool, const LIFT: u32>(x: f32, rest: f32) -> f32 {
    let bias = (BIAS as u32 + LIFT) as f32;
    // From here on, the exponent of the power is that of 0. The comparison keeps NaN.
    let lowest = -bias * LN_2;
    let x = if x < lowest { lowest } else { x };
    let parts = Parts::of_exp::<FUSED>(x, rest, bias);
    parts.value::<FUSED>() * parts.power
}

/// e to a power, as `(1 + rest + tail · rest²)` times a power of two.
struct Parts {
    rest: f32,
    tail: f32,
    power: f32,
}

impl Parts {
    /// e to the power of `x + rest`. The exponent of the power of two has this bias, and is from 0 to 255 then: the first gives 0 and the
    /// last infinity. The rest is as small as a rounding error of `x`; without one it is -0, whose addition compilers leave out.
    #[inline(always)]
    fn of_exp<const FUSED: bool>(x: f32, rest: f32, bias: f32) -> Self {
        /// Adding this to a small number rounds it to an integer, which is then in the low bits of the sum. A cast would
        /// saturate, which the compiler cannot vectorise well.
        const ROUND: f32 = 12_582_912.0;
        let round = ROUND + bias;
        let rounded = fma::<FUSED>(x, LOG2_E, round);
        let n = rounded - round;
        let rest = fma::<FUSED>(n, -LN_2_LOW, fma::<FUSED>(n, -LN_2_HIGH, x)) + rest;
        let tail = polynomial::<FUSED, 5>(
            rest,
            [1.381_443_5e-3, 8.368_797e-3, 4.166_839_6e-2, 1.666_652e-1, 4.999_999_4e-1],
        );
        // The other bits are shifted out.
        Parts { rest, tail, power: f32::from_bits(rounded.to_bits() << MANTISSA_BITS) }
    }

    /// The factor of the power of two.
    #[inline(always)]
    fn value<const FUSED: bool>(&self) -> f32 {
        if FUSED {
            polynomial::<FUSED, 3>(self.rest, [self.tail, 1.0, 1.0])
        } else {
            // One operation more, and less of it is rounded.
            self.less::<FUSED>() + 1.0
        }
    }

    /// The factor of the power of two, less 1.
    #[inline(always)]
    fn less<const FUSED: bool>(&self) -> f32 {
        fma::<FUSED>(self.tail, self.rest * self.rest, self.rest)
    }
}

/// `eˣ - 1`.
#[inline(always)]
pub(in crate::cpu) fn exp_m1<const FUSED: bool>(x: f32) -> f32 {
    // The power of two may be too large to be a number, and a half of the least numbers is none.
    let (bias, one, factor) = if x < 1.0 { (BIAS, 1.0, 1.0) } else { (BIAS - 1, 0.5, 2.0) };
    // Below the one, the result rounds to -1; above the other, it is infinite. `clamp` keeps NaN.
    let parts = Parts::of_exp::<FUSED>(x.clamp(-30.0, 89.0), -0.0, bias as f32);
    (factor * fma::<FUSED>(parts.power, parts.less::<FUSED>(), parts.power - one)).copysign(x)
}

/// What lifts the powers in products with them: each power is normal whose product with its argument does not round to 0.
const LIFT: u32 = 32;
const DROP: f32 = 1.0 / (1u64 << LIFT) as f32;

/// `x / (1 + e⁻ʸ)`, for a `y` of the sign of `x`, by the lifted power of `-|y|`.
#[inline(always)]
fn gated<const FUSED: bool>(x: f32, power: f32) -> f32 {
    let above = x / fma::<FUSED>(power, DROP, 1.0);
    if x < 0.0 { above * power * DROP } else { above }
}

/// `x / (1 + e⁻ˣ)`.
#[inline(always)]
pub(in crate::cpu) fn silu<const FUSED: bool>(x: f32) -> f32 {
    gated::<FUSED>(x, lifted_exp::<FUSED, LIFT>(-x.abs(), -0.0))
}

/// `x · tanh(ln(1 + eˣ))`.
#[inline(always)]
pub(in crate::cpu) fn mish<const FUSED: bool>(x: f32) -> f32 {
    // From here on, the factor rounds to 1.
    const ALL: f32 = 20.0;
    let power = lifted_exp::<FUSED, LIFT>(x, -0.0);
    let e = power * DROP;
    // The factor is n / (n + 2), for n = e (e + 2). The power may be so small that it has few digits, so it comes last.
    let part = x * ((e + 2.0) / fma::<FUSED>(e, e + 2.0, 2.0)) * power * DROP;
    if x > ALL { x } else { part }
}

/// `x / (1 + exp(-√(8/π) (x + 0.044715 x³)))`, where multiply-add is one instruction.
#[inline(always)]
pub(in crate::cpu) fn gelu_tanh(x: f32) -> f32 {
    const FUSED: bool = true;
    // √(8/π), and its product with 0.044715. The exponential magnifies errors of its argument, so each has a second part.
    const LINEAR: [f32; 2] = in_parts(1.595_769_121_605_730_8);
    const CUBIC: [f32; 2] = in_parts(0.071_354_816_272_600_25);
    // From here on, the exponential rounds to 0; the comparison keeps NaN.
    let size = if x.abs() > 12.0 { 12.0 } else { x.abs() };
    let square = size * size;
    let square_rest = size.mul_add(size, -square);
    let cubic = CUBIC[0] * square;
    let cubic_rest = CUBIC[0].mul_add(square, -cubic) + CUBIC[0].mul_add(square_rest, CUBIC[1] * square);
    let slope = LINEAR[0] + cubic;
    let of_cubic = slope - LINEAR[0];
    let slope_rest = (LINEAR[0] - (slope - of_cubic)) + (cubic - of_cubic) + (cubic_rest + LINEAR[1]);
    let y = size * slope;
    let y_rest = size.mul_add(slope_rest, size.mul_add(slope, -y));
    gated::<FUSED>(x, lifted_exp::<FUSED, LIFT>(-y, -y_rest))
}

/// A constant as the nearest number, and what is left of it.
const fn in_parts(constant: f64) -> [f32; 2] {
    let nearest = constant as f32;
    [nearest, (constant - nearest as f64) as f32]
}

/// `ln(1 + eˣ)`.
#[inline(always)]
pub(in crate::cpu) fn softplus<const FUSED: bool>(x: f32) -> f32 {
    // Of a negative number: eˣ is at most 1, and no digit of it is lost, as there is no sum.
    let e = exp_negative::<FUSED>(-x.abs());
    let above = e * polynomial::<FUSED, 10>(
        e,
        [
            -3.176_057e-3,
            1.954_252_7e-2,
            -5.637_361e-2,
            0.105_436_24,
            -0.152_696_67,
            0.196_632_74,
            -0.249_516_16,
            0.333_297_1,
            -0.499_998_93,
            1.0,
        ],
    );
    (if x > 0.0 { x } else { 0.0 }) + above
}

/// The natural logarithm.
#[inline(always)]
pub(in crate::cpu) fn ln<const FUSED: bool>(x: f32) -> f32 {
    const ROOT_HALF: i32 = std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;
    const ONE: i32 = 1.0_f32.to_bits() as i32;
    /// Makes every denormal number normal.
    const LIFT: i32 = 23;
    let is_small = x < f32::MIN_POSITIVE;
    let normal = if is_small { x * (1 << LIFT) as f32 } else { x };
    // x = 2ⁿ (1 + f), with 1 + f between √½ and √2.
    let shifted = (normal.to_bits() as i32).wrapping_add(ONE - ROOT_HALF);
    let n = (shifted >> MANTISSA_BITS) - BIAS - if is_small { LIFT } else { 0 };
    let n = n as f32;
    let f = f32::from_bits(((shifted & ((1 << MANTISSA_BITS) - 1)) + ROOT_HALF) as u32) - 1.0;
    let square = f * f;
    let tail = polynomial::<FUSED, 9>(
        f,
        [
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ],
    );
    let tail = fma::<FUSED>(n, LN_2_LOW, tail * f * square);
    let value = fma::<FUSED>(n, LN_2_HIGH, f + fma::<FUSED>(-0.5, square, tail));
    let value = if x < f32::INFINITY { value } else { x };
    let value = if x < 0.0 { f32::NAN } else { value };
    if x == 0.0 { f32::NEG_INFINITY } else { value }
}

/// The hyperbolic tangent.
#[inline(always)]
pub(in crate::cpu) fn tanh<const FUSED: bool>(x: f32) -> f32 {
    let size = x.abs();
    let square = size * size;
    let tail = polynomial::<FUSED, 5>(
        square,
        [-5.704_988_7e-3, 2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1],
    );
    let near_zero = fma::<FUSED>(tail * square, size, size);
    let power = exp_negative::<FUSED>(-2.0 * size);
    let elsewhere = fma::<FUSED>(-2.0 * power, 1.0 / (power + 1.0), 1.0);
    (if size < 0.625 { near_zero } else { elsewhere }).copysign(x)
}
