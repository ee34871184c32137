//! What a user would test of `fourier_features`.

use paddle::testing::{assert_learns, assert_program, check_gradients, check_operator};

use super::*;

/// Three patients, all features and targets between −1 and 1.
fn rows() -> [regression::cost::Row; 3] {
    let x = |phase: f32| std::array::from_fn(|feature| (phase + feature as f32).sin());
    [(x(0.3), -0.8), (x(1.9), 0.2), (x(4.1), 0.9)].map(Into::into)
}

#[test]
fn the_model_learns_three_patients() {
    assert_learns(&regression::cost(), rows());
    assert_program(&regression::cost(), "examples/golden/fourier_features.txt");
    check_gradients(&regression::cost(), rows()).unwrap();
}

#[test]
fn the_operators_agree_with_their_reference_and_with_differences() {
    check_operator(&features::fourier).unwrap();
    check_operator(&features::fourier_gradient).unwrap();
}

#[test]
fn it_learns() {
    let line = run(30).unwrap();
    let test_mse: f64 = line.split(['=', ' ']).nth(2).unwrap().parse().unwrap();
    assert!(test_mse < 3600.0, "{line}");
}
