//! The structure of gradient programs, as text. `UPDATE_GOLDEN=1` rewrites the files.

use std::path::Path;

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, If, Matmul, Number, Program, Reduce, ReduceKind, Softmax,
    Unary, UnaryKind, UniformRandom,
};
use paddle_core::passes::backward::{backward, gradients};
use paddle_core::program::{BlockId, BuildError, DType, Place, Site, Type, VarId};
use paddle_core::text;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Compares a program with its file, and checks that it is well-formed and reads back.
fn check(name: &str, program: &Program) {
    program.verify().unwrap_or_else(|error| panic!("{name}: {error}\n{program}"));
    let text = program.to_string();
    assert_eq!(text::parse(&text).expect("a printed program parses").to_string(), text);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden(name), &text).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(golden(name)).unwrap_or_default();
    assert!(text == expected, "{name} has changed; if it should, run with UPDATE_GOLDEN=1\n{text}");
}

/// Reads a program that is written as text.
fn source(name: &str) -> Program {
    let text = std::fs::read_to_string(golden(name)).expect("the file is in the repository");
    let program = text::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(program.to_string(), text, "{name} is not as it prints");
    program
}

/// Appends operators that stand nowhere in a source.
struct Block<'a>(&'a mut Program, BlockId);

impl Block<'_> {
    fn op(&mut self, op: impl Into<paddle_core::ops::Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        let inputs: Vec<VarId> = inputs
            .iter()
            .map(|&input| self.0.localize(self.1, input, Site::default()))
            .collect::<Result<_, _>>()?;
        Ok(self.0.append_op(self.1, op, &inputs, Site::default())?[0])
    }

    fn binary(&mut self, kind: BinaryKind, x: VarId, y: VarId) -> Result<VarId, BuildError> {
        self.op(Binary { kind }, &[x, y])
    }

    fn fc(&mut self, x: VarId, name: &str, [from, to]: [i64; 2]) -> Result<VarId, BuildError> {
        let init = UniformRandom {
            min: -0.5,
            max: 0.5,
            fan: None,
            path: String::new(),
            ty: Type::new(DType::F32, [from, to]),
        };
        let w = self.0.create_parameter(&format!("{name}.w"), init)?;
        let zeros = Fill { value: Number::Float(0.0), ty: Type::new(DType::F32, [to]) };
        let b = self.0.create_parameter(&format!("{name}.b"), zeros)?;
        let product = self.op(Matmul { trans_x: false, trans_y: false }, &[x, w])?;
        self.binary(BinaryKind::Add, product, b)
    }
}

const MEAN: Reduce = Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false };

#[test]
fn linear_regression() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let x = program.create_input("x", Type::with_rows(DType::F32, batch, [13]))?;
    let y = program.create_input("y", Type::with_rows(DType::F32, batch, [1]))?;
    let mut global = Block(&mut program, Program::GLOBAL);
    let price = global.fc(x, "price", [13, 1])?;
    let error = global.binary(BinaryKind::Sub, price, y)?;
    let square = global.op(Unary::of(UnaryKind::Square), &[error])?;
    let cost = global.op(MEAN, &[square])?;
    program.rename(price, "price");
    program.rename(cost, "cost");
    program.set_outputs(&[cost])?;
    check("linear_regression.txt", &program);
    backward(&mut program)?;
    check("linear_regression.backward.txt", &program);
    Ok(())
}

/// `if x > 15.0 { let d = x + y; (d, softmax(d)) } else { let d = fc(z, 1); (d, d + 1.0) }`
#[test]
fn if_per_row() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let column = Type::with_rows(DType::F32, batch, [1]);
    let x = program.create_input("x", column.clone())?;
    let y = program.create_input("y", Type::scalar(DType::F32))?;
    let z = program.create_input("z", column)?;
    let number = |value| Fill { value: Number::Float(value), ty: Type::scalar(DType::F32) };
    let mut global = Block(&mut program, Program::GLOBAL);
    let bound = global.op(number(15.0), &[])?;
    let condition = global.op(Compare { kind: CompareKind::GreaterThan }, &[x, bound])?;
    let [yes, no] = program.create_branches(Program::GLOBAL, condition)?;

    let mut block = Block(&mut program, yes);
    let d = block.binary(BinaryKind::Add, x, y)?;
    let softmax = block.op(Softmax, &[d])?;
    program.set_results(yes, &[d, softmax])?;

    let mut block = Block(&mut program, no);
    let d = block.fc(z, "d", [1, 1])?;
    let one = block.op(number(1.0), &[])?;
    let more = block.binary(BinaryKind::Add, d, one)?;
    program.set_results(no, &[d, more])?;

    let outputs = program.append_block_op(Program::GLOBAL, If, &[condition], &[yes, no], Site::default())?;
    program.rename(outputs[0], "o1");
    program.rename(outputs[1], "o2");
    let mut forward = program.clone();
    forward.set_outputs(&outputs)?;
    check("if_per_row.txt", &forward);

    let mut global = Block(&mut program, Program::GLOBAL);
    let product = global.binary(BinaryKind::Mul, outputs[0], outputs[1])?;
    let cost = global.op(MEAN, &[product])?;
    program.set_outputs(&[cost])?;
    let parameters: Vec<VarId> = program.parameters().collect();
    let wanted = [&[x, y, z][..], &parameters].concat();
    let found = gradients(&mut program, &wanted)?;
    assert!(found.iter().all(Option::is_some));
    check("if_per_row.gradients.txt", &program);
    Ok(())
}

#[test]
fn loops_and_branches_inside_one_another() {
    for name in ["while_scalar", "if_in_while", "while_in_if"] {
        let mut program = source(&format!("{name}.txt"));
        backward(&mut program).unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&format!("{name}.backward.txt"), &program);
    }
}

/// Appends the gradients of all parameters to a text and returns it from the first backward operator on.
fn differentiated(text: &str) -> Result<String, String> {
    let mut program = text::parse(text).map_err(|error| error.to_string())?;
    backward(&mut program).map_err(|error| error.to_string())?;
    program.verify().map_err(|error| error.to_string())?;
    let text = program.to_string();
    let start = text.find("    cost@GRAD").ok_or("no gradient")?;
    Ok(text[start..].to_string())
}

/// `seen` is influenced by the parameter, but the cost is not by `seen`.
#[test]
fn state_that_does_not_lead_to_the_cost_is_not_differentiated() {
    let text = "program {
      parameter w: f32[] = fill_constant(value=0.5)
      block 0 (x: f32[]) {
        seen_end: f32[], h_end: f32[] = while(x, x) {
          block 1 (seen: f32[], h: f32[]) { more: bool[] = less_than(seen, w) yield more }
          block 2 (seen_1: f32[], h_1: f32[]) {
            next: f32[] = elementwise_mul(h_1, w)
            sum: f32[] = elementwise_add(seen_1, next)
            yield sum, next
          }
        }
        cost: f32[] = square(h_end)
        return cost, seen_end
      }
    }";
    let expected = "    cost@GRAD: f32[] = fill_constant(value=1.0) [backward]
    h_end@GRAD: f32[] = square_grad(h_end, cost@GRAD) [backward]
    loop_grad: f32[], w@GRAD: f32[] = loop_grad(h_end@GRAD) [backward] {
      block 3 of block 2 (next@GRAD: f32[]) {
        h_1@GRAD: f32[] = elementwise_mul(next@GRAD, w)
        w@GRAD_1: f32[] = elementwise_mul(next@GRAD, h_1)
        yield h_1@GRAD, w@GRAD_1
      }
    }
    return cost, seen_end
  }
}
";
    assert_eq!(differentiated(text).as_deref(), Ok(expected));
}

/// A state that the cost reads only through another one starts with a gradient of zero.
#[test]
fn states_that_pass_through_one_another() {
    let text = "program {
      parameter w: f32[] = fill_constant(value=0.5)
      block 0 (x: f32[], go: bool[]) {
        a_end: f32[], b_end: f32[] = while(x, w) {
          block 1 (a: f32[], b: f32[]) { yield go }
          block 2 (a_1: f32[], b_1: f32[]) {
            sum: f32[] = elementwise_add(a_1, b_1)
            yield b_1, sum
          }
        }
        cost: f32[] = square(b_end)
        return cost
      }
    }";
    let expected = "    cost@GRAD: f32[] = fill_constant(value=1.0) [backward]
    b_end@GRAD: f32[] = square_grad(b_end, cost@GRAD) [backward]
    fill_constant: f32[] = fill_constant(value=0.0) [backward]
    loop_grad: f32[], w@GRAD: f32[] = loop_grad(fill_constant, b_end@GRAD) [backward] {
      block 3 of block 2 (b_1@GRAD: f32[], sum@GRAD: f32[]) {
        b_1@GRAD_1: f32[] = elementwise_add(b_1@GRAD, sum@GRAD)
        yield sum@GRAD, b_1@GRAD_1
      }
    }
    return cost
  }
}
";
    assert_eq!(differentiated(text).as_deref(), Ok(expected));
}

/// Of the results of an `if`, the one that has no derivative leaves no gradient blocks behind.
#[test]
fn what_has_no_derivative_ends_the_path() {
    let program = |result: &str| {
        format!(
            "program {{
              parameter w: f32[] = fill_constant(value=0.5)
              block 0 (x: f32[], c: bool[]) {{
                a: f32[], b: f32[] = if(c) {{
                  block 1 {{
                    floor: f32[] = elementwise_floordiv(w, x)
                    product: f32[] = elementwise_mul(w, x)
                    yield floor, product
                  }}
                  block 2 {{ yield x, x }}
                }}
                cost: f32[] = square({result})
                return cost
              }}
            }}"
        )
    };
    assert!(differentiated(&program("b")).is_ok_and(|text| text.contains("w@GRAD")));
    let expected = "parameter `w` has no differentiable path to the cost, so it cannot be trained: \
                    `elementwise_floordiv` has no derivative; run the network with `infer`, or train it on a \
                    distance such as `mean(square(x - y))`; if it is to stay as it is, say so: `stop_gradient(..)`, \
                    or `freeze` it";
    assert_eq!(differentiated(&program("a")), Err(expected.to_string()));
}

#[test]
fn a_program_is_differentiated_once_and_for_parameters_and_inputs() {
    let mut program = source("while_scalar.txt");
    let h = program.find("h_end").expect("the result of the loop");
    let error = gradients(&mut program, &[h]).expect_err("a value of an operator");
    assert_eq!(error.to_string(), "`h_end` is neither a parameter nor a floating-point input");
    backward(&mut program).expect("the first time");
    let error = backward(&mut program).expect_err("the second time");
    assert_eq!(error.to_string(), "the program has its gradients already");
}

/// A cost that cannot be trained is reported where it is computed.
#[test]
fn a_cost_with_rows_has_a_place() {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let x = program.create_input("x", Type::with_rows(DType::F32, batch, [1])).unwrap();
    let place = Place { file: program.create_file("src/model.rs"), line: 7, column: 5, layer: None };
    let site = Site { place: Some(place), ..Site::default() };
    let cost = program.append_op(Program::GLOBAL, Unary::of(UnaryKind::Square), &[x], site).unwrap();
    program.set_outputs(&cost).unwrap();
    let error = gradients(&mut program, &[x]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "src/model.rs:7:5: the cost `square` is f32[_, 1], but training needs a floating-point scalar; \
         reduce it with `mean` or `sum`"
    );
}

/// Ends soon only if the operators are not gone through for each one.
#[test]
fn a_long_chain() {
    let mut program = Program::new();
    let x = program.create_input("x", Type::scalar(DType::F32)).unwrap();
    let tanh = Unary::of(UnaryKind::Tanh);
    let mut cost = x;
    for _ in 0..20_000 {
        cost = program.append_op(Program::GLOBAL, tanh, &[cost], Site::default()).unwrap()[0];
    }
    program.set_outputs(&[cost]).unwrap();
    assert!(gradients(&mut program, &[x]).unwrap()[0].is_some());
    assert_eq!(
        backward(&mut program).unwrap_err().message,
        "the network has no parameters to train; run it with `infer`"
    );
}
