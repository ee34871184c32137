//! The numbers in which formulas are evaluated. Their functions are those of [`math`], which become vector code; a few
//! functions on `f64` are those of C's library.
//!
//! Every function here is always inlined: otherwise it would be compiled for the portable set (see [`super::isa`]), and
//! each multiply-add could be a call of a library function.

use std::ops::{Add, Div, Mul, Neg, Sub};

use paddle_core::ops::Real;

use super::math::{self, Rounding, double, library, normal, single};

/// An `f32`. With `FUSED`, multiply-add is one instruction (see [`super::isa`]).
#[derive(Clone, Copy)]
pub(super) struct Fast<const FUSED: bool>(pub(super) f32);

/// A number that becomes an `f32`, in the arithmetic of `f64`.
#[derive(Clone, Copy)]
pub(super) struct Wide<const FUSED: bool>(pub(super) f64);

/// An `f64`.
#[derive(Clone, Copy)]
pub(super) struct Double<const FUSED: bool>(pub(super) f64);

macro_rules! operators {
    ($($type:ident: $($trait:ident $method:ident),*;)*) => {$(
        $(
            impl<const FUSED: bool> $trait for $type<FUSED> {
                type Output = Self;

                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    $type(self.0.$method(other.0))
                }
            }
        )*

        impl<const FUSED: bool> Neg for $type<FUSED> {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                $type(-self.0)
            }
        }
    )*};
}
operators! {
    Fast: Add add, Sub sub, Mul mul, Div div;
    Wide: Add add, Sub sub, Mul mul, Div div;
    Double: Add add, Sub sub, Mul mul, Div div;
}

macro_rules! functions {
    (|$x:ident| $($name:ident = $value:expr),* $(,)?) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            let $x = self.0;
            Self($value)
        }
    )*};
}

/// Functions that are computed in the arithmetic of `f64`.
macro_rules! wide {
    ($($name:ident),* $(,)?) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Fast(Wide::<FUSED>(self.0.into()).$name().0 as f32)
        }
    )*};
}

/// Functions on `f64`. Where multiply-add is not one instruction, the functions of C's library are at least as fast as
/// vector code.
macro_rules! with_fused {
    ($($name:ident),* $(,)?) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Double(if FUSED { double::$name::<FUSED>(self.0) } else { library::$name(self.0) })
        }
    )*};
}

impl<const FUSED: bool> Real for Fast<FUSED> {
    paddle_core::comparisons! { |x| x.0 }

    #[inline(always)]
    fn of(value: f64) -> Self {
        Fast(value as f32)
    }

    #[inline(always)]
    fn pow(self, power: Self) -> Self {
        Fast(math::pow::<FUSED>(self.0.into(), power.0.into()) as f32)
    }

    functions! {
        |x|
        abs = x.abs(),
        floor = x.down::<FUSED>(),
        ceil = x.up::<FUSED>(),
        round = x.nearest::<FUSED>(),
        trunc = x.towards_zero::<FUSED>(),
        sqrt = x.sqrt(),
        exp = single::exp::<FUSED>(x),
        exp_negative = single::exp_negative::<FUSED>(x),
        exp_m1 = single::exp_m1::<FUSED>(x),
        ln = single::ln::<FUSED>(x),
        tanh = single::tanh::<FUSED>(x),
        softplus = single::softplus::<FUSED>(x),
        silu = single::silu::<FUSED>(x),
        mish = single::mish::<FUSED>(x),
        gelu_tanh = if FUSED { single::gelu_tanh(x) } else { Wide::<FUSED>(x.into()).gelu_tanh().0 as f32 },
        gelu = normal::gelu::<FUSED>(x),
        gelu_slope = normal::gelu_slope::<FUSED>(x),
    }

    wide! {
        ln_1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, erf, erfc, ln_gamma,
        digamma, trigamma, erf_inv,
    }
}

impl<const FUSED: bool> Real for Wide<FUSED> {
    paddle_core::comparisons! { |x| x.0 }

    #[inline(always)]
    fn of(value: f64) -> Self {
        Wide(value)
    }

    #[inline(always)]
    fn pow(self, power: Self) -> Self {
        Wide(math::pow::<FUSED>(self.0, power.0))
    }

    functions! {
        |x|
        abs = x.abs(),
        floor = x.down::<FUSED>(),
        ceil = x.up::<FUSED>(),
        round = x.nearest::<FUSED>(),
        trunc = x.towards_zero::<FUSED>(),
        sqrt = x.sqrt(),
        exp = math::exp::<FUSED>(x),
        exp_m1 = math::exp_m1::<FUSED>(x),
        ln = math::ln::<FUSED>(x),
        ln_1p = math::ln_1p::<FUSED>(x),
        log2 = math::log2::<FUSED>(x),
        log10 = math::log10::<FUSED>(x),
        sin = math::sin::<FUSED>(x),
        cos = math::cos::<FUSED>(x),
        tan = math::tan::<FUSED>(x),
        asin = math::asin::<FUSED>(x),
        acos = math::acos::<FUSED>(x),
        atan = math::atan::<FUSED>(x),
        sinh = math::sinh::<FUSED>(x),
        cosh = math::cosh::<FUSED>(x),
        tanh = math::tanh::<FUSED>(x),
        asinh = math::asinh::<FUSED>(x),
        acosh = math::acosh::<FUSED>(x),
        atanh = math::atanh::<FUSED>(x),
        erf = math::erf::<FUSED>(x),
        erfc = math::erfc::<FUSED>(x),
    }
}

impl<const FUSED: bool> Real for Double<FUSED> {
    paddle_core::comparisons! { |x| x.0 }

    #[inline(always)]
    fn of(value: f64) -> Self {
        Double(value)
    }

    #[inline(always)]
    fn pow(self, power: Self) -> Self {
        Double(library::pow(self.0, power.0))
    }

    functions! {
        |x|
        abs = x.abs(),
        floor = x.down::<FUSED>(),
        ceil = x.up::<FUSED>(),
        round = x.nearest::<FUSED>(),
        trunc = x.towards_zero::<FUSED>(),
        sqrt = x.sqrt(),
        sin = library::sin(x),
        cos = library::cos(x),
        tan = library::tan(x),
    }

    with_fused! {
        exp, exp_m1, ln, ln_1p, log2, log10, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc,
    }
}
