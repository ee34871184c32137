//! `exp`, `ln` and `tanh` of `f32` as straight-line code, which the compiler turns into vector code inside
//! [`dispatch!`](super::isa::dispatch): 4 to 20 times as fast, with AVX-512, as those of the
//! standard library.
//!
//! Errors over all inputs, on x86-64 with and without `FUSED`: `exp` 1.02, `ln` 0.83, `tanh` 1.34 units in the last
//! place. The last bit may differ between the two.
//!
//! The polynomials are those of the Cephes library (S. Moshier, `expf`, `logf`, `tanhf`).

use std::f32::consts::LOG2_E;

use super::isa::fma;

/// ln 2 in two parts. The first is 355/512, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const BIAS: i32 = f32::MAX_EXP - 1;

/// The value of a polynomial, highest coefficient first.
#[inline(always)]
fn polynomial<const FUSED: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for coefficient in &coefficients[1..] {
        value = fma::<FUSED>(value, x, *coefficient);
    }
    value
}

/// 2ⁿ, for the exponent `n` of a normal number.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(BIAS) as u32) << MANTISSA_BITS)
}

/// eˣ.
#[inline(always)]
pub(crate) fn exp<const FUSED: bool>(x: f32) -> f32 {
    /// Adding this to a small number rounds it to an integer, which is then in the low bits of the sum. (A cast
    /// saturates, which the compiler cannot vectorise well.)
    const ROUND: f32 = 12_582_912.0;
    // Beyond these the result is 0 or infinite; `clamp` keeps NaN.
    let x = x.clamp(-104.0, 89.0);
    let rounded = fma::<FUSED>(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let rest = fma::<FUSED>(n, -LN_2_LOW, fma::<FUSED>(n, -LN_2_HIGH, x));
    let tail = polynomial::<FUSED, 6>(
        rest,
        [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1],
    );
    let power = fma::<FUSED>(tail, rest * rest, rest) + 1.0;
    // Two factors, since 2ⁿ itself may be too large or too small to be a normal number.
    let n = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    power * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln<const FUSED: bool>(x: f32) -> f32 {
    const ROOT_HALF: i32 = std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;
    const ONE: i32 = 1.0_f32.to_bits() as i32;
    /// Makes every denormal number normal.
    const LIFT: i32 = 23;
    let is_small = x < f32::MIN_POSITIVE;
    let normal = if is_small { x * (1 << LIFT) as f32 } else { x };
    // x = 2ⁿ (1 + f), with 1 + f between √½ and √2.
    let shifted = (normal.to_bits() as i32).wrapping_add(ONE - ROOT_HALF);
    let n = (shifted >> MANTISSA_BITS) - BIAS - if is_small { LIFT } else { 0 };
    let n = n as f32;
    let f = f32::from_bits(((shifted & ((1 << MANTISSA_BITS) - 1)) + ROOT_HALF) as u32) - 1.0;
    let square = f * f;
    let tail = polynomial::<FUSED, 9>(
        f,
        [
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
    );
    let tail = fma::<FUSED>(n, LN_2_LOW, tail * f * square);
    let value = fma::<FUSED>(n, LN_2_HIGH, f + fma::<FUSED>(-0.5, square, tail));
    let value = if x < f32::INFINITY { value } else { x };
    let value = if x < 0.0 { f32::NAN } else { value };
    if x == 0.0 { f32::NEG_INFINITY } else { value }
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<const FUSED: bool>(x: f32) -> f32 {
    let size = x.abs();
    let square = size * size;
    let tail = polynomial::<FUSED, 5>(
        square,
        [-5.704_988_7e-3, 2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1],
    );
    let near_zero = fma::<FUSED>(tail * square, size, size);
    let elsewhere = 1.0 - 2.0 / (exp::<FUSED>(2.0 * size) + 1.0);
    (if size < 0.625 { near_zero } else { elsewhere }).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::isa::{Isa, dispatch};

    dispatch! {
        fn exp_all<const FUSED: bool>(isa, x: &[f32], y: &mut [f32]) {
            x.iter().zip(y).for_each(|(x, y)| *y = exp::<FUSED>(*x));
        }
    }
    dispatch! {
        fn ln_all<const FUSED: bool>(isa, x: &[f32], y: &mut [f32]) {
            x.iter().zip(y).for_each(|(x, y)| *y = ln::<FUSED>(*x));
        }
    }
    dispatch! {
        fn tanh_all<const FUSED: bool>(isa, x: &[f32], y: &mut [f32]) {
            x.iter().zip(y).for_each(|(x, y)| *y = tanh::<FUSED>(*x));
        }
    }

    struct Function {
        name: &'static str,
        all: fn(Isa, &[f32], &mut [f32]),
        exact: fn(f64) -> f64,
        /// Units in the last place.
        tolerance: f64,
    }

    const EXP: Function = Function { name: "exp", all: exp_all, exact: f64::exp, tolerance: 1.1 };
    const LN: Function = Function { name: "ln", all: ln_all, exact: f64::ln, tolerance: 0.9 };
    const TANH: Function = Function { name: "tanh", all: tanh_all, exact: f64::tanh, tolerance: 1.4 };

    /// The distance in units in the last place. Infinity counts as the power of two after the largest number.
    fn error(found: f32, exact: f64) -> f64 {
        if exact.is_nan() || found.is_nan() {
            return if exact.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let bound = 2f64.powi(128);
        let (found, exact) = (f64::from(found).clamp(-bound, bound), exact.clamp(-bound, bound));
        let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
        (found - exact).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
    }

    /// Checks the numbers with these bits, and returns the largest error.
    fn check(function: &Function, bits: impl Iterator<Item = u32>) -> f64 {
        let mut bits = bits.peekable();
        let (mut x, mut y) = (Vec::new(), vec![0.0; 1 << 16]);
        let mut worst = 0.0_f64;
        while bits.peek().is_some() {
            x.clear();
            x.extend(bits.by_ref().take(y.len()).map(f32::from_bits));
            let exact: Vec<f64> = x.iter().map(|&x| (function.exact)(x.into())).collect();
            for isa in Isa::available() {
                let y = &mut y[..x.len()];
                (function.all)(isa, &x, y);
                for ((&x, &y), &exact) in x.iter().zip(&*y).zip(&exact) {
                    let error = error(y, exact);
                    let place = (function.name, isa.name());
                    assert!(
                        error < function.tolerance,
                        "{place:?} of {x:e} is {y:e}, not {exact:e}: {error} ulp"
                    );
                    worst = worst.max(error);
                }
            }
        }
        worst
    }

    #[test]
    fn one_in_many_numbers() {
        for function in [EXP, LN, TANH] {
            check(&function, (0..=u32::MAX).step_by(9973));
        }
        // Where functions change their course.
        for x in [
            0.0,
            1.0,
            0.5_f32.sqrt(),
            2_f32.sqrt(),
            0.625,
            88.722_84,
            89.0,
            87.336_54,
            103.972_08,
            104.0,
            f32::MIN_POSITIVE,
            f32::MAX,
        ] {
            let near = |x: f32| x.to_bits().saturating_sub(300)..=x.to_bits() + 300;
            for function in [EXP, LN, TANH] {
                check(&function, near(x));
                check(&function, near(x).map(|bits| bits | 1 << 31));
            }
        }
    }

    #[test]
    #[ignore = "all numbers: minutes, in a release build"]
    fn every_number() {
        for function in [EXP, LN, TANH] {
            println!("{}: {} ulp", function.name, check(&function, 0..=u32::MAX));
        }
    }

    #[test]
    fn special_values() {
        let x = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -1.0, 1e-45, f32::MAX];
        let of = |function: Function, isa| {
            let mut y = x;
            (function.all)(isa, &x, &mut y);
            y
        };
        for isa in Isa::available() {
            let [zero, minus_zero, infinity, minus_infinity, nan, ..] = of(EXP, isa);
            assert_eq!([zero, minus_zero, infinity, minus_infinity], [1.0, 1.0, f32::INFINITY, 0.0]);
            assert!(nan.is_nan());
            let [zero, minus_zero, infinity, minus_infinity, nan, one, minus_one, ..] = of(LN, isa);
            assert_eq!(
                [zero, minus_zero, infinity, one],
                [f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY, 0.0]
            );
            assert!(minus_infinity.is_nan() && nan.is_nan() && minus_one.is_nan());
            let [zero, minus_zero, infinity, minus_infinity, nan, _, _, tiny, huge] = of(TANH, isa);
            assert_eq!([zero.to_bits(), minus_zero.to_bits()], [0, 1 << 31]);
            assert_eq!([infinity, minus_infinity, tiny, huge], [1.0, -1.0, 1e-45, 1.0]);
            assert!(nan.is_nan());
        }
    }
}
