//! The functions of C's library for `f64`, one number at a time: right to the last digits, which [`math`](super) is not.
//!
//! They are not inlined, so that the calls that they make are here and nowhere else: `tests/calls.rs` looks for others.

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
