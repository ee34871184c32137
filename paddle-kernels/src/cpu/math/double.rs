//! Functions of `f64`, as straight-line code with errors of a few units in the last place. They need second parts of
//! constants, and more terms than [`math`](super) needs for results of `f32`.
//!
//! The coefficients are those of FreeBSD's library (Sun Microsystems, `e_log.c`, `s_atan.c`, `s_erf.c`). The other
//! functions are in [`library`](super::library).

mod arc;
mod error_function;
mod exponential;
mod logarithm;

pub(in crate::cpu) use arc::{acos, asin, atan};
pub(in crate::cpu) use error_function::{erf, erfc};
pub(in crate::cpu) use exponential::{cosh, exp, exp_m1, sinh, tanh};
pub(in crate::cpu) use logarithm::{acosh, asinh, atanh, ln, ln_1p, log2, log10};

/// ln 2 in two parts. The last 21 bits of the first are 0, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
