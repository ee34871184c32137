//! Launches allocate nothing, on any thread.

use std::alloc::System;

use device::Device;
use paddle_core::ops::{
    Adam, Binary, BinaryKind, Lamb, Matmul, Op, Reduce, ReduceKind, Scale, Sgd, SoftmaxWithCrossEntropy,
    Unary, UnaryKind, UniformRandom,
};
use paddle_core::plan::{Backend, Extent, Group, GroupOp, Location, Memory, Move, Operand, OperandType};
use paddle_core::program::{DType, Type};
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::cpu::multiplier::Multiplier;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/device.rs"]
mod device;

/// Counts the allocations of all threads.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn layout(dtype: DType, shape: &[usize]) -> OperandType {
    OperandType::new(dtype, shape.iter().map(|size| Extent::Fixed(*size)).collect())
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
    Group::of(op, inputs.into(), outputs.into(), 1)
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
    chain.epilogue[0].inputs = vec![Operand::Temporary(1)];
    chain.epilogue.insert(0, add([Operand::Temporary(0), Operand::Input(2)], Operand::Temporary(1)));
    chain.epilogue.insert(0, add([Operand::Input(0), Operand::Input(1)], Operand::Temporary(0)));
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

// All checks are in one test, so that nothing else allocates meanwhile.
#[test]
fn launches_allocate_nothing() {
    // `matrixmultiply` allocates what it packs tiles into.
    let cpu = Cpu::with_multiplier(3, Isa::from_environment().unwrap(), Multiplier::Own).unwrap();
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
            let mut device = Device::new(&cpu, [end, 0, 0, 0, 0]);
            let before = allocations();
            for _ in 0..3 {
                device.launch(&kernel, &[], &locations, 0).unwrap();
            }
            assert_eq!(allocations(), before, "{group:?}");
        }
    }
    moves_allocate_nothing(&cpu);
}

fn moves_allocate_nothing(cpu: &Cpu) {
    const ROWS: usize = 10_000;
    let rows = layout(DType::F32, &[ROWS, 25]);
    let (numbers, mask) = (layout(DType::I32, &[ROWS]), layout(DType::Bool, &[ROWS]));
    let offsets = layout(DType::I64, &[ROWS + 1]);
    let count = layout(DType::I32, &[1]);
    let moves: [(Move, Vec<OperandType>, Vec<OperandType>); 9] = [
        (Move::NumberRows, vec![], vec![numbers.clone()]),
        (Move::SelectRows, vec![mask], vec![numbers.clone(), numbers.clone(), count]),
        (Move::GatherRows, vec![rows.clone(), numbers.clone()], vec![rows.clone()]),
        (Move::ScatterRows, vec![rows.clone(), numbers.clone()], vec![rows.clone()]),
        (Move::AddRows, vec![rows.clone(), numbers], vec![rows.clone()]),
        (Move::Add, vec![rows.clone()], vec![rows.clone()]),
        (Move::Zero, vec![], vec![rows.clone()]),
        (Move::Copy, vec![rows.clone()], vec![rows]),
        (Move::RebaseOffsets, vec![offsets.clone()], vec![offsets]),
    ];
    let memories = [Memory::Arena, Memory::Tape, Memory::Pool, Memory::Parameter(0)];
    let mut device = Device::new(cpu, [1 << 20; 5]);
    for (kind, inputs, outputs) in moves {
        let kernel = cpu.compile(&Group::of_move(kind, inputs, outputs)).unwrap();
        let locations = memories.map(|memory| Location { memory, offset: 0 });
        let before = allocations();
        device.launch(&kernel, &[], &locations, 0).unwrap();
        assert_eq!(allocations(), before, "{kind:?}");
    }
}
