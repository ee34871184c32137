//! Element-wise operators. Each is one row of a table: name, formula, derivative; the loops of every backend, the
//! gradient and the documentation come from the row.

mod binary;
mod relation;
mod unary;

pub use binary::{Binary, BinaryKind};
pub use relation::{Compare, CompareKind, Logical, LogicalKind, Not};
pub use unary::{Coefficients, Unary, UnaryGrad, UnaryKind};

/// Numbers that formulas are written for: `f32`, `f64`, and the vectorised `f32` of a backend.
pub trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
{
    /// The nearest value to a constant.
    fn of(value: f64) -> Self;
    /// `|self|`.
    fn abs(self) -> Self;
    /// `e` to the power of `self`.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `self` to the power of another.
    fn pow(self, power: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The largest whole number not above.
    fn floor(self) -> Self;

    /// `this` where `condition` holds, else `other`.
    fn select(condition: bool, this: Self, other: Self) -> Self {
        if condition { this } else { other }
    }

    /// The larger one; `other` where they do not compare.
    fn max(self, other: Self) -> Self {
        Self::select(self > other, self, other)
    }

    /// The smaller one; `other` where they do not compare.
    fn min(self, other: Self) -> Self {
        Self::select(self < other, self, other)
    }

    /// `1 / (1 + e⁻ˣ)`.
    fn sigmoid(self) -> Self {
        Self::of(1.0) / (Self::of(1.0) + (-self).exp())
    }

    /// `ln (1 + eˣ)`, of any size.
    fn softplus(self) -> Self {
        self.max(Self::of(0.0)) + (Self::of(1.0) + (-self.abs()).exp()).ln()
    }
}

macro_rules! real {
    ($($float:ident),*) => {$(
        impl Real for $float {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $float::exp(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $float::ln(self)
            }

            #[inline(always)]
            fn pow(self, power: Self) -> Self {
                $float::powf(self, power)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                $float::tanh(self)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                $float::floor(self)
            }
        }
    )*};
}
real!(f32, f64);
