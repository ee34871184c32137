//! Compares fused chains over tiles with plain loops.

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, Not, Number, Scale, Sgd, Unary,
    UnaryKind,
};
use paddle_core::plan::Operand::{Input, Output, Temporary};
use paddle_core::plan::OperandType;
use paddle_core::program::{DType, Type};
use paddle_kernels::Cpu;

use crate::launch::{Case, Values, apply, layout};

const F32: DType = DType::F32;

fn dense(shape: &[usize]) -> OperandType {
    layout(F32, shape, false)
}

fn f32s(values: &Values) -> &[f32] {
    match values {
        Values::F32(values) => values,
        values => panic!("{values:?}"),
    }
}

#[test]
fn operands_of_every_shape_are_spread_over_tiles() {
    let cpu = Cpu::with_threads(2).unwrap();
    // Periods that fit into a tile or not, and periods that are longer than a tile.
    for (a, b, c) in [(3, 5, 7), (1, 1, 5000), (70, 1, 33), (2, 3000, 3), (40, 64, 16), (1, 1, 1), (7, 0, 3)]
    {
        let whole = dense(&[a, b, c]);
        let others: [&[usize]; 8] =
            [&[], &[c], &[b, 1], &[b, c], &[a, 1, 1], &[a, 1, c], &[1, b, 1], &[a, b, 1]];
        for shape in others {
            let kind = BinaryKind::Sub;
            let case =
                Case::of(Binary { kind }, &[whole.clone(), dense(shape)], std::slice::from_ref(&whole));
            let (x, y) = (f32s(&case.inputs[0]), f32s(&case.inputs[1]));
            let found = case.f32s(&cpu);
            let lead = 3 - shape.len();
            let size = |axis: usize| if axis < lead { 1 } else { shape[axis - lead] };
            for (position, found) in found.into_iter().enumerate() {
                let digits = [position / c / b, position / c % b, position % c];
                let at = (0..3).fold(0, |at, axis| at * size(axis) + digits[axis] % size(axis));
                assert_eq!(found, x[position] - y[at], "{shape:?} over {:?} at {digits:?}", [a, b, c]);
            }
        }
    }
}

/// `t = relu(x · 3 + b)`, `o0 = t - x`, `o1 = (t > x) as mask`, `o2 = o0 · x`. Outputs are written before x is read for
/// the last time.
fn chain(count: usize, columns: usize) -> Case {
    let (whole, bias) = (dense(&[count, columns]), dense(&[columns]));
    let mask = OperandType { dtype: DType::Bool, ..whole.clone() };
    let three = Fill { value: Number::Float(3.0), ty: Type::scalar(F32) };
    let ops = vec![
        apply(three, &[], &[Temporary(0)]),
        apply(Binary { kind: BinaryKind::Mul }, &[Input(0), Temporary(0)], &[Temporary(1)]),
        apply(Binary { kind: BinaryKind::Add }, &[Temporary(1), Input(1)], &[Temporary(2)]),
        apply(Unary::of(UnaryKind::Relu), &[Temporary(2)], &[Temporary(3)]),
        apply(Binary { kind: BinaryKind::Sub }, &[Temporary(3), Input(0)], &[Output(0)]),
        apply(Compare { kind: CompareKind::GreaterThan }, &[Temporary(3), Input(0)], &[Output(1)]),
        apply(Binary { kind: BinaryKind::Mul }, &[Output(0), Input(0)], &[Output(2)]),
    ];
    let temporaries = [dense(&[]), whole.clone(), whole.clone(), whole.clone()];
    Case::chain(ops, &[whole.clone(), bias], &[whole.clone(), mask, whole], &temporaries)
}

#[test]
fn outputs_may_replace_inputs_that_are_still_read() {
    for (count, columns) in [(1, 1), (3, 5), (100, 37), (400, 257)] {
        for threads in [1, 3] {
            let cpu = Cpu::with_threads(threads).unwrap();
            let mut case = chain(count, columns);
            let apart = case.run(&cpu, 0xFF).unwrap();
            let (x, bias) = (f32s(&case.inputs[0]), f32s(&case.inputs[1]));
            for (i, x) in x.iter().enumerate() {
                let t = (x * 3.0 + bias[i % columns]).max(0.0);
                let found =
                    |output: usize| f32::from_ne_bytes(apart[output][i * 4..][..4].try_into().unwrap());
                assert_eq!((found(0), apart[1][i], found(2)), (t - x, u8::from(t > *x), (t - x) * x));
            }
            for output in [0, 2] {
                case.in_place = vec![(output, 0)];
                assert!(case.run(&cpu, 0).unwrap() == apart, "output {output} in place of the input");
            }
        }
    }
}

#[test]
fn long_chains_share_scratch() {
    // x + 1 + 1 + …, and the sum of these values.
    let whole = dense(&[5000]);
    let steps = 200;
    let add = Binary { kind: BinaryKind::Add };
    let mut ops = Vec::new();
    let mut last = Input(0);
    for step in 0..steps {
        let next = if step + 1 == steps { Output(0) } else { Temporary(step) };
        ops.push(apply(add, &[last, Input(1)], &[next]));
        last = next;
    }
    let case = Case::chain(
        ops,
        &[whole.clone(), dense(&[])],
        std::slice::from_ref(&whole),
        &vec![whole.clone(); steps],
    );
    let (x, one) = (f32s(&case.inputs[0]), f32s(&case.inputs[1])[0]);
    for (found, x) in case.f32s(&Cpu::with_threads(1).unwrap()).iter().zip(x) {
        assert_eq!(*found, (0..steps).fold(*x, |x, _| x + one));
    }
}

#[test]
fn integers_wrap_around_and_divide_like_floor() {
    let cpu = Cpu::with_threads(1).unwrap();
    let pairs: Vec<(i64, i64)> = [i64::MIN, -7, -1, 0, 1, 2, 5, i64::MAX]
        .into_iter()
        .flat_map(|x| [i64::MIN, -3, -1, 0, 1, 3, i64::MAX].map(|y| (x, y)))
        .collect();
    for &kind in BinaryKind::ALL {
        let values = layout(DType::I64, &[pairs.len()], false);
        let mut case = Case::of(Binary { kind }, &[values.clone(), values.clone()], &[values]);
        let (x, y): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
        case.inputs = vec![Values::I64(x.clone()), Values::I64(y.clone())];
        let bytes = &case.run(&cpu, 0xFF).unwrap()[0];
        for ((x, y), found) in pairs.iter().zip(bytes.chunks_exact(8)) {
            let found = i64::from_ne_bytes(found.try_into().unwrap());
            assert_eq!(found, kind.apply_int(*x, *y), "{kind:?} of {x} and {y}");
        }
        let values = layout(DType::I32, &[pairs.len()], false);
        let mut case = Case::of(Binary { kind }, &[values.clone(), values.clone()], &[values]);
        let narrow = |x: &i64| *x as i32;
        case.inputs =
            vec![Values::I32(x.iter().map(narrow).collect()), Values::I32(y.iter().map(narrow).collect())];
        let bytes = &case.run(&cpu, 0xFF).unwrap()[0];
        for ((x, y), found) in pairs.iter().zip(bytes.chunks_exact(4)) {
            let found = i32::from_ne_bytes(found.try_into().unwrap());
            assert_eq!(
                found,
                kind.apply_int((*x as i32).into(), (*y as i32).into()) as i32,
                "{kind:?} of {x}, {y}"
            );
        }
    }
}

#[test]
fn coefficients_of_integers_are_whole() {
    let values = layout(DType::I64, &[4], false);
    let mut case = Case::of(
        Scale { scale: -2.9, bias: 1.9 },
        std::slice::from_ref(&values),
        std::slice::from_ref(&values),
    );
    case.inputs = vec![Values::I64(vec![0, 1, -3, i64::MAX])];
    let bytes = &case.run(&Cpu::with_threads(1).unwrap(), 0).unwrap()[0];
    let found: Vec<i64> = bytes.chunks_exact(8).map(|x| i64::from_ne_bytes(x.try_into().unwrap())).collect();
    assert_eq!(found, [1, -1, 7, 3]);
}

#[test]
fn comparisons_follow_ieee() {
    let cpu = Cpu::with_threads(1).unwrap();
    let numbers = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, f32::MIN_POSITIVE, f32::INFINITY];
    let (x, y): (Vec<f32>, Vec<f32>) = numbers.iter().flat_map(|&x| numbers.map(|y| (x, y))).unzip();
    for &kind in CompareKind::ALL {
        let values = dense(&[x.len()]);
        let truth = OperandType { dtype: DType::Bool, ..values.clone() };
        let mut case = Case::of(Compare { kind }, &[values.clone(), values], &[truth]);
        case.inputs = vec![Values::F32(x.clone()), Values::F32(y.clone())];
        for ((x, y), found) in x.iter().zip(&y).zip(&case.run(&cpu, 0xFF).unwrap()[0]) {
            assert_eq!(*found, u8::from(kind.holds(*x, *y)), "{kind:?} of {x} and {y}");
        }
    }
}

#[test]
fn truth_values_are_bytes_of_0_and_1() {
    let cpu = Cpu::with_threads(1).unwrap();
    let values = layout(DType::Bool, &[2, 2], false);
    let (row, column) = (layout(DType::Bool, &[2], false), layout(DType::Bool, &[2, 1], false));
    let run = |mut case: Case, inputs: &[&[bool]]| {
        case.inputs = inputs.iter().map(|values| Values::Bool(values.to_vec())).collect();
        case.run(&cpu, 0xFF).unwrap().remove(0)
    };
    let of = |kind| Case::of(Logical { kind }, &[row.clone(), column.clone()], std::slice::from_ref(&values));
    assert_eq!(run(of(LogicalKind::And), &[&[false, true], &[false, true]]), [0, 0, 0, 1]);
    assert_eq!(run(of(LogicalKind::Or), &[&[false, true], &[false, true]]), [0, 1, 1, 1]);
    assert_eq!(
        run(Case::of(Not, std::slice::from_ref(&row), std::slice::from_ref(&row)), &[&[false, true]]),
        [1, 0]
    );
}

#[test]
fn parameters_are_updated_in_place() {
    let count = 40_001;
    let case = Case::of(Sgd {}, &[dense(&[count]), dense(&[count]), dense(&[])], &[]);
    let (before, grad, rate) = (f32s(&case.inputs[0]), f32s(&case.inputs[1]), f32s(&case.inputs[2])[0]);
    for (i, found) in case.f32s(&Cpu::with_threads(2).unwrap()).into_iter().enumerate() {
        assert_eq!(found, before[i] - rate * grad[i]);
    }
}
