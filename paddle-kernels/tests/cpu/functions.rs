//! Every row of the table of functions, on numbers of every size and kind.

use std::fmt::Debug;

use paddle_core::ops::{AccuracyClass, Op, Operation, Terms, Unary, UnaryGrad, UnaryKind};
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;

use crate::launch::{Case, Values, layout};

/// A part of all numbers, with zeros, infinities and NaN.
fn numbers() -> Vec<f32> {
    const STEP: usize = 39_979;
    let special = [0.0, 1.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX];
    let special = special.into_iter().flat_map(|x| [x, -x]);
    (0..=u32::MAX).step_by(STEP).map(f32::from_bits).chain(special).collect()
}

/// Whether a result is as near to the exact one as its class promises.
fn is_allowed(class: AccuracyClass, found: f32, exact: f64) -> bool {
    let nearest = exact as f32;
    found == nearest
        || (found.is_nan() && nearest.is_nan())
        || (f64::from(found) - exact).abs() <= class.allows(DType::F32, exact, Terms::default())
}

/// Runs an operator on each instruction set, and checks its accuracy.
fn check(
    op: impl Into<Op> + Clone + Debug,
    class: AccuracyClass,
    inputs: &[&[f32]],
    exact: impl Fn(f32) -> f64,
) {
    if let AccuracyClass::Accumulating(_) = class {
        return;
    }
    let dense = layout(DType::F32, &[inputs[0].len()], false);
    let mut case = Case::of(op.clone(), &vec![dense.clone(); inputs.len()], &[dense]);
    case.inputs = inputs.iter().map(|x| Values::F32(x.to_vec())).collect();
    let exact: Vec<f64> = inputs[0].iter().map(|&x| exact(x)).collect();
    for isa in Isa::available() {
        let found = case.f32s(&Cpu::with_isa(2, isa).unwrap());
        for ((x, found), exact) in inputs[0].iter().zip(found).zip(&exact) {
            let name = isa.name();
            assert!(
                is_allowed(class, found, *exact),
                "{op:?} of {x:e} on {name} is {found:e}, not {exact:e}"
            );
        }
    }
}

#[test]
fn rows_keep_their_promises_on_all_numbers() {
    let x = numbers();
    for &kind in UnaryKind::ALL {
        let default = Unary::of(kind);
        let other = Unary { coefficients: default.coefficients.map(|c| 1.25 * c), ..default };
        for op in [default, other] {
            let coefficients = op.coefficients;
            check(op, op.accuracy(), &[&x], |x| kind.apply::<f64>(x.into(), coefficients));
        }
    }
}

#[test]
fn gradients_keep_their_promises_on_all_numbers() {
    let x = numbers();
    let ones = vec![1.0; x.len()];
    for &kind in UnaryKind::ALL {
        let op = UnaryGrad::of(kind);
        check(op, op.accuracy(), &[&x, &ones], |x| kind.derivative::<f64>(x.into(), op.coefficients));
    }
}
