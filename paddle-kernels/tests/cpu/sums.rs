//! Compares sums, and functions that consist of them, with plain loops in f64.

use paddle_core::ops::{Reduce, ReduceKind, Softmax, SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad};
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;

use crate::launch::{Case, Values, layout};

const U: f64 = f32::EPSILON as f64 / 2.0;

fn machines() -> Vec<Cpu> {
    Isa::available().map(|isa| Cpu::with_isa(2, isa).unwrap()).collect()
}

/// Checks that every element of a reduction is within (8 + √n) · u · Σ|x| of the exact sum, and that maxima and minima
/// are exact.
fn check(shape: &[usize], axes: &[i64], values: impl Fn(usize) -> f32) {
    let gone = |axis: usize| axes.is_empty() || axes.contains(&(axis as i64));
    let kept: Vec<usize> =
        shape.iter().enumerate().filter(|(axis, _)| !gone(*axis)).map(|(_, size)| *size).collect();
    let count = shape.iter().product::<usize>();
    let x: Vec<f32> = (0..count).map(values).collect();
    let mut exact = vec![(0.0, 0.0); kept.iter().product()];
    let (mut most, mut least) = (vec![f32::NEG_INFINITY; exact.len()], vec![f32::INFINITY; exact.len()]);
    for (position, x) in x.iter().enumerate() {
        let (mut rest, mut step, mut at) = (position, 1, 0);
        for (axis, size) in shape.iter().enumerate().rev() {
            if !gone(axis) {
                at += rest % size * step;
                step *= size;
            }
            rest /= size;
        }
        exact[at].0 += f64::from(*x);
        exact[at].1 += f64::from(x.abs());
        (most[at], least[at]) = (most[at].max(*x), least[at].min(*x));
    }
    let terms = if exact.is_empty() { 0 } else { count / exact.len() };
    let case = |kind| {
        let of = |shape: &[usize]| layout(DType::F32, shape, false);
        let op = Reduce { kind, axes: axes.to_vec(), keep_dim: false };
        let mut case = Case::of(op, &[of(shape)], &[of(&kept)]);
        case.inputs = vec![Values::F32(x.clone())];
        case
    };
    for cpu in machines() {
        for (kind, exact) in [(ReduceKind::Max, &most), (ReduceKind::Min, &least)] {
            assert_eq!(case(kind).f32s(&cpu), *exact, "{kind:?} of {shape:?} over {axes:?}");
        }
        for kind in [ReduceKind::Sum, ReduceKind::Mean] {
            let case = case(kind);
            let divisor = if kind == ReduceKind::Mean { terms.max(1) as f64 } else { 1.0 };
            for (found, (sum, size)) in case.f32s(&cpu).into_iter().zip(&exact) {
                let (exact, size) = (sum / divisor, size / divisor);
                let error = (f64::from(found) - exact).abs();
                let allowed = (8.0 + (terms as f64).sqrt()) * U * size;
                assert!(
                    error <= allowed,
                    "{found} is not {exact} ± {allowed:e}: {kind:?} of {shape:?} over {axes:?}"
                );
            }
        }
    }
}

#[test]
fn sums_are_accurate() {
    let mixed = |i: usize| ((i * 7919) % 4001) as f32 / 1000.0 - 2.0;
    // One sum after the other would lose the digits of these numbers.
    let alike = |i: usize| 0.1 + (i % 3) as f32 * 1e-4;
    for n in [0, 1, 2, 7, 8, 9, 63, 64, 65, 100, 511, 512, 513, 4096, 5000, 70_000, 300_000] {
        check(&[n], &[], mixed);
        check(&[n], &[], alike);
        check(&[n, 3], &[0], alike);
        check(&[3, n], &[1], alike);
    }
    for columns in [1, 2, 10, 63, 64, 65, 130] {
        check(&[600, columns], &[0], mixed);
        check(&[600, columns], &[0], alike);
        check(&[5, 600, columns], &[1], alike);
        check(&[20, columns, 30], &[0, 2], alike);
        check(&[4, columns, 5, 70], &[1, 3], alike);
        check(&[4, columns, 5, 70], &[0, 2], mixed);
    }
    // Columns are read side by side, some rows of each block in turn.
    for columns in [255, 256, 300, 1100] {
        check(&[70, columns], &[0], mixed);
        check(&[3, 2, 75, columns], &[0, 2], alike);
    }
    check(&[], &[], mixed);
    check(&[0, 4], &[0], mixed);
    check(&[4, 0], &[0], mixed);
}

#[test]
fn softmax_is_normalised_and_does_not_overflow() {
    for cpu in machines() {
        for (rows, classes) in [(1, 1), (3, 2), (5, 15), (7, 16), (9, 100), (3, 3000), (300, 10)] {
            for scale in [1.0, 60.0] {
                let shape = layout(DType::F32, &[rows, classes], false);
                let mut case = Case::of(Softmax, std::slice::from_ref(&shape), std::slice::from_ref(&shape));
                let x: Vec<f32> = (0..rows * classes).map(|i| ((i * 31) % 17) as f32 * scale / 8.0).collect();
                case.inputs = vec![Values::F32(x.clone())];
                let found = case.f32s(&cpu);
                for (x, found) in x.chunks(classes).zip(found.chunks(classes)) {
                    let top = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let exp = |x: &f32| f64::from(x - top).exp();
                    let sum: f64 = x.iter().map(exp).sum();
                    for (x, found) in x.iter().zip(found) {
                        let exact = exp(x) / sum;
                        assert!((f64::from(*found) - exact).abs() <= 1e-6 * exact + 1e-37, "{found} {exact}");
                    }
                }
            }
        }
    }
}

#[test]
fn losses_of_improbable_classes_are_finite() {
    for cpu in machines() {
        let (logits, ids) = (layout(DType::F32, &[2, 3], false), layout(DType::I64, &[2, 1], false));
        let loss = layout(DType::F32, &[2, 1], false);
        let mut case = Case::of(SoftmaxWithCrossEntropy::HARD, &[logits.clone(), ids], &[logits, loss]);
        case.inputs = vec![Values::F32(vec![0.0, 500.0, -500.0, 1.0, 1.0, 1.0]), Values::I64(vec![2, 0])];
        let losses = &case.run(&cpu, 0xFF).unwrap()[1];
        let loss = |row: usize| f32::from_ne_bytes(losses[row * 4..][..4].try_into().unwrap());
        assert_eq!(loss(0), 1000.0);
        assert!((loss(1) - 3_f32.ln()).abs() < 1e-6, "{}", loss(1));
    }
}

#[test]
fn the_first_row_without_a_class_is_reported() {
    let (rows, classes) = (5000, 4);
    let (logits, ids) = (layout(DType::F32, &[rows, classes], false), layout(DType::I64, &[rows, 1], false));
    let loss = layout(DType::F32, &[rows, 1], false);
    let mut forward = Case::of(
        SoftmaxWithCrossEntropy::HARD,
        &[logits.clone(), ids.clone()],
        &[logits.clone(), loss.clone()],
    );
    let mut grad = Case::of(SoftmaxWithCrossEntropyGrad::HARD, &[logits.clone(), ids, loss], &[logits]);
    for bad in [4, -1, i64::MAX, i64::MIN] {
        for first in [0, 1, 4000] {
            let mut ids = vec![1; rows];
            ids[first] = bad;
            ids[4001] = 9;
            (forward.inputs[1], grad.inputs[1]) = (Values::I64(ids.clone()), Values::I64(ids));
            for threads in [1, 3] {
                let cpu = Cpu::with_threads(threads).unwrap();
                for case in [&forward, &grad] {
                    let message = case.run(&cpu, 0).unwrap_err().to_string();
                    for part in [format!("row {first} "), bad.to_string(), format!("{classes} classes")] {
                        assert!(message.contains(&part), "{message}");
                    }
                }
            }
        }
    }
}
