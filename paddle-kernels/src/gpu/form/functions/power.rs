//! Powers with any exponent.

use paddle_core::ops::Real;

use super::{LN_2_HIGH, LN_2_LOW, exp_parts, f, fast_two_sum, halves, is_nan, ln_parts, ln_tail};
use crate::gpu::form::numbers::{Float, Register, Unsigned};

/// A product, and what rounding has lost of it. Products of halves are exact.
fn two_product(a: Float, b: Float) -> (Float, Float) {
    let product = (a * b).rounded();
    let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
    (product, (((a1 * b1 - product).rounded() + a1 * b2).rounded() + a2 * b1) + a2 * b2)
}

/// `x` to the power of `y`. The logarithm has twice the digits, since errors of it are magnified by its size.
pub(super) fn power_of(x: Float, y: Float) -> Float {
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
