//! Functions of C's library for `f64`, one number at a time: all of them where multiply-add is not one instruction, as they are
//! hardly slower than vector code there; elsewhere those that would take many more digits, of π for large angles, and of
//! logarithms that large powers multiply.
//!
//! They are not inlined, so that the calls that they make are here and nowhere else: `tests/calls` looks for others.

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
