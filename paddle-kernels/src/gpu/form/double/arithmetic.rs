//! What else is computed in double precision: products, quotients, roots and comparisons of bits, each rounded once, and
//! conversions. Numbers that are too small to be normal are zero.

use super::{ENDLESS, MANTISSA_BITS, or, shift_left, shift_right, u};
use crate::gpu::form::control::{Variable, for_each, otherwise, when};
use crate::gpu::form::numbers::{Float, Long, Register, Signed, Truth, Unsigned};

/// The exponent of 1.
pub(super) const BIAS: i32 = f64::MAX_EXP - 1;
/// The bits of a mantissa that fills 64 bits, behind those that are kept.
const REST_BITS: u32 = 63 - MANTISSA_BITS;

/// A variable of 64 bits.
struct Wide([Variable<Unsigned>; 2]);

impl Wide {
    fn new(first: Long) -> Self {
        Wide([first.low, first.high].map(Variable::new))
    }

    fn get(&self) -> Long {
        Long { low: self.0[0].get(), high: self.0[1].get() }
    }

    fn set(&self, to: Long) {
        self.0[0].set(to.low);
        self.0[1].set(to.high);
    }
}

fn is_zero(x: Long) -> Truth {
    (x.low | x.high).is(u(0))
}

/// The product of 64 bits.
fn wide(x: Unsigned, y: Unsigned) -> Long {
    Long { low: x * y, high: x.multiply_high(y) }
}

/// The halves of the product of two numbers without sign, the upper one first.
fn multiply_wide(x: Long, y: Long) -> (Long, Long) {
    let low = wide(x.low, y.low);
    let middle = wide(x.low, y.high) + Long::of_unsigned(low.high);
    let other = wide(x.high, y.low) + Long::of_unsigned(middle.low);
    let high = wide(x.high, y.high) + Long::of_unsigned(middle.high) + Long::of_unsigned(other.high);
    (high, Long { low: low.low, high: other.low })
}

/// The upper half of the product of two numbers without sign.
pub(super) fn multiply_high(x: Long, y: Long) -> Long {
    multiply_wide(x, y).0
}

/// The number whose first bit is the first of all, and by how many places it was moved. Zero stays.
pub(super) fn normalise(mut x: Long) -> (Long, Unsigned) {
    let mut moved = u(0);
    for places in [32, 16, 8, 4, 2, 1] {
        let first = if places == 32 { x.high } else { x.high >> u(32 - places) };
        let moves = first.is(u(0));
        x = Long::choose(moves, shift_left(x, u(places)), x);
        moved = Unsigned::choose(moves, moved + u(places), moved);
    }
    (x, moved)
}

/// The number with this sign, 0 or 1, exponent and mantissa, whose first bit is the first of 64. `more` says that there is
/// something behind the mantissa.
pub(super) fn pack(sign: Unsigned, exponent: Signed, mantissa: Long, more: Truth) -> Long {
    let half = u(1 << (REST_BITS - 1));
    let rest = mantissa.low & u((1 << REST_BITS) - 1);
    let kept = Long {
        low: (mantissa.low >> u(REST_BITS)) | (mantissa.high << u(32 - REST_BITS)),
        high: mantissa.high >> u(REST_BITS),
    };
    let is_odd = (kept.low & u(1)).is(u(1));
    let rises = rest.greater(half) | (rest.is(half) & (more | is_odd));
    // The first bit of the mantissa counts one in the exponent.
    let exponent_bits = (exponent - Signed::of(1)).as_unsigned() << u(MANTISSA_BITS - 32);
    let bits = kept + Long::of_unsigned(rises.to_unsigned()) + Long { low: u(0), high: exponent_bits };
    let infinite = Long { low: u(0), high: u(ENDLESS << (MANTISSA_BITS - 32)) };
    let bits = Long::choose(exponent.less(Signed::of(ENDLESS as i32)), bits, infinite);
    let none = exponent.less(Signed::of(1)) | is_zero(mantissa);
    let bits = Long::choose(none, Long::of(0), bits);
    Long { low: bits.low, high: bits.high | (sign << u(31)) }
}

/// The sign, the exponent, and the mantissa with its first bit.
fn parts(x: Long) -> (Unsigned, Signed, Long) {
    let exponent = (x.high >> u(MANTISSA_BITS - 32)) & u(ENDLESS);
    let mantissa = Long { low: x.low, high: (x.high & u(0x000f_ffff)) | u(1 << (MANTISSA_BITS - 32)) };
    let mantissa = Long::choose(exponent.is(u(0)), Long::of(0), mantissa);
    (x.high >> u(31), exponent.as_signed(), mantissa)
}

/// The product of two finite numbers.
pub(in crate::gpu) fn multiply(x: Long, y: Long) -> Long {
    let ((of_x, a, x), (of_y, b, y)) = (parts(x), parts(y));
    let places = u(REST_BITS);
    let (high, low) = multiply_wide(shift_left(x, places), shift_left(y, places));
    let is_short = (high.high >> u(31)).is(u(0));
    let carried = or(shift_left(high, u(1)), Long::of_unsigned(low.high >> u(31)));
    let low = Long::choose(is_short, shift_left(low, u(1)), low);
    let exponent = a + b + Signed::of(1 - BIAS) - is_short.to_unsigned().as_signed();
    pack(of_x ^ of_y, exponent, Long::choose(is_short, carried, high), !is_zero(low))
}

/// The quotient of two finite numbers, of which the second is not zero.
pub(in crate::gpu) fn divide(x: Long, y: Long) -> Long {
    const DIGITS: u32 = 57;
    let ((of_x, a, x), (of_y, b, y)) = (parts(x), parts(y));
    let (rest, quotient) = (Wide::new(x), Wide::new(Long::of(0)));
    for_each(u(0), u(DIGITS), u(1), |_| next_digit(&rest, &quotient, y));
    let (mantissa, moved) = normalise(quotient.get());
    // If the first digit is 1, the exponents differ by that of the quotient.
    let exponent = a - b + Signed::of(BIAS + 64 - DIGITS as i32) - moved.as_signed();
    pack(of_x ^ of_y, exponent, mantissa, !is_zero(rest.get()))
}

/// A step of the division by `y`: one more binary digit of the quotient. The rest is less than twice `y`.
fn next_digit(rest: &Wide, quotient: &Wide, y: Long) {
    let (found, left) = (rest.get(), shift_left(quotient.get(), u(1)));
    when(found.less(y), || {
        rest.set(shift_left(found, u(1)));
        quotient.set(left);
    });
    otherwise(|| {
        rest.set(shift_left(found - y, u(1)));
        quotient.set(or(left, Long::of(1)));
    });
}

/// `x / y` with 63 digits behind the point, for `x` below `2 y` and `y` below 2⁶².
pub(super) fn ratio(x: Long, y: Long) -> Long {
    let (rest, quotient) = (Wide::new(x), Wide::new(Long::of(0)));
    for_each(u(0), u(64), u(1), |_| next_digit(&rest, &quotient, y));
    quotient.get()
}

/// The square root of a number that is not negative.
pub(in crate::gpu) fn square_root(x: Long) -> Long {
    const DIGITS: u32 = 56;
    let (_, exponent, mantissa) = parts(x);
    let size = exponent - Signed::of(BIAS);
    let is_odd = (size.as_unsigned() & u(1)).is(u(1));
    let first = Long::choose(is_odd, shift_left(mantissa, u(1)), mantissa);
    // Pairs of binary digits, the first one in front.
    let digits = Wide::new(shift_left(first, u(10)));
    let (rest, root) = (Wide::new(Long::of(0)), Wide::new(Long::of(0)));
    for_each(u(0), u(DIGITS), u(1), |_| {
        let all = digits.get();
        digits.set(shift_left(all, u(2)));
        let found = or(shift_left(rest.get(), u(2)), Long::of_unsigned(all.high >> u(30)));
        let trial = or(shift_left(root.get(), u(2)), Long::of(1));
        let left = shift_left(root.get(), u(1));
        when(found.less(trial), || {
            rest.set(found);
            root.set(left);
        });
        otherwise(|| {
            rest.set(found - trial);
            root.set(or(left, Long::of(1)));
        });
    });
    let half = size.shift_right(1) + Signed::of(BIAS);
    pack(u(0), half, shift_left(root.get(), u(64 - DIGITS)), !is_zero(rest.get()))
}

/// Whether the first of two numbers is smaller.
pub(in crate::gpu) fn less(x: Long, y: Long) -> Truth {
    let (a, b) = (absolute(x), absolute(y));
    let negative = |x: Long| (x.high >> u(31)).is(u(1));
    let infinite = Long { low: u(0), high: u(ENDLESS << (MANTISSA_BITS - 32)) };
    let are_numbers = !infinite.less(a) & !infinite.less(b);
    let below = Truth::choose(negative(y), b.less(a), Truth::of(true));
    let above = Truth::choose(negative(y), Truth::of(false), a.less(b));
    let differ = !(is_zero(a) & is_zero(b));
    are_numbers & differ & Truth::choose(negative(x), below, above)
}

/// The absolute value.
pub(in crate::gpu) fn absolute(x: Long) -> Long {
    Long { low: x.low, high: x.high & u(0x7fff_ffff) }
}

/// A whole number.
pub(in crate::gpu) fn of_whole(x: Long) -> Long {
    let negative = x.is_negative();
    let (mantissa, moved) = normalise(Long::choose(negative, -x, x));
    let exponent = Signed::of(BIAS + 63) - moved.as_signed();
    pack(negative.to_unsigned(), exponent, mantissa, Truth::of(false))
}

/// The whole number below a number from 0 to 2³².
pub(in crate::gpu) fn whole(x: Long) -> Unsigned {
    let (_, exponent, mantissa) = parts(x);
    let size = exponent - Signed::of(BIAS);
    let digits = shift_left(mantissa, u(REST_BITS)).high >> (u(31) - size.as_unsigned().least(u(31)));
    Unsigned::choose(size.less(Signed::of(0)), u(0), digits)
}

/// A number in single precision.
pub(in crate::gpu) fn of_single(x: Float) -> Long {
    const SINGLE_BITS: u32 = f32::MANTISSA_DIGITS - 1;
    let bits = x.bits();
    let exponent = (bits >> u(SINGLE_BITS)) & u(0xff);
    let is_small = exponent.is(u(0));
    let first = Unsigned::choose(is_small, u(0), u(1 << SINGLE_BITS));
    let mantissa = (bits & u((1 << SINGLE_BITS) - 1)) | first;
    let (mantissa, moved) = normalise(Long { low: u(0), high: mantissa << u(31 - SINGLE_BITS) });
    let raised = exponent + is_small.to_unsigned();
    let finite = raised.as_signed() + Signed::of(BIAS - (f32::MAX_EXP - 1)) - moved.as_signed();
    let number = pack(bits >> u(31), finite, mantissa, Truth::of(false));
    // What is not finite keeps its bits.
    let kept = Long {
        low: u(0),
        high: (bits & u(0x8000_0000))
            | u(ENDLESS << (MANTISSA_BITS - 32))
            | ((bits & u(0x007f_ffff)) >> u(3)),
    };
    Long::choose(exponent.is(u(0xff)), kept, number)
}

/// The nearest number in single precision, of a finite number.
pub(in crate::gpu) fn to_single(x: Long) -> Float {
    const SINGLE_BITS: u32 = f32::MANTISSA_DIGITS - 1;
    const DROPPED: u32 = MANTISSA_BITS - SINGLE_BITS;
    let (sign, exponent, mantissa) = parts(x);
    let exponent = exponent - Signed::of(BIAS - (f32::MAX_EXP - 1));
    // Small numbers have fewer digits.
    let is_small = exponent.less(Signed::of(1));
    let far = (Signed::of(1) - exponent).as_unsigned().least(u(60));
    let mantissa = shift_right(mantissa, Unsigned::choose(is_small, far, u(0)));
    let kept = (mantissa.low >> u(DROPPED)) | (mantissa.high << u(32 - DROPPED));
    let (rest, half) = (mantissa.low & u((1 << DROPPED) - 1), u(1 << (DROPPED - 1)));
    let rises = rest.greater(half) | (rest.is(half) & (kept & u(1)).is(u(1)));
    let raised = Unsigned::choose(is_small, u(0), (exponent - Signed::of(1)).as_unsigned());
    let bits = kept + rises.to_unsigned() + (raised << u(SINGLE_BITS));
    let bits = Unsigned::choose(exponent.less(Signed::of(0xff)), bits, u(f32::INFINITY.to_bits()));
    (bits | (sign << u(31))).as_float()
}
