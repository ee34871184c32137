//! Tests of `pow`. Not all pairs can be tried.

use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::math;
use crate::random::Random;

dispatch! {
    fn pow_all<const FUSED: bool>(isa, x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((x, y), out) in x.iter().zip(y).zip(out) {
            *out = math::pow::<FUSED>((*x).into(), (*y).into()) as f32;
        }
    }
}

fn check(x: &[f32], y: &[f32]) -> f64 {
    let mut worst = 0.0_f64;
    let mut out = vec![0.0; x.len()];
    for isa in Isa::available() {
        pow_all(isa, x, y, &mut out);
        for ((&x, &y), &out) in x.iter().zip(y).zip(&out) {
            let exact = f64::from(x).powf(y.into());
            let error = super::error(out, exact);
            assert!(
                error <= 0.501,
                "{} of {x:e} and {y:e} is {out:e}, not {exact:e}: {error} ulp",
                isa.name()
            );
            worst = worst.max(error);
        }
    }
    worst
}

#[test]
fn special_values() {
    let numbers = [
        0.0,
        1e-45,
        f32::MIN_POSITIVE,
        0.3,
        0.5,
        1.0 - f32::EPSILON / 2.0,
        1.0,
        1.0 + f32::EPSILON,
        1.5,
        2.0,
        3.0,
        4.0,
        5.5,
        127.0,
        128.0,
        149.0,
        150.0,
        16_777_215.0,
        16_777_216.0,
        33_554_432.0,
        1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let numbers: Vec<f32> = numbers.iter().flat_map(|x| [*x, -x]).collect();
    let (x, y): (Vec<f32>, Vec<f32>) = numbers.iter().flat_map(|x| numbers.iter().map(|y| (*x, *y))).unzip();
    check(&x, &y);
}

/// Checks pairs of any bits, and pairs whose power is a number between 0 and infinity.
fn check_pairs(pairs: u64) {
    let random = Random { seed: 7, stream: 1 };
    let mut words = random.words(0);
    let mut word = || words.next().expect("there are as many as are wanted");
    let mut worst = 0.0_f64;
    for _ in 0..pairs.div_ceil(CHUNK) {
        let mut pair = |i| {
            let (x, y) = (f32::from_bits(word()), word());
            if i % 4 == 0 {
                return (x, f32::from_bits(y));
            }
            // Bases next to 1 may have the largest exponents.
            let x = if i % 4 == 1 { 1.0 + x.clamp(-1e30, 1e30) * 1e-30 } else { x };
            let part = f64::from(y) / 2f64.powi(31) - 1.0;
            (x, (150.0 * part / f64::from(x).abs().log2()) as f32)
        };
        let (x, y): (Vec<f32>, Vec<f32>) = (0..CHUNK).map(&mut pair).unzip();
        worst = worst.max(check(&x, &y));
    }
    println!("pow: {worst:.4} ulp");
}

const CHUNK: u64 = 1 << 12;

#[test]
fn many_pairs() {
    check_pairs(1 << 20);
}

#[test]
#[ignore = "a billion pairs: minutes, in a release build"]
fn a_billion_pairs() {
    check_pairs(1 << 30);
}
