//! The error function and its complement.

use super::super::{fma, polynomial};
use super::exponential::scaled_exp;

/// `erf x / x - 1`, for |x| < 0.84375.
#[inline(always)]
fn erf_near_zero<const FUSED: bool>(x: f64) -> f64 {
    let z = x * x;
    let above = polynomial::<FUSED, _>(
        z,
        [
            -2.3763016656650163e-05,
            -0.005770270296489442,
            -0.02848174957559851,
            -0.3250421072470015,
            0.12837916709551256,
        ],
    );
    above
        / polynomial::<FUSED, _>(
            z,
            [
                -3.960228278775368e-06,
                0.00013249473800432164,
                0.005081306281875766,
                0.0650222499887673,
                0.39791722395915535,
                1.0,
            ],
        )
}

/// erf 1, rounded to `f32`.
const ERF_OF_ONE: f64 = 0.845_062_911_510_467_5;

/// `erf |x| - erf 1`, for |x| from 0.84375 to 1.25.
#[inline(always)]
fn erf_near_one<const FUSED: bool>(size: f64) -> f64 {
    let s = size - 1.0;
    let above = polynomial::<FUSED, _>(
        s,
        [
            -0.002166375594868791,
            0.035478304325618236,
            -0.11089469428239668,
            0.31834661990116175,
            -0.3722078760357013,
            0.41485611868374833,
            -0.0023621185607526594,
        ],
    );
    above
        / polynomial::<FUSED, _>(
            s,
            [
                0.011984499846799107,
                0.01363708391202905,
                0.12617121980876164,
                0.07182865441419627,
                0.540397917702171,
                0.10642088040084423,
                1.0,
            ],
        )
}

/// `erfc |x|`, for |x| of 1.25 or more.
#[inline(always)]
fn erfc_tail<const FUSED: bool>(size: f64) -> f64 {
    // The result is 0 from 28 on.
    let x = size.clamp(1.0, 28.0);
    let s = 1.0 / (x * x);
    let (above, below) = (
        polynomial::<FUSED, _>(
            s,
            [
                -9.814329344169145,
                -81.2874355063066,
                -184.60509290671104,
                -162.39666946257347,
                -62.375332450326006,
                -10.558626225323291,
                -0.6938585727071818,
                -0.009864944034847148,
            ],
        ),
        polynomial::<FUSED, _>(
            s,
            [
                -0.0604244152148581,
                6.570249770319282,
                108.63500554177944,
                429.00814002756783,
                645.3872717332679,
                434.56587747522923,
                137.65775414351904,
                19.651271667439257,
                1.0,
            ],
        ),
    );
    let (far_above, far_below) = (
        polynomial::<FUSED, _>(
            s,
            [
                -483.5191916086514,
                -1025.0951316110772,
                -637.5664433683896,
                -160.63638485582192,
                -17.757954917754752,
                -0.799283237680523,
                -0.0098649429247001,
            ],
        ),
        polynomial::<FUSED, _>(
            s,
            [
                -22.44095244658582,
                474.52854120695537,
                2553.0504064331644,
                3199.8582195085955,
                1536.729586084437,
                325.7925129965739,
                30.33806074348246,
                1.0,
            ],
        ),
    );
    let is_near = x < 1.0 / 0.35;
    let ratio = if is_near { above } else { far_above } / if is_near { below } else { far_below };
    // x² is computed in two parts, of which the first is exact.
    let short = f64::from_bits(x.to_bits() & !0xffff_ffff);
    let (first, second) = (-short * short, (short - x) * (short + x) + (ratio - 0.5625));
    let sum = first + second;
    scaled_exp::<FUSED>(sum, second - (sum - first), 0) / x
}

/// The error function.
#[inline(always)]
pub(in crate::cpu) fn erf<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let far =
        if size < 1.25 { ERF_OF_ONE + erf_near_one::<FUSED>(size) } else { 1.0 - erfc_tail::<FUSED>(size) };
    let near = fma::<FUSED>(size, erf_near_zero::<FUSED>(size), size);
    (if size < 0.84375 { near } else { far }).copysign(x)
}

/// `1 - erf x`, without cancellation.
#[inline(always)]
pub(in crate::cpu) fn erfc<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let rest = x * erf_near_zero::<FUSED>(x);
    let near = if x < 0.25 { 1.0 - (x + rest) } else { 0.5 - (rest + (x - 0.5)) };
    let part = erf_near_one::<FUSED>(size);
    let middle = if x < 0.0 { 1.0 + (ERF_OF_ONE + part) } else { 1.0 - ERF_OF_ONE - part };
    let tail = erfc_tail::<FUSED>(size);
    let far = if x < 0.0 { 2.0 - tail } else { tail };
    let far = if size < 1.25 { middle } else { far };
    if size < 0.84375 { near } else { far }
}
