//! Chains of element-wise operators as one group. Outputs are in memory of their own, or replace inputs.

use paddle_core::ops::{
    Assign, Binary, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, Not, Number, Op, Scale,
    Unary, UnaryGrad, UnaryKind,
};
use paddle_core::plan::{Backend, Extent, Group, GroupOp, Operand, OperandType, Precision};
use paddle_core::program::{DType, Type};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;
use crate::run::Case;

/// The operators of a chain.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    /// Operators whose rounding IEEE 754 prescribes: every backend gives the same bits.
    Exact,
    /// Operators that at most double an error, and the hyperbolic tangent.
    Smooth,
}

/// A group while it grows.
struct Builder<'a> {
    draw: &'a mut Draw,
    dtype: DType,
    shape: Vec<Extent>,
    case: Case,
    /// The values that operators may read: their operands, their types, and whether they have the full shape.
    values: Vec<(Operand, DType, bool)>,
}

impl Builder<'_> {
    /// An arbitrary value of this type. It is made if there is none.
    fn value(&mut self, dtype: DType, full: bool) -> Operand {
        let fitting: Vec<Operand> = self
            .values
            .iter()
            .filter(|value| value.1 == dtype && (value.2 || !full))
            .map(|value| value.0)
            .collect();
        // The latest values are chosen most often, so that chains are long.
        match fitting[..] {
            [.., last] if self.draw.flip() => last,
            [] => self.input(dtype, full),
            _ if self.draw.below(5) == 0 => self.input(dtype, full),
            _ => *self.draw.choose(&fitting),
        }
    }

    /// A new input. If it is not `full`, it has any shape that broadcasts.
    fn input(&mut self, dtype: DType, full: bool) -> Operand {
        let mut shape = self.shape.clone();
        if !full {
            for extent in &mut shape {
                if self.draw.flip() {
                    *extent = Extent::Fixed(1);
                }
            }
            let lead = self.draw.below(shape.len() + 1);
            shape.drain(..lead);
        }
        let full = shape == self.shape;
        let layout = OperandType::new(dtype, shape);
        let count = layout.elements(&self.case.sizes);
        self.case.inputs.push(self.draw.elements(dtype, count, (-2.0, 2.0)));
        self.case.group.inputs.push(layout);
        let operand = Operand::Input(self.case.inputs.len() - 1);
        self.values.push((operand, dtype, full));
        operand
    }

    fn push(&mut self, op: impl Into<Op>, inputs: Vec<Operand>, dtype: DType) {
        let group = &mut self.case.group;
        let outputs = vec![Operand::Temporary(group.temporaries.len())];
        group.temporaries.push(OperandType::new(dtype, self.shape.clone()));
        self.values.push((outputs[0], dtype, true));
        group.epilogue.push(GroupOp { op: op.into(), inputs, outputs });
    }

    /// Two values, at least one of which has the full shape.
    fn pair(&mut self, dtype: DType) -> Vec<Operand> {
        let mut pair = vec![self.value(dtype, true), self.value(dtype, false)];
        if self.draw.flip() {
            pair.swap(0, 1);
        }
        pair
    }

    fn operator(&mut self, chain: Chain) {
        let float = self.dtype;
        let smooth = [BinaryKind::Add, BinaryKind::Sub];
        let exact = [BinaryKind::Mul, BinaryKind::Div, BinaryKind::Mod, BinaryKind::FloorDiv];
        match (self.draw.below(10), chain) {
            (0, _) => {
                let value = Number::Float(*self.draw.choose(&[0.5, -1.0, 0.1]));
                // The layout of the group determines the shape of the result; the type in the program does not.
                let ty = Type::scalar(float);
                self.push(Fill { value, ty }, Vec::new(), float);
            }
            (1, _) => {
                let x = self.value(float, true);
                let op = Scale {
                    scale: *self.draw.choose(&[1.0, -1.0, 0.3]),
                    bias: *self.draw.choose(&[0.0, 0.7]),
                };
                self.push(op, vec![x], float);
            }
            (2, _) => {
                let x = self.value(float, true);
                self.push(Assign, vec![x], float);
            }
            (3, Chain::Smooth) => {
                let x = self.value(float, true);
                self.push(Unary::of(UnaryKind::Tanh), vec![x], float);
            }
            (3 | 4, _) => {
                let x = self.value(float, true);
                let square = chain == Chain::Exact && self.draw.flip();
                let kind = if square { UnaryKind::Square } else { UnaryKind::Relu };
                self.push(Unary::of(kind), vec![x], float);
            }
            (5.., Chain::Smooth) | (5 | 6, Chain::Exact) => {
                let (kind, inputs) = (*self.draw.choose(&smooth), self.pair(float));
                self.push(Binary { kind }, inputs, float);
            }
            (7, Chain::Exact) => {
                let (kind, inputs) = (*self.draw.choose(&exact), self.pair(float));
                self.push(Binary { kind }, inputs, float);
            }
            (8, Chain::Exact) => {
                let (kind, inputs) =
                    (*self.draw.choose(&[UnaryKind::Relu, UnaryKind::Square]), self.pair(float));
                self.push(UnaryGrad::of(kind), inputs, float);
            }
            (_, Chain::Exact) => match self.draw.below(4) {
                0 => {
                    let x = self.value(DType::Bool, true);
                    self.push(Not, vec![x], DType::Bool);
                }
                1 => {
                    let (kind, inputs) = (*self.draw.choose(LogicalKind::ALL), self.pair(DType::Bool));
                    self.push(Logical { kind }, inputs, DType::Bool);
                }
                _ => {
                    let (kind, inputs) = (*self.draw.choose(CompareKind::ALL), self.pair(float));
                    self.push(Compare { kind }, inputs, DType::Bool);
                }
            },
        }
    }

    /// Makes outputs of the values that no operator reads, and of some others.
    fn finish(mut self) -> Case {
        let group = &mut self.case.group;
        let mut renamed = Vec::new();
        let mut left = Vec::new();
        for (i, layout) in std::mem::take(&mut group.temporaries).into_iter().enumerate() {
            let read = group.epilogue.iter().any(|op| op.inputs.contains(&Operand::Temporary(i)));
            if read && self.draw.below(4) != 0 {
                renamed.push(Operand::Temporary(left.len()));
                left.push(layout);
            } else {
                renamed.push(Operand::Output(group.outputs.len()));
                group.outputs.push(layout);
            }
        }
        group.temporaries = left;
        for op in &mut group.epilogue {
            for operand in op.inputs.iter_mut().chain(&mut op.outputs) {
                if let Operand::Temporary(i) = *operand {
                    *operand = renamed[i];
                }
            }
        }
        self.case.in_place = vec![None; group.outputs.len()];
        self.case
    }
}

/// A chain of 2 to 12 operators.
fn arbitrary(draw: &mut Draw, chain: Chain, dtype: DType) -> Case {
    let rows = *draw.choose(&[0, 1, 3, 20, 150]);
    let inner = [1, 2, 5, 17];
    let mut shape = vec![Extent::Bound(0)];
    for _ in 0..draw.below(3) {
        shape.push(Extent::Fixed(*draw.choose(&inner)));
    }
    // Some shapes have no rows, down to scalars.
    if draw.below(4) == 0 {
        shape.remove(0);
    }
    let group = Group {
        body: None,
        epilogue: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        temporaries: Vec::new(),
        constants: Vec::new(),
        random_stream: 0,
        precision: Precision::F32,
    };
    let case = Case { group, sizes: vec![rows], inputs: Vec::new(), in_place: Vec::new() };
    let operators = 2 + draw.below(if chain == Chain::Exact { 11 } else { 5 });
    let mut builder = Builder { draw, dtype, shape, case, values: Vec::new() };
    for _ in 0..operators {
        builder.operator(chain);
    }
    builder.finish()
}

/// Lets as many outputs as possible replace inputs.
fn in_place(mut case: Case) -> Case {
    for (i, output) in case.group.outputs.iter().enumerate() {
        let free = |k: &usize| case.group.inputs[*k] == *output && !case.in_place.contains(&Some(*k));
        case.in_place[i] = (0..case.inputs.len()).find(free);
    }
    case
}

fn bits(host: &Host) -> Vec<u64> {
    // All NaNs count as equal: IEEE 754 does not prescribe which one an operation gives.
    let of = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    match host {
        Host::F32(_) | Host::F64(_) => host.floats().into_iter().map(of).collect(),
        Host::Bool(values) => values.iter().map(|&value| u64::from(value)).collect(),
        Host::I32(_) | Host::I64(_) => panic!("chains have no integers"),
    }
}

/// Chains give the same bits as their operators one at a time, in the same precision.
///
/// WGSL leaves the order of sums, and the signs of zeros, to compilers.
fn gives_the_bits_of_single_operators<B: Backend>(backend: &B) {
    if backend.name() == "wgpu" {
        return;
    }
    let oracle = oracle(backend);
    let mut draw = Draw::new(2);
    let mut replaced = 0;
    for round in 0..400 {
        let dtype = if round % 4 == 0 { DType::F64 } else { DType::F32 };
        let case = arbitrary(&mut draw, Chain::Exact, dtype);
        let expected: Vec<_> = case.run(&oracle).unwrap().iter().map(bits).collect();
        let found: Vec<_> = case.run(backend).unwrap().iter().map(bits).collect();
        assert!(found == expected, "{:?} of {:?}", case.group, case.sizes);
        let case = in_place(case);
        replaced += case.in_place.iter().flatten().count();
        let found: Vec<_> = case.run(backend).unwrap().iter().map(bits).collect();
        assert!(found == expected, "in place ({:?}): {:?} of {:?}", case.in_place, case.group, case.sizes);
    }
    assert!(replaced > 100, "only {replaced} outputs were in place of inputs");
}

/// A reference that stores values in the types of the backend.
fn oracle(backend: &impl Backend) -> Reference {
    match backend.element_bytes(DType::F32) {
        4 => Reference::single(),
        _ => Reference::double(),
    }
}

/// If the last bits of functions differ, each operator at most doubles an error, and adds 5 roundings of its own.
fn agrees_on_smooth_chains<B: Backend>(backend: &B) {
    let mut draw = Draw::new(3);
    for _ in 0..400 {
        let case = in_place(arbitrary(&mut draw, Chain::Smooth, DType::F32));
        let expected = case.run(&Reference::double()).unwrap();
        let found = case.run(backend).unwrap();
        // Values are at most doubled too: they are 2 at the start, and constants are below 1.
        let growth = f64::from(1u32 << case.group.epilogue.len());
        let allowed = 5.0 * f64::from(f32::EPSILON / 2.0) * growth * (2.0 * growth);
        for (found, expected) in found.iter().zip(&expected) {
            for (found, expected) in found.floats().into_iter().zip(expected.floats()) {
                assert!((found - expected).abs() <= allowed, "{found} is not {expected}: {:?}", case.group);
            }
        }
    }
}

on_every_backend!(gives_the_bits_of_single_operators, agrees_on_smooth_chains);
