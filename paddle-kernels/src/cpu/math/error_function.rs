//! The error function and its complement.

use super::exponential::exp;
use super::polynomial;

/// erf |x|, for |x| ≤ 1.
#[inline(always)]
fn near_zero<const FUSED: bool>(size: f64) -> f64 {
    size * polynomial::<FUSED, _>(
        size * size,
        [
            -1.046_911_033_215_120_8e-7,
            1.530_637_316_364_108_4e-6,
            -1.479_503_140_066_204_5e-5,
            0.000_120_462_612_697_797_97,
            -0.000_854_793_373_651_963_3,
            0.005_223_967_193_543_9,
            -0.026_866_169_050_599_326,
            0.112_837_916_585_487_13,
            -0.376_126_389_028_086_15,
            1.128_379_167_095_494,
        ],
    )
}

/// erfc |x|, for |x| ≥ 1. The polynomial approximates `erfc(x) exp(x²) (x + 3)` as a function of (x - 3) / (x + 3), for
/// x from 1 to 12; beyond, exp(-x²) is so small that no digit matters (after M. Shepherd and J. Laframboise, Chebyshev
/// approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞, 1981).
#[inline(always)]
fn tail<const FUSED: bool>(size: f64) -> f64 {
    /// From here on exp(-x²) is 0.
    const END: f64 = 27.0;
    let x = size.clamp(0.0, END);
    let scale = 1.0 / (x + 3.0);
    let t = (x - 3.0) * scale;
    exp::<FUSED>(-x * x)
        * scale
        * polynomial::<FUSED, _>(
            t,
            [
                -1.688_166_413_351_385e-5,
                2.702_528_599_492_787_7e-5,
                0.000_108_073_343_739_217_76,
                -0.000_275_799_399_839_956_1,
                -0.000_548_546_170_825_203_5,
                0.003_033_924_197_067_764,
                -0.001_212_379_407_595_75,
                -0.026_827_225_178_787_727,
                0.119_527_758_840_391_98,
                -0.310_467_262_177_607_6,
                0.590_228_357_161_108_3,
                -0.883_394_453_167_563_9,
                1.074_006_907_088_127_7,
            ],
        )
}

/// The error function, 2/√π ∫₀ˣ exp(-t²) dt.
#[inline(always)]
pub(in crate::cpu) fn erf<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let (near, far) = (near_zero::<FUSED>(size), 1.0 - tail::<FUSED>(size));
    (if size < 1.0 { near } else { far }).copysign(x)
}

/// `1 - erf(x)`, without cancellation.
#[inline(always)]
pub(in crate::cpu) fn erfc<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let tail = tail::<FUSED>(size);
    let far = if x < 0.0 { 2.0 - tail } else { tail };
    let near = 1.0 - near_zero::<FUSED>(size).copysign(x);
    if size < 1.0 { near } else { far }
}
