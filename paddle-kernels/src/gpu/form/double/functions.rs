//! Functions in double precision, for random numbers: in fixed point, with about 60 digits, and rounded once. As they are of whole
//! numbers, every device gives the same bits.

use super::arithmetic::{BIAS, multiply_high, normalise, pack, ratio};
use super::{MANTISSA_BITS, bit, shift_left, shift_right, u};
use crate::gpu::form::numbers::{Long, Register, Signed, Truth, Unsigned};

/// A number below 2 with 63 binary digits behind the point.
fn fixed(value: u128, divisor: u128) -> Long {
    Long::of((((value << 63) + divisor / 2) / divisor) as u64 as i64)
}

/// `-ln x`, for a number `x / 2⁵³` that is above 0 and at most 1.
pub(in crate::gpu) fn negative_logarithm(x: Long) -> Long {
    /// `ln 2 · 2⁶⁴`.
    const LN_2: u64 = 0xb172_17f7_d1cf_79ac;
    /// `√2 · 2³¹`.
    const ROOT_2: u32 = 0xb504_f333;
    /// As many terms as 64 digits need.
    const TERMS: u128 = 12;
    // x / 2⁵³ = f / 2ⁿ, with f from √½ to √2.
    let (mantissa, moved) = normalise(x);
    let halves = mantissa.high.greater(u(ROOT_2));
    let n = moved - u(63 - MANTISSA_BITS - 1) - halves.to_unsigned();
    let f = Long::choose(halves, shift_right(mantissa, u(4)), shift_right(mantissa, u(3)));
    // ln f = 2 artanh s, with s = (f - 1) / (f + 1).
    let unit = bit(60);
    let is_below = f.less(unit);
    let (distance, far) = normalise(Long::choose(is_below, unit - f, f - unit));
    let q = ratio(shift_right(distance, u(3)), f + unit);
    let places = far - u(3);
    let s = shift_right(q, places - u(1));
    let square = multiply_high(s, s);
    let series = (0..TERMS)
        .rev()
        .fold(fixed(1, 2 * TERMS + 1), |sum, k| fixed(1, 2 * k + 1) + multiply_high(square, sum));
    let of_f = multiply_high(q, series);
    // Alone, the logarithm of f keeps all its digits.
    let (alone, moved) = normalise(of_f);
    let exponent = Signed::of(BIAS + 2) - (places + moved).as_signed();
    let alone = pack(u(0), exponent, alone, Truth::of(false));
    let of_two = multiply_high(shift_left(Long::of_unsigned(n), u(58)), Long::of(LN_2 as i64));
    let part = shift_right(of_f, (places + u(3)).least(u(63)));
    let (sum, moved) = normalise(Long::choose(is_below, of_two + part, of_two - part));
    let sum = pack(u(0), Signed::of(BIAS + 5) - moved.as_signed(), sum, Truth::of(false));
    let result = Long::choose(n.is(u(0)), alone, sum);
    Long::choose(f.is(unit) & n.is(u(0)), Long::of(0), result)
}

/// `jπ/2`, without multiples of 2, with 63 binary digits behind the point.
const QUARTERS: [u64; 5] =
    [0, 0xc90f_daa2_2168_c235, 0x921f_b544_42d1_846a, 0x5b2f_8fe6_643a_469e, 0x243f_6a88_85a3_08d3];

/// The sine of an angle, which is `2π · turn / 2⁵³` rounded to double precision; or the cosine.
pub(in crate::gpu) fn sine(angle: Long, turn: Long, is_cosine: Truth) -> Long {
    const TERMS: u128 = 10;
    // The nearest quarter, and the distance from it.
    let near = turn + bit(50);
    let quarter = near.high >> u(51 - 32);
    let exponent = (angle.high >> u(MANTISSA_BITS - 32)) & u(0x7ff);
    let mantissa =
        Long { low: angle.low, high: (angle.high & u(0x000f_ffff)) | u(1 << (MANTISSA_BITS - 32)) };
    // An angle below 2 has 63 digits behind the point; what is above wraps around.
    let to_left = exponent.as_signed() - Signed::of(BIAS + MANTISSA_BITS as i32 - 63);
    let is_small = to_left.less(Signed::of(0));
    let left = shift_left(mantissa, Unsigned::choose(is_small, u(0), to_left.as_unsigned()));
    let right = shift_right(mantissa, (-to_left).as_unsigned().least(u(63)));
    let at = Long::choose(is_small, right, left);
    let at = Long::choose(exponent.is(u(0)), Long::of(0), at);
    let start = (1..5).fold(Long::of(0), |found, j| {
        Long::choose(quarter.is(u(j as u32)), Long::of(QUARTERS[j] as i64), found)
    });
    let distance = at - start;
    let is_before = distance.is_negative();
    let r = shift_left(Long::choose(is_before, -distance, distance), u(1));
    // The cosine is the sine of the next quarter.
    let quarter = quarter + is_cosine.to_unsigned();
    let of_cosine = (quarter & u(1)).is(u(1));
    let square = multiply_high(r, r);
    let factorial = |n: u128| (1..=n).product::<u128>();
    let term = |k: u128| Long::choose(of_cosine, fixed(1, factorial(2 * k)), fixed(1, factorial(2 * k + 1)));
    let series = (0..TERMS).rev().fold(term(TERMS), |sum, k| term(k) - multiply_high(square, sum));
    let size = Long::choose(of_cosine, series, multiply_high(r, series));
    let (mantissa, moved) = normalise(size);
    let turned = (quarter >> u(1)) & u(1);
    let sign = turned ^ (is_before & !of_cosine).to_unsigned();
    pack(sign, Signed::of(BIAS) - moved.as_signed(), mantissa, Truth::of(false))
}
