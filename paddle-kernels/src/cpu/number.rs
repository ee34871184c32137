//! The numbers that kernels are generic over.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use paddle_core::ops::Real;
use paddle_core::program::DType;

use super::math;

/// What memory is read and written as.
///
/// # Safety
/// Every bit pattern is a value of the type.
#[allow(unsafe_code, reason = "memory is read as this type without looking at it")]
pub(super) unsafe trait Plain: Copy + Send + Sync + 'static {}

/// What values are made of. Truth values are bytes, 0 or 1.
pub(super) trait Element: Plain {
    const DTYPE: DType;
}

macro_rules! element {
    ($($type:ident $dtype:ident),*) => {$(
        // SAFETY: so it is for integers and floating-point numbers.
        #[allow(unsafe_code)]
        unsafe impl Plain for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
element!(u8 Bool, i32 I32, i64 I64, f32 F32, f64 F64);

// SAFETY: as above. The numbers of rows.
#[allow(unsafe_code)]
unsafe impl Plain for u32 {}

/// Floating-point numbers. With `FUSED`, multiply-add is one instruction (see [`super::isa`]).
pub(super) trait Float:
    Element + Real + AddAssign + SubAssign + MulAssign + DivAssign + Sum + super::vector::Element
{
    /// What element-wise formulas are evaluated in.
    type Fast<const FUSED: bool>: Real;

    fn fast<const FUSED: bool>(self) -> Self::Fast<FUSED>;
    fn plain<const FUSED: bool>(fast: Self::Fast<FUSED>) -> Self;
}

impl Float for f32 {
    type Fast<const FUSED: bool> = Fast<FUSED>;

    #[inline(always)]
    fn fast<const FUSED: bool>(self) -> Fast<FUSED> {
        Fast(self)
    }

    #[inline(always)]
    fn plain<const FUSED: bool>(fast: Fast<FUSED>) -> f32 {
        fast.0
    }
}

impl Float for f64 {
    type Fast<const FUSED: bool> = f64;

    #[inline(always)]
    fn fast<const FUSED: bool>(self) -> f64 {
        self
    }

    #[inline(always)]
    fn plain<const FUSED: bool>(fast: f64) -> f64 {
        fast
    }
}

/// eˣ.
#[inline(always)]
pub(super) fn exp<const FUSED: bool, T: Float>(x: T) -> T {
    T::plain(x.fast::<FUSED>().exp())
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn ln<const FUSED: bool, T: Float>(x: T) -> T {
    T::plain(x.fast::<FUSED>().ln())
}

/// An `f32` whose functions are those of [`math`], which become vector code.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Fast<const FUSED: bool>(f32);

macro_rules! operator {
    ($($trait:ident $method:ident),*) => {$(
        impl<const FUSED: bool> $trait for Fast<FUSED> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Fast(self.0.$method(other.0))
            }
        }
    )*};
}
operator!(Add add, Sub sub, Mul mul, Div div);

impl<const FUSED: bool> Neg for Fast<FUSED> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Fast(-self.0)
    }
}

/// Functions that are those of `f32`.
macro_rules! plain {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Fast(Real::$name(self.0))
        }
    )*};
}

impl<const FUSED: bool> Real for Fast<FUSED> {
    #[inline(always)]
    fn of(value: f64) -> Self {
        Fast(value as f32)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        Fast(math::exp::<FUSED>(self.0))
    }

    #[inline(always)]
    fn ln(self) -> Self {
        Fast(math::ln::<FUSED>(self.0))
    }

    #[inline(always)]
    fn pow(self, power: Self) -> Self {
        Fast(self.0.powf(power.0))
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        Fast(math::tanh::<FUSED>(self.0))
    }

    plain! {
        abs floor ceil round trunc sqrt exp_m1 ln_1p log2 log10 sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc
    }
}
