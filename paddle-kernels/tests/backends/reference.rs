//! The reference backend by itself: known results, and the mistakes of a runtime that it has to report.

use paddle_core::ops::{
    Assign, Binary, BinaryKind, If, Matmul, Reduce, ReduceKind, Sample, Softmax, SoftmaxWithCrossEntropy,
    Unary, UnaryKind,
};
use paddle_core::plan::{Backend, Group, HostSliceMut, Location, Memory, Move, Operand};
use paddle_core::program::DType;
use paddle_kernels::reference::Reference;

use crate::device::{Device, placed};
use crate::draw::Draw;
use crate::host::Host;
use crate::run::Case;

/// The results of a sample's operator on these inputs, in `f64`.
fn compute(sample: &Sample, inputs: &[Host]) -> Vec<Vec<f64>> {
    let case = Case { inputs: inputs.to_vec(), ..Case::of(sample, &mut Draw::new(1)) };
    case.run(&Reference::double()).unwrap().iter().map(Host::floats).collect()
}

fn f32s(values: &[f32]) -> Host {
    Host::F32(values.to_vec())
}

#[test]
fn known_results() {
    let matmul = |trans_x, trans_y| Matmul { trans_x, trans_y };
    let (x, y) = (f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), f32s(&[1.0, -1.0, 2.0, 0.0, 0.0, 3.0]));
    let product = |op, x_dims: &[i64], y_dims: &[i64]| {
        compute(&Sample::of(op).dense(x_dims).dense(y_dims), &[x.clone(), y.clone()])
    };
    assert_eq!(product(matmul(false, false), &[2, 3], &[3, 2]), [[5.0, 8.0, 14.0, 14.0]]);
    assert_eq!(product(matmul(false, true), &[2, 3], &[2, 3]), [[5.0, 9.0, 11.0, 18.0]]);
    assert_eq!(product(matmul(true, false), &[3, 2], &[3, 2]), [[7.0, 14.0, 10.0, 16.0]]);
    assert_eq!(product(matmul(true, true), &[3, 2], &[2, 3]), [[8.0, 15.0, 10.0, 18.0]]);

    let sum = |axes: &[i64], keep_dim| {
        let op = Reduce { kind: ReduceKind::Sum, axes: axes.to_vec(), keep_dim };
        compute(&Sample::of(op).rows(2, &[3]), std::slice::from_ref(&x))
    };
    assert_eq!(sum(&[], false), [[21.0]]);
    assert_eq!(sum(&[0], false), [[5.0, 7.0, 9.0]]);
    assert_eq!(sum(&[1], true), [[6.0, 15.0]]);

    let softmax = compute(&Sample::of(Softmax).dense(&[2]), &[f32s(&[1000.0, 1000.0])]);
    assert_eq!(softmax, [[0.5, 0.5]]);
    let sample = Sample::of(SoftmaxWithCrossEntropy::HARD).rows(1, &[2]).rows(1, &[1]).dtype(DType::I64);
    let loss = compute(&sample, &[f32s(&[0.0, 0.0]), Host::I64(vec![1])]);
    assert_eq!(loss[0], [0.5, 0.5]);
    assert!((loss[1][0] - 2f64.ln()).abs() < 1e-15);
}

#[test]
fn a_group_is_one_operator_or_a_chain() {
    let backend = Reference::single();
    let chain = |sample: Sample| {
        let mut group: Group = Case::of(&sample, &mut Draw::new(1)).group;
        let op = group.operators().next().unwrap().clone();
        group.epilogue.push(op);
        backend.compile(&group).err().map(|error| error.message)
    };
    assert_eq!(chain(Sample::of(Assign).rows(3, &[4])), None);
    let message = "`softmax` is not element-wise, so it is a group of its own".to_string();
    assert_eq!(chain(Sample::of(Softmax).rows(3, &[4])), Some(message));
    assert!(!backend.supports(&If.into(), &[]));
}

#[test]
#[should_panic(expected = "operand 1 of `elementwise_add` reads memory that nothing wrote")]
fn unwritten_memory_is_not_computed_with() {
    let sample = Sample::of(Binary { kind: BinaryKind::Add }).dense(&[2]).dense(&[2]);
    let mut case = Case::of(&sample, &mut Draw::new(1));
    // The last element of the second operand is missing.
    case.inputs[1] = f32s(&[1.0]);
    let _ = case.run(&Reference::single());
}

fn at(offset: usize) -> Location {
    Location { memory: Memory::Arena, offset }
}

fn device(backend: &Reference) -> Device<'_, Reference> {
    Device::new(backend, [512; 5])
}

#[test]
fn unwritten_memory_is_copied_as_such() {
    let backend = Reference::single();
    let mut device = device(&backend);
    device.upload(Host::I32(vec![1]).slice(), at(0));
    let pair = |offset| [placed(at(offset), DType::I32, &[2])];
    device.run(Move::Copy, &pair(0), &pair(64)).unwrap();
    let mut first = [0];
    device.download(at(64), HostSliceMut::I32(&mut first));
    assert_eq!(first, [1]);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        device.download(at(64), HostSliceMut::I32(&mut [0; 2]));
    }));
    assert!(outcome.is_err(), "the second element was never written");
}

#[test]
#[should_panic(expected = "an addition reads memory that nothing wrote")]
fn a_run_begins_without_values() {
    let backend = Reference::single();
    let mut device = device(&backend);
    let one = |offset| [placed(at(offset), DType::F32, &[1])];
    device.run(Move::Zero, &[], &one(0)).unwrap();
    device.run(Move::Zero, &[], &one(64)).unwrap();
    device.poison();
    let _ = device.run(Move::Add, &one(0), &one(64));
}

#[test]
#[should_panic(expected = "operand 1 of `gather` reads memory that nothing wrote")]
fn rows_are_not_gathered_before_they_are_selected() {
    let backend = Reference::single();
    let row = |offset| placed(at(offset), DType::F32, &[1]);
    let inputs = [row(0), placed(at(64), DType::I32, &[1])];
    let _ = device(&backend).run(Move::GatherRows, &inputs, &[row(128)]);
}

#[test]
#[should_panic(expected = "4 bytes at 512 are written to a memory of 512")]
fn memory_ends() {
    let backend = Reference::single();
    let _ = device(&backend).run(Move::Zero, &[], &[placed(at(512), DType::F32, &[1])]);
}

/// Launches an operator with one input and one output, 3 by 4.
fn launch(sample: Sample, input: Location, output: Location) {
    let backend = Reference::single();
    let case = Case::of(&sample, &mut Draw::new(1));
    let kernel = backend.compile(&case.group).unwrap();
    let mut device = device(&backend);
    device.upload(case.inputs[0].slice(), input);
    device.launch(&kernel, &[3], &[input, output], 0).unwrap();
}

#[test]
fn an_element_wise_output_may_replace_an_input() {
    launch(Sample::of(Unary::of(UnaryKind::Relu)).rows(3, &[4]), at(0), at(0));
}

#[test]
#[should_panic(expected = "an output of [\"relu\"] overlaps an input")]
fn an_output_does_not_overlap_an_input_in_part() {
    launch(Sample::of(Unary::of(UnaryKind::Relu)).rows(3, &[16]), at(0), at(64));
}

#[test]
#[should_panic(expected = "an output of [\"softmax\"] overlaps an input")]
fn only_element_wise_outputs_replace_inputs() {
    launch(Sample::of(Softmax).rows(3, &[4]), at(0), at(0));
}

#[test]
#[should_panic(expected = "an operand of [\"relu\"] is not aligned")]
fn operands_are_aligned() {
    launch(Sample::of(Unary::of(UnaryKind::Relu)).rows(3, &[4]), at(0), at(102));
}

#[test]
#[should_panic(expected = "is read before an operator of the group writes it")]
fn a_temporary_is_written_before_it_is_read() {
    let mut case = Case::of(&Sample::of(Assign).rows(3, &[4]), &mut Draw::new(1));
    case.group.temporaries = case.group.outputs.clone();
    case.op_mut().inputs = vec![Operand::Temporary(0)];
    let _ = case.run(&Reference::single());
}
