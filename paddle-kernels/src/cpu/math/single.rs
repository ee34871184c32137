//! Functions in the arithmetic of `f32`, where speed counts most, as in gates and in softmax.
//!
//! Errors over all inputs, on x86-64 with and without `FUSED`: `exp` 1.02, `ln` 0.83, `tanh` 1.34 units in the last
//! place. The last bit may differ between the two.
//!
//! The polynomials of `exp`, `ln` and `tanh` are those of the Cephes library (S. Moshier, `expf`, `logf`, `tanhf`); the others
//! were fitted like those of [`math`](super).

use std::f32::consts::LOG2_E;

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

/// 2ⁿ, for the exponent `n` of a normal number.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(BIAS) as u32) << MANTISSA_BITS)
}

/// eˣ.
#[inline(always)]
pub(in crate::cpu) fn exp<const FUSED: bool>(x: f32) -> f32 {
    // Powers of smaller numbers round to 0: ln 2⁻¹⁵⁰.
    const ROUNDS_TO_NOTHING: f32 = -103.972_08;
    let (less, [a, b]) = exp_parts::<FUSED>(x, 0.0);
    // Such a rounding takes processors a hundred times as long as a product with 0, and a softmax of masked elements has many.
    let b = if x < ROUNDS_TO_NOTHING { 0.0 } else { b };
    (less + 1.0) * a * b
}

/// e to the power of `x + rest`, where the rest is as small as a rounding error of `x`: the power is `(1 + less) · a · b`, with
/// powers of two `a` and `b`. There are two of them, since their product may be too large or too small to be a normal number.
#[inline(always)]
pub(super) fn exp_parts<const FUSED: bool>(x: f32, rest: f32) -> (f32, [f32; 2]) {
    /// Adding this to a small number rounds it to an integer, which is then in the low bits of the sum. A cast would
    /// saturate, which the compiler cannot vectorise well.
    const ROUND: f32 = 12_582_912.0;
    // Beyond these the result is 0 or infinite, also if it is multiplied by a number up to 1000; `clamp` keeps NaN.
    let x = x.clamp(-112.0, 89.0);
    let rounded = fma::<FUSED>(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let rest = fma::<FUSED>(n, -LN_2_LOW, fma::<FUSED>(n, -LN_2_HIGH, x)) + rest;
    let tail = polynomial::<FUSED, 6>(
        rest,
        [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1],
    );
    let less = fma::<FUSED>(tail, rest * rest, rest);
    let n = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    (less, [power_of_two(half), power_of_two(n.wrapping_sub(half))])
}

/// `x / (1 + e⁻ˣ)`.
#[inline(always)]
pub(in crate::cpu) fn silu<const FUSED: bool>(x: f32) -> f32 {
    // The results of smaller numbers round to 0; see `exp`.
    const ROUNDS_TO_NOTHING: f32 = -109.0;
    let (less, [a, b]) = exp_parts::<FUSED>(-x.abs(), 0.0);
    let b = if x < ROUNDS_TO_NOTHING { 0.0 } else { b };
    let above = x / ((less + 1.0) * a * b + 1.0);
    // The power may be so small that it has few digits, so it is not computed by itself.
    let part = above * a;
    let below = (fma::<FUSED>(part, less, part) * b).copysign(x);
    if x < 0.0 { below } else { above }
}

/// `ln(1 + eˣ)`.
#[inline(always)]
pub(in crate::cpu) fn softplus<const FUSED: bool>(x: f32) -> f32 {
    // Of a negative number: eˣ is at most 1, and no digit of it is lost, as there is no sum.
    let e = exp::<FUSED>(-x.abs());
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
    let elsewhere = 1.0 - 2.0 / (exp::<FUSED>(2.0 * size) + 1.0);
    (if size < 0.625 { near_zero } else { elsewhere }).copysign(x)
}
