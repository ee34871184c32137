//! The gamma function and its kin, in terms of the other functions of [`Real`].

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use super::Real;

/// `ln √(2π)`.
const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_8;

/// Stirling's series are asymptotic: eight terms of them have 16 digits from here on.
const FAR: usize = 10;

/// `B₂ₖ / (2k (2k - 1))` with the numbers `B` of Bernoulli: the coefficients of `x^(1 - 2k)` in `ln Γ`.
const LN_GAMMA: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];

/// `B₂ₖ / 2k`: the coefficients of `-x^(-2k)` in the digamma function.
const DIGAMMA: [f64; 7] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];

/// `B₂ₖ`: the coefficients of `x^(-2k - 1)` in the trigamma function.
const TRIGAMMA: [f64; 8] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];

/// The coefficients of M. Giles, "Approximating the erfinv function" (2010), for the centre and for the tails.
const CENTRE: [f64; 9] = [
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
];
const TAILS: [f64; 9] = [
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
];

/// A polynomial, whose first coefficient is that of the highest power.
#[inline(always)]
fn polynomial<T: Real>(x: T, coefficients: impl IntoIterator<Item = f64>) -> T {
    coefficients.into_iter().fold(T::of(0.0), |sum, coefficient| sum * x + T::of(coefficient))
}

/// Where the functions are computed for `x`: at `x` itself, or beyond ½, from where they are reflected.
#[inline(always)]
fn reflected<T: Real>(x: T) -> (T::Truth, T) {
    let is_reflected = x.below(T::of(0.5));
    (is_reflected, T::select(is_reflected, T::of(1.0) - x, x))
}

/// `π` times the distance from the nearest whole number: sine and tangent of it are those of `πx` but for signs, with all digits.
#[inline(always)]
fn angle<T: Real>(x: T) -> T {
    T::of(PI) * (x - x.round())
}

/// `ln |Γ(x)|`: the series of Stirling, after `Γ(x) = Γ(x + 10) / (x (x + 1) … (x + 9))`; below ½ by `Γ(x) Γ(1 - x) = π / sin πx`.
#[inline(always)]
pub(super) fn ln_gamma<T: Real>(x: T) -> T {
    let far = T::of(FAR as f64);
    let (is_reflected, at) = reflected(x);
    let is_near = at.below(far);
    // Beyond, the product is not needed, and could be too large.
    let near = at.min(far);
    let product = (1..FAR).fold(near, |product, k| product * (near + T::of(k as f64)));
    let y = T::select(is_near, at + far, at);
    let inverse = T::of(1.0) / y;
    let series = inverse * polynomial(inverse * inverse, LN_GAMMA.into_iter().rev());
    // Not `(y - ½) ln y - y`, the difference of infinities where `y` is infinite.
    let stirling = (y - T::of(0.5)) * (y.ln() - T::of(1.0)) + (series + T::of(LN_SQRT_2_PI - 0.5));
    let value = T::select(is_near, stirling - product.ln(), stirling);
    T::select(is_reflected, (T::of(PI) / angle(x).sin().abs()).ln() - value, value)
}

/// The derivative of `ln Γ`: an asymptotic series, after `ψ(x) = ψ(x + 10) - 1/x - 1/(x + 1) - … - 1/(x + 9)`; below ½ by
/// `ψ(x) = ψ(1 - x) - π / tan πx`.
#[inline(always)]
pub(super) fn digamma<T: Real>(x: T) -> T {
    let (is_reflected, at) = reflected(x);
    let sum = (0..FAR).fold(T::of(0.0), |sum, k| sum + T::of(1.0) / (at + T::of(k as f64)));
    let y = at + T::of(FAR as f64);
    let inverse = T::of(1.0) / y;
    let square = inverse * inverse;
    let series = square * polynomial(square, DIGAMMA.into_iter().rev());
    let value = y.ln() - T::of(0.5) * inverse - series - sum;
    let angle = angle(x);
    // Not a number at the poles, whose two sides differ in sign.
    T::select(is_reflected, value - T::of(PI) / angle * (angle / angle.tan()), value)
}

/// The derivative of [`digamma`], likewise; below ½ by `ψ₁(x) = π² / sin² πx - ψ₁(1 - x)`.
#[inline(always)]
pub(super) fn trigamma<T: Real>(x: T) -> T {
    let (is_reflected, at) = reflected(x);
    let sum = (0..FAR).fold(T::of(0.0), |sum, k| {
        let inverse = T::of(1.0) / (at + T::of(k as f64));
        sum + inverse * inverse
    });
    let inverse = T::of(1.0) / (at + T::of(FAR as f64));
    let square = inverse * inverse;
    let series = inverse * square * polynomial(square, TRIGAMMA.into_iter().rev());
    let value = sum + inverse + T::of(0.5) * square + series;
    let root = T::of(PI) / angle(x).sin();
    T::select(is_reflected, root * root - value, value)
}

/// The inverse of the error function: Giles' polynomials, and two steps of Halley's iteration.
#[inline(always)]
pub(super) fn erf_inv<T: Real>(y: T) -> T {
    let size = y.abs();
    let rest = T::of(1.0) - size;
    let w = -(rest * (T::of(1.0) + size)).ln();
    let first = T::select(
        w.below(T::of(5.0)),
        polynomial(w - T::of(2.5), CENTRE),
        polynomial(w.sqrt() - T::of(3.0), TAILS),
    );
    let mut x = first * size;
    for _ in 0..2 {
        // Where the error function is near 1, what is left of it has more digits.
        let error = T::select(size.above(T::of(0.5)), rest - x.erfc(), x.erf() - size);
        let step = T::of(1.0 / FRAC_2_SQRT_PI) * error * (x * x).exp();
        x = x - step / (T::of(1.0) + x * step);
    }
    // Next to 1, `exp` has no number: the logarithm, which is infinite there, is the result.
    let x = T::select(size.equals(T::of(1.0)), w, x);
    T::select(y.below(T::of(0.0)), -x, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected values were computed with 50 digits.
    #[track_caller]
    fn near(found: f64, exact: f64) {
        assert!((found - exact).abs() <= 1e-14 * exact.abs().max(1.0), "{found:e} is not {exact:e}");
    }

    #[test]
    fn known_values() {
        near(ln_gamma(0.5), 0.572_364_942_924_700_1);
        near(ln_gamma(1.0), 0.0);
        near(ln_gamma(3.0), std::f64::consts::LN_2);
        near(ln_gamma(10.0), 12.801_827_480_081_469);
        near(ln_gamma(-0.5), 1.265_512_123_484_645_4);
        near(digamma(1.0), -0.577_215_664_901_532_9);
        near(digamma(0.5), -1.963_510_026_021_423_5);
        near(digamma(-0.5), 0.036_489_973_978_576_52);
        near(digamma(10.0), 2.251_752_589_066_721);
        near(trigamma(1.0), PI * PI / 6.0);
        near(trigamma(0.5), PI * PI / 2.0);
        near(trigamma(-0.5), PI * PI / 2.0 + 4.0);
        near(erf_inv(0.5), 0.476_936_276_204_469_9);
        near(erf_inv(-0.1), -0.088_855_990_494_257_69);
    }

    #[test]
    fn each_is_the_slope_of_the_one_before() {
        for x in [-3.3, -0.7, 0.1, 0.49, 0.51, 1.0, 2.5, 9.9, 10.1, 300.0] {
            let h = 1e-4;
            let slope = |f: fn(f64) -> f64| (f(x + h) - f(x - h)) / (2.0 * h);
            for (found, exact) in [(slope(ln_gamma), digamma(x)), (slope(digamma), trigamma(x))] {
                assert!((found - exact).abs() < 1e-4 * exact.abs().max(1.0), "{x}: {found} is not {exact}");
            }
        }
    }

    #[test]
    fn the_inverse_of_the_error_function_is_one() {
        for x in [1e-300, 1e-9, 0.1, 0.4769, 0.5, 1.0, 2.0, 3.0, 4.5, 5.5] {
            let y = libm::erf(x);
            // What rounding `y` makes of `x`.
            let room = 1e-14 * x + 4.0 * f64::EPSILON * (x * x).exp();
            assert!((erf_inv(y) - x).abs() <= room, "{x}: {}", erf_inv(y));
            assert_eq!(erf_inv(-y), -erf_inv(y));
        }
    }

    #[test]
    fn limits() {
        for pole in [0.0, -1.0, -7.0] {
            assert_eq!(ln_gamma(pole), f64::INFINITY);
            assert!(digamma(pole).is_nan());
        }
        for f in [ln_gamma, digamma] {
            assert_eq!([f64::INFINITY, 1e300].map(f).map(f64::is_sign_positive), [true; 2]);
        }
        assert_eq!(ln_gamma(f64::INFINITY), f64::INFINITY);
        assert_eq!([1.0, -1.0, 0.0].map(erf_inv), [f64::INFINITY, f64::NEG_INFINITY, 0.0]);
        assert!(erf_inv(1.5_f64).is_nan() && erf_inv(f64::NAN).is_nan());
        assert!([ln_gamma, digamma, trigamma].into_iter().all(|f| f(f64::NAN).is_nan()));
        // In single precision no product of the shift is too large.
        assert!([20.0_f32, 1e5, 1e30].into_iter().all(|x| ln_gamma(x).is_finite()));
    }
}
