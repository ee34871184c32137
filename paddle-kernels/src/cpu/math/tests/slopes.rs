//! Tests of derivatives with a method of their own. They are sums that cancel, so their errors are measured by the terms.

use paddle_core::ops::Real;

use super::{Function, fast};
use crate::cpu::isa::Isa;

struct GeluSlope;

impl Function for GeluSlope {
    #[inline(always)]
    fn apply<T: Real>(x: T) -> T {
        x.gelu_slope()
    }
}

/// The error may be so many units of rounding of the sum of the terms' sizes.
const ALLOWED: f64 = 4.5;

fn check(stride: usize) {
    let (mut worst, mut at) = (0.0_f64, 0.0);
    let numbers: Vec<f32> = (0..=u32::MAX).step_by(stride).map(f32::from_bits).collect();
    let mut found = vec![0.0; numbers.len()];
    for isa in Isa::available() {
        fast::<GeluSlope>(isa, &numbers, &mut found);
        for (&x, &found) in numbers.iter().zip(&found) {
            let exact = f64::from(x).gelu_slope();
            if exact.is_nan() {
                assert!(found.is_nan(), "{x:e} gives {found:e}");
                continue;
            }
            let distribution = 0.5 * Real::erfc(-f64::from(x) * std::f64::consts::FRAC_1_SQRT_2);
            let terms = distribution + (exact - distribution).abs();
            let unit = (terms * f64::from(f32::EPSILON) / 2.0).max(f64::from(f32::from_bits(1)));
            let error = (f64::from(found) - exact).abs() / unit;
            assert!(error <= ALLOWED, "{}: {x:e} gives {found:e}, not {exact:e}: {error}", isa.name());
            if error > worst {
                (worst, at) = (error, x);
            }
        }
    }
    println!("gelu_slope: {worst:.3} units of rounding at {at:e}");
}

#[test]
fn one_in_many_numbers() {
    check(4999);
}

#[test]
#[ignore = "one in 99 numbers, in a release build"]
fn many_numbers() {
    check(99);
}
