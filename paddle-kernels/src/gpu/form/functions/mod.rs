//! The functions of formulas, in single precision. Those that devices have are too far from the exact results, or differ between
//! devices.
//!
//! `exp`, `ln`, `tanh`, `sin`, `cos`, `asin`, `atan`, `erf` and `erfc` use the polynomials of the Cephes library (S. Moshier).

mod angles;
mod normal;
mod power;

use std::f32::consts::{FRAC_2_SQRT_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_E, PI};

use paddle_core::ops::Real;

use self::angles::{reduce, sin_cos};
use self::normal::Normal;
use self::power::power_of;
use super::Unary;
use super::numbers::{Float, Register, Signed, Truth, Unsigned};

/// ln 2 in two parts. The first has so few digits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const BIAS: i32 = f32::MAX_EXP - 1;

fn f(value: f32) -> Float {
    Float::constant(value)
}

/// The value of a polynomial, highest coefficient first.
fn polynomial(x: Float, coefficients: &[f32]) -> Float {
    let (first, rest) = coefficients.split_first().expect("a polynomial has coefficients");
    rest.iter().fold(f(*first), |value, &coefficient| value * x + f(coefficient))
}

/// 2ⁿ, for the exponent `n` of a normal number.
fn power_of_two(n: Signed) -> Float {
    ((n + Signed::of(BIAS)).as_unsigned() << Unsigned::of(MANTISSA_BITS)).as_float()
}

/// The number with the sign of another.
fn with_sign(size: Float, of: Float) -> Float {
    let sign = of.bits() & Unsigned::of(0x8000_0000);
    ((size.bits() & Unsigned::of(0x7fff_ffff)) | sign).as_float()
}

fn is_nan(x: Float) -> Truth {
    (x.bits() & Unsigned::of(0x7fff_ffff)).greater(Unsigned::of(f32::INFINITY.to_bits()))
}

/// `x`, or NaN if `other` is NaN: what compares may not see that it is.
fn unless_nan(of: Float, x: Float) -> Float {
    Float::choose(is_nan(of), of, x)
}

/// `eˣ` as `(1 + less) · a · b`, with powers of two `a` and `b`; both, as their product may be no normal number.
fn exp_parts(x: Float, rest: Float) -> (Float, Float, Float) {
    let x = x.max(f(-104.0)).min(f(89.0));
    let n = (x * f(LOG2_E)).round();
    let rest = ((x - n * f(LN_2_HIGH)).rounded() - n * f(LN_2_LOW)) + rest;
    let tail =
        polynomial(rest, &[1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1]);
    let less = tail * (rest * rest) + rest;
    let n = n.to_signed();
    let half = n.shift_right(1);
    (less, power_of_two(half), power_of_two(n - half))
}

/// `ln x` for normal `x` above 0, as exponent and logarithm of the rest.
fn ln_parts(x: Float) -> (Float, Float) {
    let root_half = Signed::of(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
    let one = Signed::of(1.0_f32.to_bits() as i32);
    let shifted = x.bits().as_signed() + one - root_half;
    let n = shifted.shift_right(MANTISSA_BITS) - Signed::of(BIAS);
    let rest = (shifted.as_unsigned() & Unsigned::of((1 << MANTISSA_BITS) - 1)) + root_half.as_unsigned();
    (n.to_float(), rest.as_float() - f(1.0))
}

/// `ln(1 + f)` without its first two terms, divided by `f³`.
fn ln_tail(x: Float) -> Float {
    polynomial(
        x,
        &[
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ],
    )
}

/// A sum of two numbers that is exact, if the first is not smaller than the second.
fn fast_two_sum(a: Float, b: Float) -> (Float, Float) {
    let sum = (a + b).rounded();
    (sum, b - (sum - a).rounded())
}

/// The upper half of the digits of a number, and the rest.
fn halves(x: Float) -> (Float, Float) {
    let high = (x.bits() & Unsigned::of(0xffff_f000)).as_float();
    (high, (x - high).rounded())
}

/// `x²` in two parts, of which the first has so few digits that its square is exact.
fn exp_of_negative_square(x: Float) -> Float {
    let (high, low) = halves(x);
    let (less, a, b) = exp_parts(-(high * high), f(0.0));
    let rest = -((x + high) * low);
    (f(1.0) + less) * rest.exp() * a * b
}

impl Real for Float {
    type Truth = Truth;

    fn of(value: f64) -> Self {
        f(value as f32)
    }

    fn above(self, other: Self) -> Truth {
        self.greater(other)
    }

    fn below(self, other: Self) -> Truth {
        self.less(other)
    }

    fn at_least(self, other: Self) -> Truth {
        self.greater_equal(other)
    }

    fn at_most(self, other: Self) -> Truth {
        self.less_equal(other)
    }

    fn equals(self, other: Self) -> Truth {
        self.is(other)
    }

    fn is_not_a_number(self) -> Truth {
        is_nan(self)
    }

    fn select(condition: Truth, this: Self, other: Self) -> Self {
        Float::choose(condition, this, other)
    }

    fn abs(self) -> Self {
        self.unary(Unary::Abs)
    }

    fn floor(self) -> Self {
        self.unary(Unary::Floor)
    }

    fn ceil(self) -> Self {
        self.unary(Unary::Ceil)
    }

    fn round(self) -> Self {
        let whole = self.trunc();
        let is_far = (self - whole).abs().greater_equal(f(0.5));
        with_sign(Float::choose(is_far, whole.abs() + f(1.0), whole), self)
    }

    fn trunc(self) -> Self {
        self.unary(Unary::Trunc)
    }

    fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }

    fn exp(self) -> Self {
        let (less, a, b) = exp_parts(self, f(0.0));
        unless_nan(self, (less + f(1.0)) * a * b)
    }

    fn exp_m1(self) -> Self {
        let (less, a, b) = exp_parts(self, f(0.0));
        let power = a * b;
        // Where the power is infinite, its product with the rest may be minus infinity.
        let value =
            Float::choose(self.greater(f(88.0)), (less + f(1.0)) * a * b, less * power + (power - f(1.0)));
        unless_nan(self, with_sign(value, self))
    }

    fn ln(self) -> Self {
        let small = self.less(f(f32::MIN_POSITIVE));
        let normal = Float::choose(small, self * f(8_388_608.0), self);
        let (n, rest) = ln_parts(normal);
        let n = n - Float::choose(small, f(23.0), f(0.0));
        let square = rest * rest;
        let tail = ln_tail(rest) * rest * square + n * f(LN_2_LOW);
        let value = n * f(LN_2_HIGH) + (rest + (tail - f(0.5) * square));
        let value = Float::choose(self.less(f(f32::INFINITY)), value, self);
        let value = Float::choose(self.less(f(0.0)), f(f32::NAN), value);
        unless_nan(self, Float::choose(self.is(f(0.0)), f(f32::NEG_INFINITY), value))
    }

    fn ln_1p(self) -> Self {
        // Near 0 the series of the logarithm, elsewhere ln(1 + x) with what rounding has lost of the sum.
        let square = self * self;
        let near = self + (ln_tail(self) * self * square - f(0.5) * square);
        let sum = (self + f(1.0)).rounded();
        let of_large = f(1.0) - (sum - self).rounded();
        let lost = Float::choose(self.greater(f(1.0)), of_large, self - (sum - f(1.0)).rounded());
        let far = sum.ln() + Float::choose(sum.less(f(1e10)), lost / sum, f(0.0));
        let is_near = self.greater(f(-0.29)) & self.less(f(0.41));
        unless_nan(
            self,
            with_sign_of_zero(
                Float::choose(is_near, near, Float::choose(self.is(f(-1.0)), f(f32::NEG_INFINITY), far)),
                self,
            ),
        )
    }

    fn log2(self) -> Self {
        self.ln() * f(LOG2_E)
    }

    fn log10(self) -> Self {
        self.ln() * f(LOG10_E)
    }

    fn pow(self, power: Self) -> Self {
        power_of(self, power)
    }

    fn sin(self) -> Self {
        let (quarters, rest, low) = reduce(self);
        let (sine, cosine) = sin_cos(rest, low);
        let value = Float::choose((quarters & Unsigned::of(1)).is(Unsigned::of(1)), cosine, sine);
        let value = Float::choose((quarters & Unsigned::of(2)).is(Unsigned::of(2)), -value, value);
        unless_nan(self, with_sign_of_zero(value, self))
    }

    fn cos(self) -> Self {
        let (quarters, rest, low) = reduce(self);
        let (sine, cosine) = sin_cos(rest, low);
        let value = Float::choose((quarters & Unsigned::of(1)).is(Unsigned::of(1)), sine, cosine);
        let flips = (quarters + Unsigned::of(1)) & Unsigned::of(2);
        unless_nan(self, Float::choose(flips.is(Unsigned::of(2)), -value, value))
    }

    fn tan(self) -> Self {
        let (quarters, rest, low) = reduce(self);
        let square = rest * rest;
        let tail = polynomial(
            square,
            &[9.385_402e-3, 3.119_922_7e-3, 2.443_013_5e-2, 5.341_128e-2, 1.333_879_9e-1, 3.333_315_7e-1],
        );
        let tangent = tail * square * rest + rest + low;
        let value =
            Float::choose((quarters & Unsigned::of(1)).is(Unsigned::of(1)), f(-1.0) / tangent, tangent);
        unless_nan(self, with_sign_of_zero(value, self))
    }

    fn asin(self) -> Self {
        let size = self.abs();
        let large = size.greater(f(0.5));
        let square = Float::choose(large, f(0.5) * (f(1.0) - size), size * size);
        let root = Float::choose(large, square.sqrt(), size);
        let series = asin_series(square, root);
        let value = Float::choose(large, f(FRAC_PI_2) - (series + series), series);
        unless_nan(self, Float::choose(size.greater(f(1.0)), f(f32::NAN), with_sign(value, self)))
    }

    fn acos(self) -> Self {
        let size = self.abs();
        let large = size.greater(f(0.5));
        let square = Float::choose(large, f(0.5) * (f(1.0) - size), size * size);
        let root = Float::choose(large, square.sqrt(), self);
        let series = asin_series(square, root);
        let double = series + series;
        let far = Float::choose(self.less(f(0.0)), f(PI) - double, double);
        // π/2 in two parts.
        let value = Float::choose(large, far, f(FRAC_PI_2) - (series - f(-4.371_139e-8)));
        unless_nan(self, Float::choose(size.greater(f(1.0)), f(f32::NAN), value))
    }

    fn atan(self) -> Self {
        let size = self.abs();
        let (far, middle) = (size.greater(f(2.414_213_7)), size.greater(f(0.414_213_57)));
        let x = Float::choose(
            far,
            f(-1.0) / size,
            Float::choose(middle, (size - f(1.0)) / (size + f(1.0)), size),
        );
        let begin = Float::choose(far, f(FRAC_PI_2), Float::choose(middle, f(FRAC_PI_4), f(0.0)));
        let square = x * x;
        let tail = polynomial(square, &[8.053_744_5e-2, -1.387_768_6e-1, 1.997_771_1e-1, -3.333_295e-1]);
        let value = begin + (tail * square * x + x);
        unless_nan(self, with_sign(value, self))
    }

    fn sinh(self) -> Self {
        let size = self.abs();
        let less = size.exp_m1();
        let near = f(0.5) * (less + less / (less + f(1.0)));
        let (rest, a, b) = exp_parts(size, f(0.0));
        let far = (rest + f(1.0)) * (a * f(0.5)) * b;
        unless_nan(self, with_sign(Float::choose(size.greater(f(20.0)), far, near), self))
    }

    fn cosh(self) -> Self {
        let (rest, a, b) = exp_parts(self.abs(), f(0.0));
        let half = (rest + f(1.0)) * (a * f(0.5)) * b;
        unless_nan(self, half + f(0.25) / half)
    }

    fn tanh(self) -> Self {
        let size = self.abs();
        let square = size * size;
        let tail = polynomial(
            square,
            &[-5.704_988_7e-3, 2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1],
        );
        let near = tail * square * size + size;
        let far = f(1.0) - f(2.0) / ((size + size).exp() + f(1.0));
        unless_nan(self, with_sign(Float::choose(size.less(f(0.625)), near, far), self))
    }

    fn asinh(self) -> Self {
        let size = self.abs();
        let square = size * size;
        let near = (size + square / (f(1.0) + (square + f(1.0)).sqrt())).ln_1p();
        let far = size.ln() + f(LN_2);
        unless_nan(self, with_sign(Float::choose(size.greater(f(1e9)), far, near), self))
    }

    fn acosh(self) -> Self {
        let less = self - f(1.0);
        let near = (less + (less * (less + f(2.0))).sqrt()).ln_1p();
        let far = self.ln() + f(LN_2);
        let value = Float::choose(self.greater(f(1e9)), far, near);
        unless_nan(self, Float::choose(self.less(f(1.0)), f(f32::NAN), value))
    }

    fn atanh(self) -> Self {
        let size = self.abs();
        let value = f(0.5) * ((size + size) / (f(1.0) - size)).ln_1p();
        let value = Float::choose(size.is(f(1.0)), f(f32::INFINITY), value);
        unless_nan(self, Float::choose(size.greater(f(1.0)), f(f32::NAN), with_sign(value, self)))
    }

    fn erf(self) -> Self {
        let square = self * self;
        let near = self
            * polynomial(
                square,
                &[
                    7.853_861e-5,
                    -8.010_194e-4,
                    5.188_327e-3,
                    -2.685_381_4e-2,
                    1.128_358_5e-1,
                    -3.761_262_6e-1,
                    FRAC_2_SQRT_PI,
                ],
            );
        let size = self.abs();
        let far = with_sign(f(1.0) - erfc_of_large(size), self);
        unless_nan(self, Float::choose(size.less(f(1.0)), near, far))
    }

    fn gelu(self) -> Self {
        let normal = Normal::of(self);
        let below = normal.times_power(self * normal.ratio);
        let above = self * (f(1.0) - normal.times_power(normal.ratio));
        let far = Float::choose(self.less(f(0.0)), below, above);
        let near = self * (self * normal.slope + f(0.5));
        unless_nan(self, Float::choose(self.abs().less(f(1.0)), near, far))
    }

    fn gelu_slope(self) -> Self {
        let density = f(0.398_942_3);
        let normal = Normal::of(self);
        let below = normal.times_power(normal.ratio - density * self.abs());
        let far = Float::choose(self.less(f(0.0)), below, f(1.0) - below);
        let near = self * (normal.slope + normal.times_power(density)) + f(0.5);
        unless_nan(self, Float::choose(self.abs().less(f(1.0)), near, far))
    }

    fn erfc(self) -> Self {
        let large = erfc_of_large(self.abs().max(f(1.0)));
        let far = Float::choose(self.less(f(0.0)), f(2.0) - large, large);
        unless_nan(self, Float::choose(self.abs().less(f(1.0)), f(1.0) - self.erf(), far))
    }
}

/// The value, or the argument itself if that is a zero.
fn with_sign_of_zero(value: Float, of: Float) -> Float {
    Float::choose(of.is(f(0.0)), of, value)
}

/// `asin(x)`, where `square` is `x²` and at most ¼.
fn asin_series(square: Float, x: Float) -> Float {
    polynomial(square, &[4.216_32e-2, 2.418_131_2e-2, 4.547_002_6e-2, 7.495_300_3e-2, 1.666_675_2e-1])
        * square
        * x
        + x
}

/// `erfc(x)` for `x` from 1 on.
fn erfc_of_large(x: Float) -> Float {
    let x = x.min(f(11.0));
    let inverse = f(1.0) / x;
    let square = inverse * inverse;
    let near = polynomial(
        square,
        &[
            2.326_819_9e-2,
            -1.387_039_4e-1,
            3.687_424_7e-1,
            -5.824_733e-1,
            6.210_004e-1,
            -4.944_515e-1,
            3.404_88e-1,
            -2.741_127e-1,
            5.638_259_4e-1,
        ],
    );
    let far = polynomial(
        square,
        &[
            -1.047_766e1,
            1.297_719e1,
            -7.495_518e0,
            2.921_019e0,
            -1.015_265e0,
            4.218_463e-1,
            -2.820_767e-1,
            5.641_896e-1,
        ],
    );
    exp_of_negative_square(x) * inverse * Float::choose(x.less(f(2.0)), near, far)
}
