//! Generated programs: branches and loops, nested at random, around arithmetic that stays bounded.

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, If, Matmul, Number, Op, Program, Reduce, ReduceKind,
    Reshape, Scale, Softmax, Unary, UnaryKind, While,
};
use paddle_core::plan::Backend;
use paddle_core::program::{BlockId, DType, Dim, Site, Type, VarId};
use paddle_kernels::differences::{Compared, Differentiated};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::{Fed, on_grid};
use crate::gradients::{Run, assert_many, check, differentiate, feeds};
use crate::on_every_device;
use crate::programs::assert_close;

/// The shapes of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// `[_, WIDTH]`.
    Wide,
    /// `[_, 1]`.
    Narrow,
    /// `[]`.
    Scalar,
}

const WIDTH: i64 = 3;

type Value = (VarId, Shape);

struct Generator<'a> {
    program: Program,
    draw: &'a mut Draw,
    /// `[WIDTH, WIDTH]`.
    matrix: VarId,
}

impl Generator<'_> {
    fn append(&mut self, block: BlockId, op: impl Into<Op>, inputs: &[VarId]) -> VarId {
        let local: Vec<VarId> = inputs.iter().map(|&input| self.localize(block, input)).collect();
        self.program.append_op(block, op, &local, Site::default()).unwrap()[0]
    }

    fn localize(&mut self, block: BlockId, var: VarId) -> VarId {
        self.program.localize(block, var, Site::default()).unwrap()
    }

    fn unary(&mut self, block: BlockId, kind: UnaryKind, x: VarId) -> VarId {
        self.append(block, Unary::of(kind), &[x])
    }

    fn binary(&mut self, block: BlockId, kind: BinaryKind, x: VarId, y: VarId) -> VarId {
        self.append(block, Binary { kind }, &[x, y])
    }

    fn number(&mut self, block: BlockId, value: Number) -> VarId {
        let dtype = if let Number::Int(_) = value { DType::I64 } else { DType::F32 };
        self.append(block, Fill { value, ty: Type::scalar(dtype) }, &[])
    }

    /// Picks one of the values. The latest ones are picked more often.
    fn pick(&mut self, values: &[Value], shape: Shape) -> VarId {
        let fitting: Vec<VarId> =
            values.iter().filter(|value| value.1 == shape).map(|value| value.0).collect();
        let start = if self.draw.flip() { fitting.len().saturating_sub(2) } else { 0 };
        *self.draw.choose(&fitting[start..])
    }

    fn reduce(&mut self, block: BlockId, axes: &[i64], x: VarId) -> VarId {
        let op = Reduce { kind: ReduceKind::Mean, axes: axes.to_vec(), keep_dim: !axes.is_empty() };
        self.append(block, op, &[x])
    }

    fn reshape(&mut self, block: BlockId, dims: &[i64], x: VarId) -> VarId {
        let dims = dims.iter().copied().map(Dim::from).collect();
        self.append(block, Reshape { dims }, &[x])
    }

    /// Appends one or a few operators to a block. Their results are bounded by their inputs.
    fn arithmetic(&mut self, block: BlockId, values: &[Value]) -> Value {
        let (x, y) = (self.pick(values, Shape::Wide), self.pick(values, Shape::Wide));
        let (narrow, scalar) = (self.pick(values, Shape::Narrow), self.pick(values, Shape::Scalar));
        let kind = *self.draw.choose(&[BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul]);
        let operand = *self.draw.choose(&[y, narrow, scalar]);
        match self.draw.below(9) {
            0 => (self.unary(block, UnaryKind::Tanh, x), Shape::Wide),
            1 => (self.unary(block, UnaryKind::Relu, x), Shape::Wide),
            2 => (self.append(block, Softmax, &[x]), Shape::Wide),
            3 => {
                let matmul = Matmul { trans_x: false, trans_y: self.draw.flip() };
                let product = self.append(block, matmul, &[x, self.matrix]);
                (self.unary(block, UnaryKind::Tanh, product), Shape::Wide)
            }
            4 => (self.append(block, Scale { scale: -0.75, bias: 0.125 }, &[x]), Shape::Wide),
            5 => (self.reduce(block, &[1], x), Shape::Narrow),
            6 => {
                let mean = self.reduce(block, &[], x);
                (self.binary(block, BinaryKind::Mul, mean, scalar), Shape::Scalar)
            }
            7 => {
                let tall = self.reshape(block, &[WIDTH, 1], x);
                let tall = self.unary(block, UnaryKind::Tanh, tall);
                (self.reshape(block, &[WIDTH], tall), Shape::Wide)
            }
            _ => {
                let result = self.binary(block, kind, x, operand);
                (self.unary(block, UnaryKind::Tanh, result), Shape::Wide)
            }
        }
    }

    /// Fills a block.
    fn block(&mut self, block: BlockId, mut values: Vec<Value>, depth: usize) -> Vec<Value> {
        for _ in 0..1 + self.draw.below(3) {
            let made = match self.draw.below(if depth < 3 { 5 } else { 3 }) {
                3 => self.conditional(block, &values, depth),
                4 => self.while_loop(block, &values, depth),
                _ => vec![self.arithmetic(block, &values)],
            };
            values.extend(made);
        }
        values
    }

    /// An `if`, per row or on a scalar.
    fn conditional(&mut self, block: BlockId, values: &[Value], depth: usize) -> Vec<Value> {
        let per_row = self.draw.below(4) != 0;
        let tested = self.pick(values, if per_row { Shape::Narrow } else { Shape::Scalar });
        let bound = self.number(block, Number::Float(0.01));
        let kind = *self.draw.choose(&[CompareKind::GreaterThan, CompareKind::LessThan]);
        let condition = self.append(block, Compare { kind }, &[tested, bound]);
        let branches = self.program.create_branches(block, condition).unwrap();
        // A branch per row may not have a result without rows, as that would be one value for all rows.
        let shapes: &[Shape] = match (per_row, self.draw.flip()) {
            (true, true) => &[Shape::Wide, Shape::Narrow],
            (true, false) => &[Shape::Wide],
            (false, _) => &[Shape::Scalar, Shape::Wide],
        };
        for branch in branches {
            let inner = self.block(branch, values.to_vec(), depth + 1);
            let results: Vec<VarId> = shapes
                .iter()
                .map(|&shape| {
                    let result = self.pick(&inner, shape);
                    self.localize(branch, result)
                })
                .collect();
            self.program.set_results(branch, &results).unwrap();
        }
        let outputs =
            self.program.append_block_op(block, If, &[condition], &branches, Site::default()).unwrap();
        outputs.into_iter().zip(shapes.iter().copied()).collect()
    }

    /// A `while` of 0 to 3 iterations.
    fn while_loop(&mut self, block: BlockId, values: &[Value], depth: usize) -> Vec<Value> {
        let shapes: &[Shape] = match self.draw.below(3) {
            0 => &[Shape::Wide],
            1 => &[Shape::Wide, Shape::Wide],
            _ => &[Shape::Narrow, Shape::Scalar, Shape::Wide],
        };
        let mut initial = vec![self.number(block, Number::Int(0))];
        for &shape in shapes {
            let value = self.pick(values, shape);
            initial.push(self.localize(block, value));
        }
        let end = Number::Int(self.draw.below(4) as i64);
        let end = self.number(block, end);
        let condition = self.program.create_block(block, None).unwrap();
        let body = self.program.create_block(block, None).unwrap();
        let states = [condition, body].map(|inner| -> Vec<VarId> {
            let types: Vec<Type> = initial.iter().map(|&var| self.program.ty(var).clone()).collect();
            let parameter = |ty| self.program.create_block_parameter(inner, "state", ty).unwrap();
            types.into_iter().map(parameter).collect()
        });
        let goes_on = self.append(condition, Compare { kind: CompareKind::LessThan }, &[states[0][0], end]);
        self.program.set_results(condition, &[goes_on]).unwrap();

        let mut inner = values.to_vec();
        inner.extend(states[1][1..].iter().copied().zip(shapes.iter().copied()));
        let inner = self.block(body, inner, depth + 1);
        let mut results = vec![self.append(body, Scale { scale: 1.0, bias: 1.0 }, &[states[1][0]])];
        for &shape in shapes {
            let result = self.pick(&inner, shape);
            results.push(self.localize(body, result));
        }
        self.program.set_results(body, &results).unwrap();
        let op = While { limit: While::DEFAULT_LIMIT };
        let outputs =
            self.program.append_block_op(block, op, &initial, &[condition, body], Site::default()).unwrap();
        outputs[1..].iter().copied().zip(shapes.iter().copied()).collect()
    }
}

fn generate(draw: &mut Draw) -> Differentiated {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let mut input = |name: &str, ty| program.create_input(name, ty).unwrap();
    let values = vec![
        (input("a", Type::with_rows(DType::F32, batch, [WIDTH])), Shape::Wide),
        (input("b", Type::with_rows(DType::F32, batch, [WIDTH])), Shape::Wide),
        (input("c", Type::with_rows(DType::F32, batch, [1])), Shape::Narrow),
        (input("d", Type::scalar(DType::F32)), Shape::Scalar),
    ];
    let matrix = input("m", Type::new(DType::F32, [WIDTH, WIDTH]));
    let mut generator = Generator { program, draw, matrix };
    let values = generator.block(Program::GLOBAL, values, 0);
    let outputs = [Shape::Wide, Shape::Narrow, Shape::Scalar].map(|shape| generator.pick(&values, shape));
    let mut program = generator.program;
    program.set_outputs(&outputs).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    differentiate(program)
}

fn batch(differentiated: &Differentiated, rows: usize, draw: &mut Draw) -> Vec<Fed> {
    feeds(differentiated.program(), rows, draw, |draw, _, _, count| on_grid(draw, count, (-1.0, 1.0)))
}

#[test]
fn gradients_of_generated_programs_are_differences() {
    let mut draw = Draw::new(11);
    let mut checked = Compared::default();
    for _ in 0..100 {
        let differentiated = generate(&mut draw);
        for rows in [0, 1, 3] {
            checked.add(check(&differentiated, &batch(&differentiated, rows, &mut draw)));
        }
    }
    assert_many(checked, 2000);
}

fn generated_programs_agree<B: Backend + Clone>(backend: &B) {
    let mut draw = Draw::new(12);
    for _ in 0..100 {
        let differentiated = generate(&mut draw);
        let program = differentiated.program();
        let (mut oracle, mut run) =
            (Run::new(Reference::double(), program), Run::new(backend.clone(), program));
        for rows in [3, 40, 0, 1] {
            let feeds = batch(&differentiated, rows, &mut draw);
            assert_close(&run.outputs(&feeds), &oracle.outputs(&feeds), program);
        }
    }
}

on_every_device!(generated_programs_agree);
