//! The gamma function and its kin, in terms of the other functions of [`Real`].

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use super::Real;

/// The asymptotic series here have 16 digits from here on.
const FAR: usize = 10;

/// The coefficients of `ln Γ` in FreeBSD's `e_lgamma_r.c`, by Sun Microsystems (1993): polynomials for each of its intervals, from the
/// constant on. Where `ln Γ` is 0, at 1 and 2, and at its minimum, they keep all digits.
mod ln_gamma_of {
    /// `ln Γ(2 - y) + y / 2`, without its factor `y`, for `y` up to 0.27.
    pub(super) const BELOW_TWO: [f64; 12] = [
        7.721_566_490_153_287e-2,
        3.224_670_334_241_136e-1,
        6.735_230_105_312_927e-2,
        2.058_080_843_251_673_3e-2,
        7.385_550_860_814_029e-3,
        2.890_513_836_734_156_3e-3,
        1.192_707_631_833_620_7e-3,
        5.100_697_921_535_113e-4,
        2.208_627_907_139_083_9e-4,
        1.080_115_672_475_839_4e-4,
        2.521_445_654_512_573_3e-5,
        4.486_409_496_189_151_6e-5,
    ];
    /// Where `ln Γ` is least, and its value there in two parts.
    pub(super) const LEAST: f64 = 1.461_632_144_968_362_2;
    pub(super) const AT_LEAST: [f64; 2] = [-1.214_862_905_358_496_1e-1, 3.638_676_997_039_505e-18];
    /// `ln Γ(LEAST + y) - AT_LEAST`, without its factor `y²`.
    pub(super) const AROUND_LEAST: [f64; 15] = [
        4.838_361_227_238_105e-1,
        -1.475_877_229_945_939e-1,
        6.462_494_023_913_339e-2,
        -3.278_854_107_598_596_5e-2,
        1.797_067_508_118_204e-2,
        -1.031_422_412_983_414_4e-2,
        6.100_538_702_462_913e-3,
        -3.684_520_167_811_382_7e-3,
        2.259_647_809_006_124_7e-3,
        -1.403_464_699_892_328_4e-3,
        8.810_818_824_376_54e-4,
        -5.385_953_053_567_405e-4,
        3.156_320_709_036_259_6e-4,
        -3.127_541_683_751_208_6e-4,
        3.355_291_926_355_191e-4,
    ];
    /// `ln Γ(1 + y) + y / 2`, without its factor `y`, as a quotient, for `y` from -0.1 to 0.23.
    pub(super) const AROUND_ONE: [[f64; 6]; 2] = [
        [
            -7.721_566_490_153_287e-2,
            6.328_270_640_250_934e-1,
            1.454_922_501_372_347_7,
            9.777_175_279_633_727e-1,
            2.289_637_280_646_924_5e-1,
            1.338_109_185_367_878_7e-2,
        ],
        [
            1.0,
            2.455_977_937_130_411_3,
            2.128_489_763_798_934,
            7.692_851_504_566_728e-1,
            1.042_226_455_933_691_3e-1,
            3.217_092_422_824_239e-3,
        ],
    ];
    /// `ln Γ(2 + y) - y / 2`, without its factor `y`, as a quotient, for `y` from 0 to 1.
    pub(super) const ABOVE_TWO: [[f64; 7]; 2] = [
        [
            -7.721_566_490_153_287e-2,
            2.149_824_159_606_088_5e-1,
            3.257_787_964_089_31e-1,
            1.463_504_726_524_644_5e-1,
            2.664_227_030_336_386e-2,
            1.840_284_514_073_377_2e-3,
            3.194_753_265_841_009e-5,
        ],
        [
            1.0,
            1.392_005_334_676_210_5,
            7.219_355_475_671_381e-1,
            1.719_338_656_328_030_8e-1,
            1.864_591_917_156_529e-2,
            7.779_424_963_818_936e-4,
            7.326_684_307_446_256e-6,
        ],
    ];
    /// `ln √(2π) - ½`, and the coefficients of `1 / x`, `1 / x³`, … in Stirling's series, for `x` from 8 on.
    pub(super) const OF_SERIES: f64 = 4.189_385_332_046_727e-1;
    pub(super) const SERIES: [f64; 6] = [
        8.333_333_333_333_297e-2,
        -2.777_777_777_287_755_4e-3,
        7.936_505_586_430_196e-4,
        -5.951_875_574_503_4e-4,
        8.363_399_189_962_821e-4,
        -1.630_929_340_965_753e-3,
    ];
}

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

/// The coefficients of M. Giles, "Approximating the erfinv function" (2010), for the centre and for the tails, from the constant on.
const CENTRE: [f64; 9] = [
    1.50140941,
    0.246640727,
    -0.00417768164,
    -0.00125372503,
    0.00021858087,
    -4.39150654e-06,
    -3.5233877e-06,
    3.43273939e-07,
    2.81022636e-08,
];
const TAILS: [f64; 9] = [
    2.83297682,
    1.00167406,
    0.00943887047,
    -0.0076224613,
    0.00573950773,
    -0.00367342844,
    0.00134934322,
    0.000100950558,
    -0.000200214257,
];

/// A polynomial, from its constant on.
#[inline(always)]
fn polynomial<T: Real>(x: T, coefficients: &[f64]) -> T {
    let [lower @ .., highest] = coefficients else { return T::of(0.0) };
    lower.iter().rev().fold(T::of(*highest), |sum, &coefficient| sum * x + T::of(coefficient))
}

/// A quotient of two polynomials.
#[inline(always)]
fn quotient<T: Real, const N: usize>(x: T, [above, below]: &[[f64; N]; 2]) -> T {
    polynomial(x, above) / polynomial(x, below)
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

/// `ln |Γ(x)|`: the polynomials of [`ln_gamma_of`]; below 0.9 by `Γ(x) = Γ(x + 1) / x`, below ½ by `Γ(x) Γ(1 - x) = π / sin πx`.
#[inline(always)]
pub(super) fn ln_gamma<T: Real>(x: T) -> T {
    use ln_gamma_of::{ABOVE_TWO, AROUND_LEAST, AROUND_ONE, AT_LEAST, BELOW_TWO, LEAST, OF_SERIES, SERIES};
    let (one, half) = (T::of(1.0), T::of(0.5));
    let (is_reflected, at) = reflected(x);
    let is_low = at.below(T::of(0.9));
    let z = T::select(is_low, at + one, at);

    let y = z - one;
    let around_one = y * quotient(y, &AROUND_ONE) - half * y;
    let y = z - T::of(LEAST);
    let around_least = T::of(AT_LEAST[0]) + (y * y * polynomial(y, &AROUND_LEAST) + T::of(AT_LEAST[1]));
    let y = T::of(2.0) - z;
    let below_two = y * polynomial(y, &BELOW_TWO) - half * y;

    // From 2 to 8, Γ(y + n) is Γ(y + 2) (y + 2) … (y + n - 1).
    let y = z - z.floor();
    let product = (2..7).fold(one, |product, k| {
        let is_in = z.at_least(T::of(f64::from(k + 1)));
        product * T::select(is_in, y + T::of(f64::from(k)), one)
    });
    let above_two = y * quotient(y, &ABOVE_TWO) + half * y + product.ln();

    let inverse = one / z;
    let series = inverse * polynomial(inverse * inverse, &SERIES);
    // Not `(z - ½) ln z - z`, the difference of infinities where `z` is infinite.
    let far = (z - half) * (z.ln() - one) + (series + T::of(OF_SERIES));

    let value = T::select(z.below(T::of(8.0)), above_two, far);
    let value = T::select(z.below(T::of(2.0)), below_two, value);
    let value = T::select(z.below(T::of(1.7316)), around_least, value);
    let value = T::select(z.below(T::of(1.23)), around_one, value);
    let value = T::select(is_low, value - at.ln(), value);
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
    let series = square * polynomial(square, &DIGAMMA);
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
    let series = inverse * square * polynomial(square, &TRIGAMMA);
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
        polynomial(w - T::of(2.5), &CENTRE),
        polynomial(w.sqrt() - T::of(3.0), &TAILS),
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
    fn the_logarithm_of_the_gamma_function_has_all_digits() {
        // The library's has an error of less than a unit of rounding.
        for k in 1..40_000 {
            let x = f64::from(k) * 0.000_37;
            let (found, exact) = (ln_gamma(x), libm::lgamma(x));
            assert!(
                (found - exact).abs() <= 4.0 * f64::EPSILON * exact.abs().max(1e-3),
                "{x}: {found} is not {exact}"
            );
            let (found, exact) = (ln_gamma(x as f32), libm::lgamma(f64::from(x as f32)) as f32);
            assert!(
                (found - exact).abs() <= 4.0 * f32::EPSILON * exact.abs().max(0.05),
                "{x}: {found} is not {exact}"
            );
        }
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
