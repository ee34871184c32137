//! Checks that inaccurate computations are noticed, and accurate ones are not.

use paddle_core::ops::{BatchNorm, Binary, BinaryKind, Matmul, Reduce, ReduceKind, Sample, Unary, UnaryKind};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::run::Case;
use crate::terms::terms;
use crate::tolerance::distance;

/// The distance of the first result of a case, which `compute` gets from its inputs in `f32`, divided by the allowed
/// distance.
fn share(case: &Case, compute: impl Fn(&[Vec<f32>]) -> Vec<f32>) -> f64 {
    let narrow = |host: &Host| host.floats().into_iter().map(|x| x as f32).collect();
    let inputs: Vec<Vec<f32>> = case.inputs.iter().map(narrow).collect();
    let exact = case.run(&Reference::double()).unwrap();
    let class = case.op().operation().accuracy();
    distance(class, &Host::F32(compute(&inputs)), &exact[0], &terms(case, &exact, &|_| false)[0]).share
}

fn case(sample: Sample) -> Case {
    Case::of(&sample, &mut Draw::new(1))
}

#[test]
fn one_bit_of_an_exact_result() {
    let case = case(Sample::of(Binary { kind: BinaryKind::Add }).dense(&[9]).dense(&[9]));
    let sum = |x: &[Vec<f32>]| x[0].iter().zip(&x[1]).map(|(x, y)| x + y).collect::<Vec<f32>>();
    assert_eq!(share(&case, sum), 0.0);
    assert_eq!(share(&case, |x| sum(x).into_iter().map(f32::next_up).collect()), f64::INFINITY);
}

#[test]
fn digits_of_a_function() {
    let case = case(Sample::of(Unary::of(UnaryKind::Tanh)).dense(&[99]).within(1e-3, 1e-2));
    assert!(share(&case, |x| x[0].iter().map(|x| x.tanh()).collect()) <= 1.0);
    // The formula is accurate for large numbers only.
    let naive = |x: f32| 1.0 - 2.0 / ((2.0 * x).exp() + 1.0);
    assert!(share(&case, |x| x[0].iter().map(|&x| naive(x)).collect()) > 10.0);
}

#[test]
fn a_term_of_a_sum() {
    for n in [3, 16, 100, 3000] {
        let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
        let case = case(Sample::of(sum).dense(&[n]));
        assert!(share(&case, |x| vec![x[0].iter().sum()]) <= 1.0, "{n}");
        assert!(share(&case, |x| vec![x[0][1..].iter().sum()]) > 1.0, "{n}");
        // An intermediate result is rounded to half of the digits.
        let half = |x: f32| f32::from_bits(x.to_bits() & !0xFFF);
        assert!(share(&case, |x| vec![x[0].iter().map(|&x| half(x)).sum()]) > 1.0, "{n}");
    }
}

#[test]
fn a_neighbour_in_a_product() {
    let case = case(Sample::of(Matmul { trans_x: false, trans_y: true }).dense(&[5, 40]).dense(&[6, 40]));
    let product = |x: &[Vec<f32>], off: usize| {
        let dot =
            |m: usize, n: usize| (0..40).map(|k| x[0][m * 40 + k] * x[1][n * 40 + (k + off) % 40]).sum();
        (0..30).map(|i| dot(i / 6, i % 6)).collect()
    };
    assert!(share(&case, |x| product(x, 0)) <= 1.0);
    assert!(share(&case, |x| product(x, 1)) > 1e3);
}

/// The variance as the mean of squares minus the square of the mean, for numbers that are far from 0.
#[test]
fn a_variance_that_cancels() {
    const ROWS: usize = 50;
    let op = BatchNorm { epsilon: 1e-5, momentum: 0.9, is_test: false };
    let channel = |sample: Sample| sample.dense(&[1]).dense(&[1]).dense(&[1]).dense(&[1]).within(0.5, 1.5);
    let case = case(channel(Sample::of(op).rows(ROWS, &[1]).within(9.9, 10.1)));
    let normal = |x: &[Vec<f32>], cancels: bool| {
        let n = ROWS as f32;
        let mean = x[0].iter().sum::<f32>() / n;
        let variance = match cancels {
            true => x[0].iter().map(|x| x * x).sum::<f32>() / n - mean * mean,
            false => x[0].iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n,
        };
        let scale = x[1][0] / (variance + 1e-5).sqrt();
        x[0].iter().map(|value| (value - mean) * scale + x[2][0]).collect()
    };
    assert!(share(&case, |x| normal(x, false)) <= 1.0);
    assert!(share(&case, |x| normal(x, true)) > 1.0);
}

/// The allowed distance is the formula of the class: terms that are counted in groups never allow more.
#[test]
fn terms_are_those_of_the_sum() {
    for (n, in_groups) in [(5, false), (17, false), (400, true)] {
        let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
        let case = case(Sample::of(sum).dense(&[n]));
        let terms = terms(&case, &case.run(&Reference::double()).unwrap(), &|_| false)[0][0];
        let absolute: f64 = case.inputs[0].floats().iter().map(|x| x.abs()).sum();
        match in_groups {
            true => {
                assert!(terms.count < n as usize && terms.size < absolute && terms.size > absolute / 10.0)
            }
            false => {
                assert_eq!(terms.count, n as usize);
                assert!((terms.size / absolute - 1.0).abs() < 1e-6);
            }
        }
    }
}
