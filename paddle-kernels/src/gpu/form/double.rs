//! Numbers in double precision, as their bits: moves add up gradients of any type, random numbers are rounded from them, and no such
//! type is all that a card has.

mod arithmetic;
mod functions;

pub(in crate::gpu) use self::arithmetic::{
    absolute, divide, less, multiply, of_single, of_whole, square_root, to_single, whole,
};
pub(in crate::gpu) use self::functions::{negative_logarithm, sine};
use super::numbers::{Long, Register, Truth, Unsigned};

/// The bits of a mantissa.
const MANTISSA_BITS: u32 = 52;
/// The exponent of infinities and of what is not a number.
const ENDLESS: u32 = 0x7ff;
/// Bits behind a mantissa, from which it is rounded.
const GUARDS: u32 = 3;

fn u(value: u32) -> Unsigned {
    Unsigned::of(value)
}

fn bit(place: u32) -> Long {
    Long::of(1 << place)
}

/// To higher places, by less than 64.
fn shift_left(x: Long, places: Unsigned) -> Long {
    let within = places & u(31);
    let carried = Unsigned::choose(within.is(u(0)), u(0), x.low >> ((u(32) - within) & u(31)));
    let is_far = places.greater_equal(u(32));
    Long {
        low: Unsigned::choose(is_far, u(0), x.low << within),
        high: Unsigned::choose(is_far, x.low << within, (x.high << within) | carried),
    }
}

/// To lower places, by less than 64. The lowest bit says whether bits were lost.
fn shift_right(x: Long, places: Unsigned) -> Long {
    let within = places & u(31);
    let carried = Unsigned::choose(within.is(u(0)), u(0), x.high << ((u(32) - within) & u(31)));
    let is_far = places.greater_equal(u(32));
    let moved = Long {
        low: Unsigned::choose(is_far, x.high >> within, (x.low >> within) | carried),
        high: Unsigned::choose(is_far, u(0), x.high >> within),
    };
    let lost = !shift_left(moved, places).is(x);
    Long { low: moved.low | lost.to_unsigned(), high: moved.high }
}

fn or(x: Long, y: Long) -> Long {
    Long { low: x.low | y.low, high: x.high | y.high }
}

/// The sum of two numbers, rounded to the nearest.
pub(in crate::gpu) fn add(x: Long, y: Long) -> Long {
    let magnitude = |x: Long| Long { low: x.low, high: x.high & u(0x7fff_ffff) };
    let swaps = magnitude(x).less(magnitude(y));
    let (a, b) = (Long::choose(swaps, y, x), Long::choose(swaps, x, y));
    let sign = |x: Long| x.high >> u(31);
    let parts = |x: Long| {
        let exponent = (x.high >> u(MANTISSA_BITS - 32)) & u(ENDLESS);
        let is_normal = exponent.is_not(u(0)).to_unsigned();
        let mantissa =
            Long { low: x.low, high: (x.high & u(0x000f_ffff)) | (is_normal << u(MANTISSA_BITS - 32)) };
        (exponent + (u(1) - is_normal), shift_left(mantissa, u(GUARDS)))
    };
    let ((of_a, larger), (of_b, smaller)) = (parts(a), parts(b));
    let smaller = shift_right(smaller, (of_a - of_b).least(u(63)));
    let is_alike = sign(a).is(sign(b));
    let sum = Long::choose(is_alike, larger + smaller, larger - smaller);
    // One place to the right if the sum is too large, and to the left as far as it is too small.
    let top = MANTISSA_BITS + GUARDS;
    let overflows = !sum.less(bit(top + 1));
    let mut exponent = of_a + overflows.to_unsigned();
    let mut sum = Long::choose(overflows, shift_right(sum, u(1)), sum);
    for places in [32, 16, 8, 4, 2, 1] {
        let moves = sum.less(bit(top + 1 - places)) & exponent.greater(u(places));
        sum = Long::choose(moves, shift_left(sum, u(places)), sum);
        exponent = Unsigned::choose(moves, exponent - u(places), exponent);
    }
    let guards = sum.low & u((1 << GUARDS) - 1);
    let whole =
        Long { low: (sum.low >> u(GUARDS)) | (sum.high << u(32 - GUARDS)), high: sum.high >> u(GUARDS) };
    let is_odd = (whole.low & u(1)).is(u(1));
    let rises = guards.greater(u(4)) | (guards.is(u(4)) & is_odd);
    let rounded = whole + Long::of_unsigned(rises.to_unsigned());
    // A mantissa that becomes too long when it is rounded is a power of two: the carry goes to the exponent.
    let is_normal = !rounded.less(bit(MANTISSA_BITS));
    let exponent = Unsigned::choose(is_normal, exponent - u(1), u(0));
    let bits = rounded + Long { low: u(0), high: exponent << u(MANTISSA_BITS - 32) };
    let infinite = Long { low: u(0), high: u(ENDLESS << (MANTISSA_BITS - 32)) };
    let bits = Long::choose(bits.less(infinite), bits, infinite);
    let is_zero = sum.is(Long::of(0));
    let of_sum = Unsigned::choose(is_zero, sign(a) & sign(b), sign(a));
    let signed = or(bits, Long { low: u(0), high: of_sum << u(31) });
    // Without end, or not a number: infinities of both signs have no sum.
    let ends: Truth = of_a.less(u(ENDLESS));
    let none = Long { low: u(0), high: u(0x7ff8_0000) };
    let opposite = magnitude(a).is(infinite) & magnitude(b).is(infinite) & !is_alike;
    Long::choose(ends, signed, Long::choose(opposite, none, a))
}
