//! The numbers that formulas are written for.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

use super::special;

/// The numbers that formulas are written for: `f32`, `f64`, the vectorised numbers of a backend, and numbers of the text that
/// a backend compiles for its device. What compares them is a method, since such a text has no `bool` when it is written.
///
/// The functions with a body are written such that nothing cancels. Wherever the result is a normal number, their
/// relative error is a few times that of the functions without a body. They are inlined everywhere, so that they become
/// vector code with the loops around them.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// What a comparison gives.
    type Truth: Copy + BitAnd<Output = Self::Truth> + BitOr<Output = Self::Truth>;

    /// The nearest value to a constant.
    fn of(value: f64) -> Self;

    /// `|self|`.
    fn abs(self) -> Self;
    /// The largest whole number that is not above `self`.
    fn floor(self) -> Self;
    /// The smallest whole number that is not below `self`.
    fn ceil(self) -> Self;
    /// The nearest whole number. If two are equally near, the one further from 0.
    fn round(self) -> Self;
    /// The next whole number towards 0.
    fn trunc(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;

    /// `e` to the power of `self`.
    fn exp(self) -> Self;
    /// `eˣ - 1`.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `ln(1 + x)`.
    fn ln_1p(self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    fn log10(self) -> Self;
    /// `self` to the power of another, as IEEE 754 defines it.
    fn pow(self, power: Self) -> Self;

    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Tangent.
    fn tan(self) -> Self;
    /// Arc sine; not a number outside [-1, 1].
    fn asin(self) -> Self;
    /// Arc cosine; not a number outside [-1, 1].
    fn acos(self) -> Self;
    /// Arc tangent.
    fn atan(self) -> Self;

    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine; not a number below 1.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent; not a number outside [-1, 1].
    fn atanh(self) -> Self;

    /// The error function, 2/√π ∫₀ˣ exp(-t²) dt.
    fn erf(self) -> Self;
    /// `1 - erf(x)`, which is small, but not 0, for large `x`.
    fn erfc(self) -> Self;

    /// `self > other`.
    fn above(self, other: Self) -> Self::Truth;
    /// `self < other`.
    fn below(self, other: Self) -> Self::Truth;
    /// `self >= other`.
    fn at_least(self, other: Self) -> Self::Truth;
    /// `self <= other`.
    fn at_most(self, other: Self) -> Self::Truth;
    /// `self == other`.
    fn equals(self, other: Self) -> Self::Truth;
    /// Whether this is not a number.
    fn is_not_a_number(self) -> Self::Truth;

    /// `this` if `condition` holds, otherwise `other`.
    fn select(condition: Self::Truth, this: Self, other: Self) -> Self;

    /// The larger number; `other` if they do not compare.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.above(other), self, other)
    }

    /// The smaller number; `other` if they do not compare.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.below(other), self, other)
    }

    /// 1, 0 or -1, as `self` is above, at or below 0. NaN has the sign NaN.
    #[inline(always)]
    fn sign(self) -> Self {
        let zero = Self::of(0.0);
        Self::select(self.above(zero), Self::of(1.0), Self::select(self.below(zero), Self::of(-1.0), self))
    }

    /// `1 / √x`.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::of(1.0) / self.sqrt()
    }

    /// `e` to the power of `self`, which is not above 0.
    #[inline(always)]
    fn exp_negative(self) -> Self {
        self.exp()
    }

    /// `1 / (1 + e⁻ˣ)`.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let small = (-self.abs()).exp_negative();
        Self::select(self.at_least(Self::of(0.0)), Self::of(1.0), small) / (Self::of(1.0) + small)
    }

    /// `sigmoid(x)` and `sigmoid(-x)`, by one division. Each is rounded once more than a sigmoid by itself.
    #[inline(always)]
    fn sigmoids(self) -> [Self; 2] {
        let small = (-self.abs()).exp_negative();
        let larger = Self::of(1.0) / (Self::of(1.0) + small);
        let (smaller, is_positive) = (small * larger, self.at_least(Self::of(0.0)));
        [Self::select(is_positive, larger, smaller), Self::select(is_positive, smaller, larger)]
    }

    /// `ln(1 + eˣ)`.
    #[inline(always)]
    fn softplus(self) -> Self {
        self.max(Self::of(0.0)) + (-self.abs()).exp_negative().ln_1p()
    }

    /// `ln(sigmoid(x))`.
    #[inline(always)]
    fn log_sigmoid(self) -> Self {
        -(-self).softplus()
    }

    /// `x · sigmoid(x)`; not a number at -∞, as `x · 0`.
    #[inline(always)]
    fn silu(self) -> Self {
        self * self.sigmoid()
    }

    /// `x · tanh(softplus(x))`; not a number at -∞, as `x · 0`.
    #[inline(always)]
    fn mish(self) -> Self {
        // tanh(ln(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1), which is 1 for every `e` beyond e³⁰.
        let e = Self::of(30.0).min(self).exp();
        let n = e * (e + Self::of(2.0));
        self * (n / (n + Self::of(2.0)))
    }

    /// `x · Φ(x)`, with the distribution function Φ of the normal distribution: Hendrycks and Gimpel (2016); not a number
    /// at -∞, as `x · 0`.
    #[inline(always)]
    fn gelu(self) -> Self {
        self * (Self::of(0.5) * (self * Self::of(-FRAC_1_SQRT_2)).erfc())
    }

    /// The derivative of [`gelu`](Real::gelu), `Φ(x) + x · φ(x)` with the density φ of the normal distribution; not a number
    /// at infinities, as `∞ · 0`.
    #[inline(always)]
    fn gelu_slope(self) -> Self {
        let density =
            Self::of(0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2) * (Self::of(-0.5) * self * self).exp_negative();
        Self::of(0.5) * (self * Self::of(-FRAC_1_SQRT_2)).erfc() + self * density
    }

    /// `x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`, the approximation of [`gelu`](Real::gelu) by its authors; not a
    /// number at -∞, as `x · 0`.
    #[inline(always)]
    fn gelu_tanh(self) -> Self {
        // √(2/π) = 2/√π · 1/√2, and (1 + tanh u) / 2 = sigmoid(2u).
        let inner = self * (Self::of(1.0) + Self::of(0.044715) * self * self);
        self * (Self::of(2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2) * inner).sigmoid()
    }

    /// `ln |Γ(x)|`, infinite at 0, -1, -2, ….
    #[inline(always)]
    fn ln_gamma(self) -> Self {
        special::ln_gamma(self)
    }

    /// The derivative of [`ln_gamma`](Real::ln_gamma).
    #[inline(always)]
    fn digamma(self) -> Self {
        special::digamma(self)
    }

    /// The derivative of [`digamma`](Real::digamma).
    #[inline(always)]
    fn trigamma(self) -> Self {
        special::trigamma(self)
    }

    /// The inverse of [`erf`](Real::erf): infinite at 1 and -1, and not a number beyond.
    #[inline(always)]
    fn erf_inv(self) -> Self {
        special::erf_inv(self)
    }
}

/// Comparisons of a type by those of the numbers that it consists of.
#[macro_export]
macro_rules! comparisons {
    (|$x:ident| $number:expr) => {
        type Truth = bool;

        $crate::comparisons! { |$x| $number; above >, below <, at_least >=, at_most <=, equals == }

        #[inline(always)]
        fn is_not_a_number(self) -> bool {
            let $x = self;
            $number.is_nan()
        }

        #[inline(always)]
        fn select(condition: bool, this: Self, other: Self) -> Self {
            if condition { this } else { other }
        }
    };
    (|$x:ident| $number:expr; $($name:ident $operator:tt),*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> bool {
            let left = { let $x = self; $number };
            let right = { let $x = other; $number };
            left $operator right
        }
    )*};
}

macro_rules! real {
    ($float:ident: $($name:ident = $function:expr),* $(,)?) => {
        impl Real for $float {
            $crate::comparisons! { |x| x }

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }

            #[inline(always)]
            fn pow(self, power: Self) -> Self {
                self.powf(power)
            }

            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    ($function)(self)
                }
            )*
        }
    };
    ($($float:ident: $acosh:ident, $atanh:ident, $erf:ident, $erfc:ident;)*) => {$(
        real! {
            $float:
            abs = $float::abs,
            floor = $float::floor,
            ceil = $float::ceil,
            round = $float::round,
            trunc = $float::trunc,
            sqrt = $float::sqrt,
            exp = $float::exp,
            exp_m1 = $float::exp_m1,
            ln = $float::ln,
            ln_1p = $float::ln_1p,
            log2 = $float::log2,
            log10 = $float::log10,
            sin = $float::sin,
            cos = $float::cos,
            tan = $float::tan,
            asin = $float::asin,
            acos = $float::acos,
            atan = $float::atan,
            sinh = $float::sinh,
            cosh = $float::cosh,
            tanh = $float::tanh,
            // The standard library doubles such large numbers, which gives infinities.
            asinh = |x: $float| if x.abs() > $float::MAX / 4.0 { (x.abs().ln() + std::$float::consts::LN_2).copysign(x) } else { $float::asinh(x) },
            acosh = |x| if x < 1.0 { $float::NAN } else { libm::$acosh(x) },
            atanh = libm::$atanh,
            erf = libm::$erf,
            erfc = libm::$erfc,
        }
    )*};
}
// The standard library's `acosh` loses half of its digits next to 1, and its `atanh` next to -1; it has no error
// function. The `acosh` of `libm` gives numbers other than NaN below 1.
real!(f32: acoshf, atanhf, erff, erfcf; f64: acosh, atanh, erf, erfc;);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_do_not_cancel() {
        let near = |found: f64, exact: f64| {
            assert!((found / exact - 1.0).abs() < 1e-13, "{found:e} is not {exact:e}");
        };
        // The expected values were computed with 50 digits.
        near(Real::sigmoid(-700.0), 9.85967654375977e-305);
        near(Real::softplus(-40.0), 4.248354255291589e-18);
        near(Real::log_sigmoid(40.0), -4.248354255291589e-18);
        near(Real::silu(-40.0), -1.6993417021166355e-16);
        near(Real::mish(-40.0), -1.6993417021166355e-16);
        near(Real::mish(1e-3), 0.000600319983954133);
        near(Real::gelu(-12.0), -2.1317785344932147e-32);
        near(Real::gelu_tanh(-5.0), -2.291796196629506e-7);
    }

    #[test]
    fn limits() {
        assert_eq!([f64::NEG_INFINITY, -0.0, f64::INFINITY].map(Real::sigmoid), [0.0, 0.5, 1.0]);
        assert_eq!([f64::NEG_INFINITY, f64::INFINITY].map(Real::softplus), [0.0, f64::INFINITY]);
        for f in [Real::silu, Real::mish, Real::gelu, Real::gelu_tanh] {
            assert_eq!([0.0, 1e300, f64::INFINITY].map(f), [0.0, 1e300, f64::INFINITY]);
        }
        for f in [
            Real::sign,
            Real::sigmoid,
            Real::softplus,
            Real::log_sigmoid,
            Real::silu,
            Real::mish,
            Real::gelu,
            Real::gelu_tanh,
        ] {
            assert!(f(f64::NAN).is_nan());
        }
    }

    #[test]
    fn outside_the_domain() {
        for x in [0.5_f64, -1.0, -6640.753] {
            assert!(Real::acosh(x).is_nan() && Real::acosh(x as f32).is_nan());
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!([0.5, 1.5, 2.5, -0.5, -2.5].map(<f64 as Real>::round), [1.0, 2.0, 3.0, -1.0, -3.0]);
    }
}
