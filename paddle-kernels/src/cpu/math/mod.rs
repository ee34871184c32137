//! The functions of C's library for `f32`, as straight-line code, which the compiler turns into vector code inside
//! [`dispatch!`](super::isa::dispatch). Functions of `f64` are in [`double`] and [`library`].
//!
//! [`single`] and [`normal`] have the functions that have to be fast, in the arithmetic of `f32`. All others compute in the arithmetic
//! of `f64`, with relative errors of about 2⁻⁴⁰. So a result that is rounded to `f32` after many of them is nearly
//! always the nearest number. Nothing overflows, small numbers lose no digits, and constants need no second part.
//! Arguments are numbers of `f32`, or what formulas make of them: they are never so small or large that `f64` itself
//! would underflow or overflow.
//!
//! The coefficients were fitted at the Chebyshev points of the interval that each file names, with 40 digits.

mod arc;
pub(super) mod double;
mod error_function;
mod exponential;
pub(super) mod library;
mod logarithm;
pub(super) mod normal;
mod rounding;
pub(super) mod single;
mod trigonometric;

pub(super) use arc::{acos, asin, atan};
pub(super) use error_function::{erf, erfc};
pub(super) use exponential::{cosh, exp, exp_m1, sinh, tanh};
pub(super) use logarithm::{acosh, asinh, atanh, ln, ln_1p, log2, log10, pow};
pub(super) use rounding::Rounding;
pub(super) use trigonometric::{cos, sin, tan};

const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const BIAS: u64 = f64::MAX_EXP as u64 - 1;

/// Adding this to a number below 2⁵¹ rounds it to an integer, which is then in the low bits of the sum. A cast would
/// saturate, which the compiler cannot vectorise well.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `a * b + c`, rounded once if `FUSED`.
#[inline(always)]
fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The value of a polynomial, highest coefficient first.
#[inline(always)]
fn polynomial<const FUSED: bool, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut value = coefficients[0];
    for coefficient in &coefficients[1..] {
        value = fma::<FUSED>(value, x, *coefficient);
    }
    value
}

#[cfg(test)]
mod tests;
