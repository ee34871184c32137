//! Launches allocate nothing, on any thread.

use std::alloc::System;

use paddle_core::ops::{
    Adam, Binary, BinaryKind, Lamb, Matmul, Op, Reduce, ReduceKind, Scale, Sgd, SoftmaxWithCrossEntropy,
    Unary, UnaryKind, UniformRandom,
};
use paddle_core::plan::{
    Backend, Elements, Extent, Group, GroupOp, Launch, Location, Memory, Operand, OperandType, Rows,
};
use paddle_core::program::{DType, Type};
use paddle_kernels::Cpu;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts what all threads ask of the system.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn layout(dtype: DType, shape: &[usize]) -> OperandType {
    OperandType { dtype, shape: shape.iter().map(|size| Extent::Fixed(*size)).collect() }
}

fn single<const R: usize, const W: usize>(
    op: impl Into<Op>,
    inputs: [OperandType; R],
    outputs: [OperandType; W],
) -> Group {
    let op = GroupOp {
        op: op.into(),
        inputs: (0..inputs.len()).map(Operand::Input).collect(),
        outputs: (0..outputs.len()).map(Operand::Output).collect(),
    };
    let (inputs, outputs) = (inputs.into(), outputs.into());
    Group { ops: vec![op], inputs, outputs, temporaries: Vec::new(), random_stream: 1 }
}

fn groups(rows: usize) -> Vec<Group> {
    let f32s = |shape: &[usize]| layout(DType::F32, shape);
    let x = f32s(&[rows, 100]);
    let mut chain = single(Unary::of(UnaryKind::Tanh), [x.clone(), f32s(&[100]), f32s(&[])], [x.clone()]);
    let add = |inputs: [Operand; 2], output| GroupOp {
        op: Binary { kind: BinaryKind::Add }.into(),
        inputs: inputs.into(),
        outputs: vec![output],
    };
    chain.ops[0].inputs = vec![Operand::Temporary(1)];
    chain.ops.insert(0, add([Operand::Temporary(0), Operand::Input(2)], Operand::Temporary(1)));
    chain.ops.insert(0, add([Operand::Input(0), Operand::Input(1)], Operand::Temporary(0)));
    chain.temporaries = vec![x.clone(); 2];
    let sum = |axes: Vec<i64>| Reduce { kind: ReduceKind::Mean, axes, keep_dim: false };
    let ids = layout(DType::I64, &[rows, 1]);
    let ty = Type::scalar(DType::F32);
    vec![
        chain,
        single(Scale { scale: 2.0, bias: 1.0 }, [x.clone()], [x.clone()]),
        single(Matmul { trans_x: false, trans_y: true }, [x.clone(), x.clone()], [f32s(&[rows, rows])]),
        single(sum(vec![]), [x.clone()], [f32s(&[])]),
        single(sum(vec![0]), [x.clone()], [f32s(&[100])]),
        single(sum(vec![1]), [x.clone()], [f32s(&[rows])]),
        single(SoftmaxWithCrossEntropy::HARD, [x.clone(), ids], [x.clone(), f32s(&[rows, 1])]),
        single(UniformRandom { min: 0.0, max: 1.0, fan: None, path: String::new(), ty }, [], [x.clone()]),
        single(Sgd {}, [x.clone(), x.clone(), f32s(&[])], []),
        single(
            Adam::default(),
            [x.clone(), x.clone(), f32s(&[]), x.clone(), x.clone(), f32s(&[1]), f32s(&[1])],
            [],
        ),
        single(Lamb::default(), [x.clone(), x.clone(), f32s(&[]), x.clone(), x, f32s(&[1]), f32s(&[1])], []),
    ]
}

// One test, so that nothing else allocates meanwhile.
#[test]
fn launches_allocate_nothing() {
    let cpu = Cpu::with_threads(3).unwrap();
    // Threads allocate while they start.
    let mut seen = usize::MAX;
    while std::mem::replace(&mut seen, allocations()) != seen {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    for rows in [3, 700] {
        for group in groups(rows) {
            let kernel = cpu.compile(&group).unwrap();
            let mut end = 0;
            let locations: Vec<Location> = group
                .inputs
                .iter()
                .chain(&group.outputs)
                .map(|layout| {
                    let offset = end;
                    end += (layout.elements(&[]) * layout.dtype.bytes()).next_multiple_of(64);
                    Location { memory: Memory::Arena, offset }
                })
                .collect();
            let mut buffers = [cpu.allocate(end).unwrap()];
            let launch = Launch { sizes: &[], locations: &locations, seed: 0 };
            let before = allocations();
            for _ in 0..3 {
                cpu.launch(&kernel, launch, &mut buffers).unwrap();
            }
            assert_eq!(allocations(), before, "{:?}", group.ops[0].op);
        }
    }
    let mut buffers: [_; Memory::COUNT] = std::array::from_fn(|_| cpu.allocate(1 << 20).unwrap());
    let [a, b, c, d] = [Memory::Arena, Memory::Tape, Memory::Pool, Memory::Parameters]
        .map(|memory| Location { memory, offset: 0 });
    let before = allocations();
    let count = cpu.select(a, 10_000, b, c, &mut buffers);
    let rows = Rows { count: 10_000 - count, bytes: 100 };
    cpu.gather(rows, a, c, d, &mut buffers);
    cpu.scatter(rows, a, c, d, &mut buffers);
    let elements = Elements { count: 1 << 18, dtype: DType::F32 };
    cpu.add(elements, a, b, &mut buffers);
    cpu.zero(elements, c, &mut buffers);
    cpu.copy(1 << 20, a, d, &mut buffers);
    assert_eq!(allocations(), before);
}
