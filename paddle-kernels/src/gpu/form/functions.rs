//! The functions of formulas, in single precision. Those that devices have are too far from the exact results, or differ between
//! devices.
//!
//! `exp`, `ln`, `tanh`, `sin`, `cos`, `asin`, `atan`, `erf` and `erfc` use the polynomials of the Cephes library (S. Moshier).

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_E, PI};

use paddle_core::ops::Real;

use super::control::Variable;
use super::numbers::{Float, Register, Signed, Truth, Unsigned};
use super::{Unary, for_each, when};

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

/// A product, and what rounding has lost of it. Products of halves are exact.
fn two_product(a: Float, b: Float) -> (Float, Float) {
    let product = (a * b).rounded();
    let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
    (product, (((a1 * b1 - product).rounded() + a1 * b2).rounded() + a2 * b1) + a2 * b2)
}

/// `sin` and `cos` of an angle between -π/4 and π/4, which has two parts.
fn sin_cos(x: Float, low: Float) -> (Float, Float) {
    let square = x * x;
    let sine = polynomial(square, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]) * square * x + x + low;
    let cosine = polynomial(square, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]) * square * square
        - f(0.5) * square
        + f(1.0)
        - x * low;
    (sine, cosine)
}

/// An angle without quarters of a circle: the number of quarters, and the rest in two parts.
fn reduce(x: Float) -> (Unsigned, Float, Float) {
    // π/2 in parts of few digits, whose products with small numbers of quarters are exact.
    let n = (x * f(std::f32::consts::FRAC_2_PI)).round();
    let (a, b, c, d) = (1.570_312_5_f32, 4.837_512_97e-4_f32, 7.549_778_94e-8_f32, 5.126_688_2e-12_f32);
    let near = ((x - n * f(a)).rounded() - n * f(b)).rounded();
    let (high, low) = fast_two_sum(near, -(n * f(c)));
    let low = low - n * f(d);
    let quarters = Variable::new(n.to_signed().as_unsigned());
    let (rest, less) = (Variable::new(high), Variable::new(low));
    when(x.abs().greater(f(8192.0)), || {
        let (n, value) = reduce_large(x);
        quarters.set(n);
        rest.set(value);
        less.set(f(0.0));
    });
    (quarters.get(), rest.get(), less.get())
}

/// The same for any angle: a product of its digits with 2/π, of which only the digits that matter are computed (Payne and
/// Hanek, 1983).
fn reduce_large(x: Float) -> (Unsigned, Float) {
    // The digits of 2/π behind the point.
    const DIGITS: [u32; 8] = [
        0xa2f9_836e,
        0x4e44_1529,
        0xfc27_57d1,
        0xf534_ddc0,
        0xdb62_9599,
        0x3c43_9041,
        0xfe51_63ab,
        0xdebb_c561,
    ];
    let size = x.abs().bits();
    let exponent = (size >> Unsigned::of(MANTISSA_BITS)) - Unsigned::of(BIAS as u32 + MANTISSA_BITS);
    let mantissa = (size & Unsigned::of(0x007f_ffff)) | Unsigned::of(0x0080_0000);
    // x = mantissa · 2^exponent. Digits in front of bit `exponent` give whole circles.
    let (word, shift) = (exponent >> Unsigned::of(5), exponent & Unsigned::of(31));
    let digit = |at: u32| {
        let wanted = word + Unsigned::of(at);
        DIGITS.iter().enumerate().fold(Unsigned::of(0), |found, (number, &digit)| {
            Unsigned::choose(wanted.is(Unsigned::of(number as u32)), Unsigned::of(digit), found)
        })
    };
    let raw = [digit(0), digit(1), digit(2), digit(3)];
    let joined = |at: usize| {
        let back = Unsigned::of(32) - shift;
        let lower = Unsigned::choose(
            shift.is(Unsigned::of(0)),
            Unsigned::of(0),
            raw[at + 1] >> (back & Unsigned::of(31)),
        );
        (raw[at] << shift) | lower
    };
    let words = [joined(0), joined(1), joined(2)];
    // The product with the mantissa, modulo 2³² in front of the point, and 64 bits behind it.
    let third = words[2].multiply_high(mantissa);
    let second = words[1] * mantissa + third;
    let carry = second.less(third).to_unsigned();
    let first = words[0] * mantissa + words[1].multiply_high(mantissa) + carry;
    // Here the point is in front of `first`: a quarter of a circle is 2³⁰.
    let half = (first >> Unsigned::of(29)) & Unsigned::of(1);
    let quarters = (first >> Unsigned::of(30)) + half;
    let rest_high = first - (quarters << Unsigned::of(30));
    let negative = rest_high.as_signed().less(Signed::of(0));
    let (inverted_low, inverted_high) = (!second, !rest_high);
    let low = Unsigned::choose(negative, inverted_low, second);
    let high = Unsigned::choose(negative, inverted_high, rest_high);
    // Leading zeros go, so that no digit is lost.
    let (h, l) = (Variable::new(high), Variable::new(low));
    let scale = Variable::new(f(FRAC_PI_2 / (1u32 << 30) as f32));
    for_each(Unsigned::of(0), Unsigned::of(6), Unsigned::of(1), |_| {
        when(h.get().less(Unsigned::of(1 << 24)), || {
            h.set((h.get() << Unsigned::of(6)) | (l.get() >> Unsigned::of(26)));
            l.set(l.get() << Unsigned::of(6));
            scale.set(scale.get() * f(1.0 / 64.0));
        });
    });
    let value = h.get().to_float() * scale.get();
    let value = Float::choose(negative, -value, value);
    let below = x.less(f(0.0));
    let (n, value) =
        (Unsigned::choose(below, Unsigned::of(0) - quarters, quarters), Float::choose(below, -value, value));
    // Infinities have no angle.
    let endless = size.greater_equal(Unsigned::of(f32::INFINITY.to_bits()));
    (n, Float::choose(endless, f(f32::NAN), value))
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
        let tail = polynomial(square, &[8.053_744_5e-2, -1.387_768_6e-1, 1.997_771_1e-1, -3.333_294_9e-1]);
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
                    1.128_379_1,
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

/// What the distribution function Φ and the density φ of the normal distribution consist of; the polynomials are those of the
/// CPU's kernels (`cpu/math/normal.rs`).
struct Normal {
    /// `(Φ(x) - ½) / x`, for |x| up to 1.
    slope: Float,
    /// `Φ(-|x|) / exp(-x²/2)`, for |x| from 1 on.
    ratio: Float,
    /// `exp(-x²/2)`, as `(1 + less) · a · b`.
    power: (Float, Float, Float),
}

impl Normal {
    fn of(x: Float) -> Normal {
        const END: f32 = 15.0;
        let size = x.abs().min(f(END));
        let square = size * size;
        let slope = polynomial(
            square,
            &[-8.694_948_5e-6, 1.163_652_5e-4, -1.189_229_2e-3, 9.974_603e-3, -6.649_059e-2, 0.398_942_3],
        );
        let sum = (size + f(4.0)).rounded();
        let scale = f(1.0) / sum;
        // What the rounding of the sum has left.
        let scale = scale - scale * scale * (size - (sum - f(4.0)).rounded());
        let of_ratio = [
            1.476_010_1e-3,
            -3.393_935_3e-3,
            -7.506_738_6e-3,
            6.038_056e-2,
            -0.186_524_1,
            0.387_138_1,
            -0.607_896_6,
            0.755_285_14,
        ];
        let ratio = scale * polynomial((size - f(4.0)) * scale, &of_ratio);
        let (short, rest) = halves(size);
        let (less, a, b) = exp_parts(f(-0.5) * (short * short), f(0.0));
        // The rest of the square counts, as the exponential magnifies it.
        let of_rest = f(-0.5) * ((size + short) * rest);
        let less = less + (less + f(1.0)) * of_rest.exp_m1();
        let a = Float::choose(x.abs().less(f(END)), a, f(0.0));
        Normal { slope, ratio, power: (less, a, b) }
    }

    /// `y · exp(-x²/2)`. The power may be so small that it has few digits, so it is not computed by itself.
    fn times_power(&self, y: Float) -> Float {
        let (less, a, b) = self.power;
        (y * less + y) * a * b
    }
}

/// `x` to the power of `y`. The logarithm has twice the digits, since errors of it are magnified by its size.
fn power_of(x: Float, y: Float) -> Float {
    let size = x.abs();
    let small = size.less(f(f32::MIN_POSITIVE));
    let (n, rest) = ln_parts(Float::choose(small, size * f(8_388_608.0), size));
    let n = n - Float::choose(small, f(23.0), f(0.0));
    // ln(1 + f) = f - f²/2 + …, with the first two terms in twice the digits.
    let (square, square_low) = two_product(rest, rest);
    let tail = ln_tail(rest) * rest * square;
    let (a, a_low) = fast_two_sum(rest, f(-0.5) * square);
    let (b, b_low) = fast_two_sum(a, tail);
    let log_low = a_low + b_low - f(0.5) * square_low;
    // n · ln 2 is exact in its first part.
    let high = n * f(LN_2_HIGH);
    let swap = high.abs().less(b.abs());
    let (first, second) = (Float::choose(swap, b, high), Float::choose(swap, high, b));
    let (log, more) = fast_two_sum(first, second);
    let (log, log_low) = fast_two_sum(log, more + log_low + n * f(LN_2_LOW));
    let (product, product_low) = two_product(log, y.max(f(-1e30)).min(f(1e30)));
    let low = product_low + log_low * y;
    let whole = product.max(f(-1e4)).min(f(1e4));
    let low = Float::choose(product.abs().less(f(1e4)), low, f(0.0));
    let (less, p, q) = exp_parts(whole, low);
    let value = (less + f(1.0)) * p * q;
    // Signs and limits.
    let (zero, one, infinite) = (f(0.0), f(1.0), f(f32::INFINITY));
    let is_whole = y.trunc().is(y);
    let is_odd = is_whole & (y * f(0.5)).trunc().is_not(y * f(0.5)) & y.abs().less(f(16_777_216.0));
    let rises = y.greater(zero);
    let value = Float::choose(size.is(zero), Float::choose(rises, zero, infinite), value);
    let value = Float::choose(size.is(infinite), Float::choose(rises, infinite, zero), value);
    let endless = Float::choose(size.greater(one), infinite, zero);
    let shrinking = Float::choose(size.greater(one), zero, infinite);
    let limit = Float::choose(size.is(one), one, Float::choose(rises, endless, shrinking));
    let value = Float::choose(y.abs().is(infinite), limit, value);
    let is_negative = (x.bits() & Unsigned::of(0x8000_0000)).is_not(Unsigned::of(0));
    let value = Float::choose(is_negative & is_odd, -value, value);
    let undefined = x.less(zero) & !is_whole & size.less(infinite) & y.abs().less(infinite);
    let value = Float::choose(undefined, f(f32::NAN), value);
    let value = Float::choose(is_nan(x), x, Float::choose(is_nan(y), y, value));
    Float::choose(y.is(zero) | x.is(one), one, value)
}
