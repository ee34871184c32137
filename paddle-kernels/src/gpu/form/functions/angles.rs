//! Angles within a circle, and their sines.

use std::f32::consts::FRAC_PI_2;

use paddle_core::ops::Real;

use super::{BIAS, MANTISSA_BITS, f, fast_two_sum, polynomial};
use crate::gpu::form::control::Variable;
use crate::gpu::form::numbers::{Float, Register, Signed, Unsigned};
use crate::gpu::form::{for_each, when};

/// `sin` and `cos` of an angle between -π/4 and π/4, which has two parts.
pub(super) fn sin_cos(x: Float, low: Float) -> (Float, Float) {
    let square = x * x;
    let sine = polynomial(square, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]) * square * x + x + low;
    let cosine = polynomial(square, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]) * square * square
        - f(0.5) * square
        + f(1.0)
        - x * low;
    (sine, cosine)
}

/// An angle without quarters of a circle: the number of quarters, and the rest in two parts.
pub(super) fn reduce(x: Float) -> (Unsigned, Float, Float) {
    // π/2 in parts of few digits, whose products with small numbers of quarters are exact.
    let n = (x * f(std::f32::consts::FRAC_2_PI)).round();
    let (a, b, c, d) = (1.570_312_5_f32, 4.837_513e-4_f32, 7.549_79e-8_f32, -1.715_124_5e-15_f32);
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
