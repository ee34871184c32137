//! Threads, instruction sets, and the operands of a launch.

use paddle_core::ops::{
    Binary, BinaryKind, Concat, CumSum, Expand, Foreign, Gather, GatherGrad, GatherNd, GaussianRandom,
    LookupTable, LookupTableGrad, Matmul, Not, Op, Pad, PoolType, Reduce, ReduceKind, Reshape, Sample,
    Scatter, ScatterNdAdd, ScatterRows, SequencePool, SequencePoolGrad, Sgd, Slice, SliceGrad, Softmax,
    SoftmaxGrad, SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad, Split, TakeAlongAxis,
    TakeAlongAxisGrad, Tile, TopK, Transpose, Unary, UnaryKind, UniformRandom,
};
use paddle_core::plan::{Backend, Body, Group, Location, Memory, Operand};
use paddle_core::program::{DType, Dim, Type};
use paddle_kernels::Cpu;
use paddle_kernels::cpu::CpuError;
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::cpu::multiplier::Multiplier;

use crate::device::Device;
use crate::launch::{Case, apply, layout};

const F32: DType = DType::F32;

/// Cases that are larger than tiles, chunks and pieces.
fn large() -> Vec<Case> {
    let dense = |shape: &[usize]| layout(F32, shape, false);
    let mut cases = Vec::new();
    for kind in [UnaryKind::Tanh, UnaryKind::Relu] {
        cases.push(Case::of(Unary::of(kind), &[dense(&[100_003])], &[dense(&[100_003])]));
    }
    let add = Binary { kind: BinaryKind::Add };
    let all = [dense(&[301, 257])];
    for other in [dense(&[301, 257]), dense(&[257]), dense(&[301, 1]), dense(&[])] {
        cases.push(Case::of(add, &[all[0].clone(), other], &all));
    }
    for kind in [ReduceKind::Sum, ReduceKind::Mean] {
        let mut reduce = |axes: &[i64], from: &[usize], to: &[usize]| {
            let op = Reduce { kind, axes: axes.to_vec(), keep_dim: false };
            cases.push(Case::of(op, &[dense(from)], &[dense(to)]));
        };
        reduce(&[], &[301, 1009], &[]);
        reduce(&[0], &[301, 1009], &[1009]);
        reduce(&[1], &[301, 1009], &[301]);
        reduce(&[0, 2], &[70, 33, 65], &[33]);
        reduce(&[1], &[70, 33, 165], &[70, 165]);
    }
    let expand = Expand { axes: vec![1], keep_dim: false };
    cases.push(Case::of(expand, &[dense(&[70, 165]), dense(&[70, 33, 165])], &[dense(&[70, 33, 165])]));
    let matmul = Matmul { trans_x: false, trans_y: true };
    cases.push(Case::of(matmul, &[dense(&[97, 130]), dense(&[201, 130])], &[dense(&[97, 201])]));
    let rows = [dense(&[1001, 37])];
    cases.push(Case::of(Softmax, &rows, &rows));
    cases.push(Case::of(SoftmaxGrad, &[rows[0].clone(), rows[0].clone()], &rows));
    let (ids, loss) = (layout(DType::I64, &[1001, 1], false), dense(&[1001, 1]));
    let logits = rows[0].clone();
    cases.push(Case::of(
        SoftmaxWithCrossEntropy::HARD,
        &[logits.clone(), ids.clone()],
        &[logits.clone(), loss.clone()],
    ));
    cases.push(Case::of(SoftmaxWithCrossEntropyGrad::HARD, &[logits.clone(), ids, loss], &[logits]));
    cases.push(Case::of(Reshape { dims: Vec::new() }, &[dense(&[301, 1009])], &[dense(&[301 * 1009])]));
    let (tall, wide) = ([dense(&[70, 33, 165])], [dense(&[70, 165, 33])]);
    cases.push(Case::of(Transpose { perm: vec![0, 2, 1] }, &tall, &wide));
    let parts = [dense(&[70, 30, 165]), dense(&[70, 3, 165])];
    cases.push(Case::of(Concat { axis: 1 }, &parts, &tall));
    cases.push(Case::of(Split { axis: 1, sections: Vec::new() }, &tall, &parts));
    let slice = Slice::of(vec![1], vec![3], vec![33]);
    cases.push(Case::of(slice.clone(), &tall, &parts[..1]));
    let grad = [tall[0].clone(), parts[0].clone()];
    cases.push(Case::of(SliceGrad(slice), &grad, &tall));
    let (table, ids) = (dense(&[4, 257]), layout(DType::I64, &[301], false));
    let looked_up = [dense(&[301, 257])];
    cases.push(Case::of(LookupTable { padding_idx: 0 }, &[ids.clone(), table.clone()], &looked_up));
    let add = [ids, table.clone(), looked_up[0].clone()];
    cases.push(Case::of(LookupTableGrad(LookupTable { padding_idx: 0 }), &add, &[table]));
    cases.extend(places().iter().map(Case::sample));
    let ty = Type::scalar(F32);
    cases.push(Case::of(
        UniformRandom { min: -1.0, max: 2.0, fan: None, path: String::new(), ty: ty.clone() },
        &[],
        &[dense(&[5001])],
    ));
    cases.push(Case::of(
        GaussianRandom { mean: 1.0, std: 2.0, fan: None, path: String::new(), ty },
        &[],
        &[dense(&[5001])],
    ));
    for pooltype in PoolType::ALL {
        let lengths: Vec<usize> = (0..1501).map(|i| i * i % 37).collect();
        let pool = Sample::of(SequencePool { pooltype, pad_value: 0.0 }).sequences(&lengths, &[3, 50]);
        let grad = Sample::of(SequencePoolGrad { pooltype }).sequences(&lengths, &[70]);
        cases.extend([pool, grad.rows(lengths.len(), &[70])].iter().map(Case::sample));
    }
    cases.push(Case::of(Sgd {}, &[dense(&[50_001]), dense(&[50_001]), dense(&[])], &[]));
    cases
}

/// Operators that find elements by index, and that write them by index.
fn places() -> Vec<Sample> {
    let top = |k, axis| Sample::of(TopK { k, axis, largest: true });
    let ids = |sample: Sample, below: f64| sample.dtype(DType::I64).within(0.0, below);
    vec![
        top(Some(3), 1).rows(1001, &[37]),
        top(None, 1).rows(301, &[70, 3]),
        Sample::of(CumSum { axis: 1, exclusive: false, reverse: true }).rows(301, &[70, 3]),
        ids(Sample::of(Gather { axis: 0 }).dense(&[40, 257]).rows(301, &[]), 40.0),
        ids(Sample::of(GatherGrad(Gather { axis: 0 })).dense(&[4000, 33]).rows(301, &[]), 4000.0)
            .rows(301, &[33]),
        ids(Sample::of(GatherGrad(Gather { axis: 1 })).rows(301, &[5, 33]).rows(301, &[7]), 5.0)
            .rows(301, &[7, 33]),
        ids(Sample::of(GatherNd).dense(&[9, 9, 257]).dense(&[301, 2]), 9.0),
        ids(Sample::of(ScatterNdAdd).dense(&[9, 90, 57]).dense(&[301, 2]), 9.0).dense(&[301, 57]),
        ids(Sample::of(Scatter).dense(&[90, 257]).dense(&[301]), 90.0).dense(&[301, 257]),
        ids(Sample::of(TakeAlongAxis { axis: 1 }).rows(301, &[70]).rows(301, &[90]), 70.0),
        ids(Sample::of(TakeAlongAxisGrad(TakeAlongAxis { axis: 1 })).rows(301, &[70]).rows(301, &[90]), 70.0)
            .rows(301, &[90]),
        Sample::of(Tile { repeat_times: [3, 5].map(Dim::from).into() }).rows(301, &[7, 9]),
        Sample::of(Pad { paddings: vec![0, 0, 2, 3, 1, 0], pad_value: 1.5 }).rows(301, &[7, 19]),
    ]
}

/// Whether it is one that the multiplier computes.
fn is_product(case: &Case) -> bool {
    matches!(&case.group.body, Some(Body::Operator(op)) if matches!(op.op, Op::Matmul(_) | Op::Contract(_)))
}

#[test]
fn any_number_of_threads_gives_the_same_bits_and_writes_everything() {
    let samples = Op::samples().into_iter();
    let samples = samples.flat_map(|sample| sample.variants().into_iter().chain([sample]));
    let mut cases: Vec<Case> = samples.map(|sample| Case::sample(&sample)).collect();
    let samples = cases.len();
    cases.extend(large());
    assert!(samples > 100, "{samples}");
    let best = Isa::available().next().unwrap();
    let own = Isa::available().map(|isa| (isa, Multiplier::Own));
    for (isa, multiplier) in own.chain([(best, Multiplier::Matrixmultiply)]) {
        let machine = |threads| Cpu::with_multiplier(threads, isa, multiplier).unwrap();
        let machines = [1, 2, 3, 7].map(machine);
        let is_seen = |(_, case): &(usize, &Case)| multiplier == Multiplier::Own || is_product(case);
        for (i, case) in cases.iter().enumerate().filter(is_seen) {
            let one = case.run(&machines[0], 0xFF).unwrap();
            for (cpu, before) in machines.iter().zip([0x00, 0xFF, 0x00, 0xFF]) {
                let found = case.run(cpu, before).unwrap();
                assert!(found == one, "case {i} on {cpu:?} by {multiplier:?}: {:?}", case.group);
            }
        }
    }
}

#[test]
fn machines_are_what_was_asked_for_or_an_error() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(3, isa).unwrap();
        assert_eq!((cpu.threads(), cpu.clone().isa()), (3, isa));
        for multiplier in [Multiplier::Own, Multiplier::Matrixmultiply, Multiplier::ByShape] {
            let cpu = Cpu::with_multiplier(2, isa, multiplier).unwrap();
            assert_eq!((cpu.threads(), cpu.isa(), cpu.multiplier()), (2, isa, multiplier));
        }
    }
    for threads in [0, 1 << 20, usize::MAX] {
        let error = Cpu::with_threads(threads).unwrap_err();
        assert!(matches!(&error, CpuError::Threads(found) if *found == threads.to_string()), "{error:?}");
        assert!(error.to_string().contains("PADDLE_THREADS"), "{error}");
    }
}

fn message(case: &Case) -> String {
    Cpu::with_threads(1).unwrap().compile(&case.group).unwrap_err().message
}

#[test]
fn groups_without_a_kernel_say_why() {
    let cpu = Cpu::with_threads(1).unwrap();
    let dense = |dtype, shape: &[usize]| layout(dtype, shape, false);
    let foreign = Foreign { name: "lstm".into(), desc: Vec::new(), types: Vec::new() };
    assert!(!cpu.supports(&foreign.clone().into(), &[]) && !cpu.supports(&ScatterRows.into(), &[]));
    assert!(message(&Case::of(foreign, &[], &[])).contains("another system"));
    let rows = [dense(F32, &[2])];
    assert!(message(&Case::of(ScatterRows, &rows, &rows)).contains("the runtime runs it"));
    let bools = [dense(DType::Bool, &[2])];
    let add = Binary { kind: BinaryKind::Add };
    assert!(message(&Case::of(add, &[bools[0].clone(), bools[0].clone()], &bools)).contains("bool"));
    let ints = [dense(DType::I32, &[2, 2])];
    assert!(message(&Case::of(Softmax, &ints, &ints)).contains("`softmax` of i32"));
    let mixed = [dense(F32, &[2]), dense(DType::F64, &[2])];
    assert!(message(&Case::of(add, &mixed, &rows)).contains("these operands"));
    assert!(
        message(&Case::of(add, &[rows[0].clone(), rows[0].clone()], &mixed[1..])).contains("these operands")
    );
    assert!(message(&Case::of(Not, &rows, &rows)).contains("`logical_not` of f32"));
    assert!(message(&Case::of(add, &[dense(F32, &[3]), dense(F32, &[2])], &rows)).contains("shape"));
}

/// Launches `square` of `count` elements from one location to another, in 1024 bytes.
fn square(count: usize, from: usize, to: usize) {
    let cpu = Cpu::with_threads(1).unwrap();
    let op = apply(Unary::of(UnaryKind::Square), &[Operand::Input(0)], &[Operand::Output(0)]);
    let ty = || vec![layout(F32, &[count], false)];
    let kernel = cpu.compile(&Group::of(op, ty(), ty(), 0)).unwrap();
    let mut device = Device::new(&cpu, [1024, 0, 0, 0, 0]);
    let locations = [from, to].map(|offset| Location { memory: Memory::Arena, offset });
    device.launch(&kernel, &[], &locations, 0).unwrap();
}

#[test]
fn operands_may_fill_a_memory_and_replace_each_other() {
    square(128, 0, 512);
    square(256, 0, 0);
    square(0, 1024, 1024);
}

#[test]
#[should_panic(expected = "the memory has 1024")]
fn an_operand_beyond_its_memory_is_a_mistake() {
    square(128, 0, 576);
}

#[test]
#[should_panic(expected = "the memory has 1024")]
fn an_operand_of_more_bytes_than_there_are_is_a_mistake() {
    square(1 << 62, 0, 0);
}

#[test]
#[should_panic(expected = "12 bytes")]
fn an_operand_that_is_not_aligned_is_a_mistake() {
    square(3, 0, 66);
}

#[test]
#[should_panic(expected = "on top of another")]
fn operands_that_overlap_in_part_are_a_mistake() {
    square(64, 0, 64);
}
