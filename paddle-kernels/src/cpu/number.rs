//! The element types that kernels are generic over.

use std::iter::Sum;
use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};

use paddle_core::ops::{Number, Real};
use paddle_core::program::DType;

use super::real::{Double, Fast, Wide};

/// A type as which memory is read and written.
///
/// # Safety
/// Every bit pattern is a value of the type.
#[allow(unsafe_code, reason = "memory is read as this type without looking at it")]
pub(super) unsafe trait Plain: Copy + Send + Sync + 'static {}

/// The elements of values. Truth values are bytes, 0 or 1.
pub(super) trait Element: Plain {
    const DTYPE: DType;
    /// Whether kernels that compute much with such elements have a copy for vectors of 512 bits. Others of their kind
    /// (double precision, integers) are rare, and each copy takes time to build.
    const WIDE: bool = matches!(Self::DTYPE, DType::F32);
}

macro_rules! element {
    ($($type:ident $dtype:ident),*) => {$(
        // SAFETY: every bit pattern is an integer, or a floating-point number.
        #[allow(unsafe_code)]
        unsafe impl Plain for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
element!(u8 Bool, i32 I32, i64 I64, f32 F32, f64 F64);

/// Elements that can be written in a program.
pub(super) trait Constant: Element {
    /// The number as an element; a fraction is truncated to an integer.
    fn constant(number: Number) -> Self;
}

macro_rules! constant {
    ($($type:ident: $number:ident => $value:expr;)*) => {$(
        impl Constant for $type {
            fn constant($number: Number) -> Self {
                $value
            }
        }
    )*};
}
constant! {
    u8: number => u8::from(number.as_f64() != 0.0);
    i32: number => i64::constant(number) as i32;
    i64: number => if let Number::Int(number) = number { number } else { number.as_f64() as i64 };
    f32: number => number.as_f64() as f32;
    f64: number => number.as_f64();
}

/// Numbers, as opposed to truth values. Integers wrap around.
pub(super) trait Summed: Constant + PartialOrd + Default {
    fn plus(self, other: Self) -> Self;
}

macro_rules! summed {
    ($($type:ident $plus:path;)*) => {$(
        impl Summed for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
        }
    )*};
}
summed! {
    i32 i32::wrapping_add;
    i64 i64::wrapping_add;
    f32 std::ops::Add::add;
    f64 std::ops::Add::add;
}

/// Floating-point numbers. With `FUSED`, multiply-add is one instruction (see [`super::isa`]).
pub(super) trait Float:
    Element
    + Real<Truth = bool>
    + PartialOrd
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + super::vector::Element
{
    /// The numbers in which formulas are evaluated if speed counts most.
    type Fast<const FUSED: bool>: Real<Truth = bool>;
    /// The numbers in which formulas are evaluated if the result should nearly always be the nearest number, however
    /// many operations there are.
    type Wide<const FUSED: bool>: Real<Truth = bool>;

    /// `self * factor + term`, rounded once if `FUSED`.
    fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self;
    /// The number in double precision.
    fn double(self) -> f64;
    /// The number of double precision that [`Float::Wide`] holds.
    fn double_of<const FUSED: bool>(wide: Self::Wide<FUSED>) -> f64;
    fn fast<const FUSED: bool>(self) -> Self::Fast<FUSED>;
    fn plain<const FUSED: bool>(fast: Self::Fast<FUSED>) -> Self;
    fn wide<const FUSED: bool>(self) -> Self::Wide<FUSED>;
    fn rounded<const FUSED: bool>(wide: Self::Wide<FUSED>) -> Self;
}

impl Float for f32 {
    type Fast<const FUSED: bool> = Fast<FUSED>;
    type Wide<const FUSED: bool> = Wide<FUSED>;

    #[inline(always)]
    fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
        if FUSED { self.mul_add(factor, term) } else { self * factor + term }
    }

    #[inline(always)]
    fn double(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn double_of<const FUSED: bool>(wide: Wide<FUSED>) -> f64 {
        wide.0
    }

    #[inline(always)]
    fn fast<const FUSED: bool>(self) -> Fast<FUSED> {
        Fast(self)
    }

    #[inline(always)]
    fn plain<const FUSED: bool>(fast: Fast<FUSED>) -> f32 {
        fast.0
    }

    #[inline(always)]
    fn wide<const FUSED: bool>(self) -> Wide<FUSED> {
        Wide(self.into())
    }

    #[inline(always)]
    fn rounded<const FUSED: bool>(wide: Wide<FUSED>) -> f32 {
        wide.0 as f32
    }
}

impl Float for f64 {
    type Fast<const FUSED: bool> = Double<FUSED>;
    type Wide<const FUSED: bool> = Double<FUSED>;

    #[inline(always)]
    fn times_plus<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
        if FUSED { self.mul_add(factor, term) } else { self * factor + term }
    }

    #[inline(always)]
    fn double(self) -> f64 {
        self
    }

    #[inline(always)]
    fn double_of<const FUSED: bool>(wide: Double<FUSED>) -> f64 {
        wide.0
    }

    #[inline(always)]
    fn fast<const FUSED: bool>(self) -> Double<FUSED> {
        Double(self)
    }

    #[inline(always)]
    fn plain<const FUSED: bool>(fast: Double<FUSED>) -> f64 {
        fast.0
    }

    #[inline(always)]
    fn wide<const FUSED: bool>(self) -> Double<FUSED> {
        Double(self)
    }

    #[inline(always)]
    fn rounded<const FUSED: bool>(wide: Double<FUSED>) -> f64 {
        wide.0
    }
}

/// eˣ of a number up to 0.
#[inline(always)]
pub(super) fn exp_negative<const FUSED: bool, T: Float>(x: T) -> T {
    T::plain(x.fast::<FUSED>().exp_negative())
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn ln<const FUSED: bool, T: Float>(x: T) -> T {
    T::plain(x.fast::<FUSED>().ln())
}

/// eˣ in double precision, to as many digits as a result of type `T` needs.
#[inline(always)]
pub(super) fn double_exp<const FUSED: bool, T: Float>(x: f64) -> f64 {
    T::double_of::<FUSED>(T::Wide::<FUSED>::of(x).exp())
}

/// The natural logarithm in double precision, to as many digits as a result of type `T` needs.
#[inline(always)]
pub(super) fn double_ln<const FUSED: bool, T: Float>(x: f64) -> f64 {
    T::double_of::<FUSED>(T::Wide::<FUSED>::of(x).ln())
}

/// `ln(1 + x)` in double precision, to as many digits as a result of type `T` needs.
#[inline(always)]
pub(super) fn double_ln_1p<const FUSED: bool, T: Float>(x: f64) -> f64 {
    T::double_of::<FUSED>(T::Wide::<FUSED>::of(x).ln_1p())
}
