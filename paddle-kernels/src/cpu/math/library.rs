//! Functions of C's library for `f64`, one number at a time. Without a multiply-add instruction, all functions are
//! taken from here, as vector code would hardly be faster. With it, only those are that would need many more digits: of
//! π for large angles, and of logarithms that are multiplied by large powers.
//!
//! The functions are not inlined, so that the calls of the library are in this file alone: `tests/calls` looks for
//! others.

use paddle_core::ops::Real;

macro_rules! library {
    ($($name:ident),* $(,)?) => {$(
        #[inline(never)]
        pub(in crate::cpu) fn $name(x: f64) -> f64 {
            Real::$name(x)
        }
    )*};
}
library! {
    exp, exp_m1, ln, ln_1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc,
}

#[inline(never)]
pub(in crate::cpu) fn pow(x: f64, power: f64) -> f64 {
    x.powf(power)
}
