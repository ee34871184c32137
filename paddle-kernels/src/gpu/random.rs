//! The random bits of every backend (`crate::random`), as a form.

use std::f64::consts::TAU;

use paddle_core::plan::Extent;

use super::form::{Float, Long, Register, Truth, Unsigned, Variable, double, for_each, scalar, seed, when};
use super::tensor::Tensor;
use crate::random::{DRAWS, STREAM_OF_DRAW};

/// The word at a position of a stream.
pub(super) fn word(position: Long, stream: u64) -> Unsigned {
    let u = Unsigned::of;
    // Position / 4, which is unsigned.
    let block = [(position.low >> u(2)) | (position.high << u(30)), position.high >> u(2)];
    let words = philox([block[0], block[1], u(stream as u32), u((stream >> 32) as u32)], seed());
    let place = position.low & u(3);
    (0..3).fold(words[3], |found, at| Unsigned::choose(place.is(u(at as u32)), words[at], found))
}

/// The position of an element of a row: the positions of a row's elements follow its number.
pub(super) fn position_of_row(numbers: &Tensor, index: Unsigned, row: &[Extent]) -> Long {
    let width = scalar(row);
    let at = index / width;
    numbers.load(at).long() * Long::of_unsigned(width) + Long::of_unsigned(index - at * width)
}

/// The bits that positions 2i and 2i + 1 share: two numbers of 53 bits.
fn pair(position: Long, stream: Long) -> [Long; 2] {
    let u = Unsigned::of;
    // Position / 2, which is unsigned.
    let block = [(position.low >> u(1)) | (position.high << u(31)), position.high >> u(1)];
    let [a, b, c, d] = philox([block[0], block[1], stream.low, stream.high], seed());
    let upper =
        |low: Unsigned, high: Unsigned| Long { low: (low >> u(11)) | (high << u(21)), high: high >> u(11) };
    [upper(a, b), upper(c, d)]
}

/// `bits / 2⁵³`, in double precision.
fn fraction(bits: Long) -> Long {
    let scale = Long::of((0.5_f64.powi(53)).to_bits() as i64);
    double::multiply(double::of_whole(bits), scale)
}

fn is_even(position: Long) -> Truth {
    (position.low & Unsigned::of(1)).is(Unsigned::of(0))
}

fn constant(value: f64) -> Long {
    Long::of(value.to_bits() as i64)
}

/// Uniform on `[min, max)`, computed in double precision.
pub(super) fn uniform(position: Long, stream: u64, min: f64, max: f64) -> Float {
    let [even, odd] = pair(position, Long::of(stream as i64));
    let part = fraction(Long::choose(is_even(position), even, odd));
    let value = double::add(constant(min), double::multiply(part, constant(max - min)));
    // Rounding may give the upper bound itself.
    let value = Long::choose(double::less(value, constant(max)), value, constant(max.next_down().max(min)));
    let (rounded, bound) = (double::to_single(value), max as f32);
    let below = Float::constant(bound.next_down().max(min as f32));
    Float::choose(rounded.less(Float::constant(bound)), rounded, below)
}

/// Normal, with mean 0 and standard deviation 1, in double precision.
fn gaussian(position: Long, stream: Long) -> Long {
    let [first, turn] = pair(position, stream);
    let rest = Long::of(1 << 53) - first;
    let radius = double::square_root(double::multiply(constant(2.0), double::negative_logarithm(rest)));
    let angle = double::multiply(constant(TAU), fraction(turn));
    double::multiply(radius, double::sine(angle, turn, is_even(position)))
}

/// Of a normal number, computed in double precision.
fn scaled(number: Long, mean: f64, std: f64) -> Float {
    double::to_single(double::add(constant(mean), double::multiply(constant(std), number)))
}

/// Normal, with this mean and standard deviation.
pub(super) fn normal(position: Long, stream: u64, mean: f64, std: f64) -> Float {
    scaled(gaussian(position, Long::of(stream as i64)), mean, std)
}

/// Normal, but within two standard deviations of the mean: the first of several draws that is.
pub(super) fn near_normal(position: Long, stream: u64, mean: f64, std: f64) -> Float {
    let (low, high) = (Variable::new(Unsigned::of(0)), Variable::new(Unsigned::of(0)));
    let is_drawn = Variable::new(Truth::of(false));
    for_each(Unsigned::of(0), Unsigned::of(DRAWS as u32), Unsigned::of(1), |draw| {
        when(!is_drawn.get(), || {
            let of_draw = Long::of_unsigned(draw) * Long::of(STREAM_OF_DRAW as i64) + Long::of(stream as i64);
            let number = gaussian(position, of_draw);
            when(!double::less(constant(2.0), double::absolute(number)), || {
                low.set(number.low);
                high.set(number.high);
                is_drawn.set(Truth::of(true));
            });
        });
    });
    scaled(Long { low: low.get(), high: high.get() }, mean, std)
}

/// Philox4x32 with ten rounds.
fn philox(mut counter: [Unsigned; 4], mut key: [Unsigned; 2]) -> [Unsigned; 4] {
    const ROUNDS: usize = 10;
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let multipliers = MULTIPLIERS.map(Unsigned::of);
    let weyl = WEYL.map(Unsigned::of);
    for _ in 0..ROUNDS {
        let high = [multipliers[0].multiply_high(counter[0]), multipliers[1].multiply_high(counter[2])];
        let low = [multipliers[0] * counter[0], multipliers[1] * counter[2]];
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]];
        key = [key[0] + weyl[0], key[1] + weyl[1]];
    }
    counter
}
