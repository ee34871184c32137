//! Operators of the user's own: definitions, the shape rule, the gradient.

use paddle_core::ops::{Arguments, Attribute, AttributeValue, Custom, Definition, LinkedKernel, Op, Program};
use paddle_core::passes::backward::gradients;
use paddle_core::passes::link::link;
use paddle_core::program::{BuildError, DType, Site, Type, VarId};
use paddle_core::text;

/// `(x: f32[_, D], y: f32[D]) -> f32[_, 2 * D]`
const TURN: &str = "program {
  rows _
  size D
  block 0 (x: f32[_, D], y: f32[D], out: f32[_, 2 * D], grad: f32[_, 2 * D]) {
    reshape2: f32[_, 2, D] = reshape2(grad, dims=[2, D])
    reduce_sum: f32[_, D] = reduce_sum(reshape2, axes=[1])
    elementwise_mul: f32[_, D] = elementwise_mul(reduce_sum, y)
    reduce_sum_1: f32[D] = reduce_sum(elementwise_mul, axes=[0])
    return elementwise_mul, reduce_sum_1
  }
}
";

fn definition(text: &str) -> Result<Definition, String> {
    Definition::new(text::parse(text).unwrap()).map_err(|error| error.to_string())
}

fn turn() -> Custom {
    Custom {
        name: "turn".into(),
        row_wise: true,
        arguments: Arguments::default(),
        definition: definition(TURN).unwrap(),
        kernel: LinkedKernel::none(),
    }
}

/// A program with `turn` of values of these types.
fn apply(types: &[Type], program: &mut Program) -> Result<VarId, BuildError> {
    let inputs: Vec<VarId> = types
        .iter()
        .enumerate()
        .map(|(i, ty)| program.create_input(&format!("in{i}"), ty.clone()))
        .collect::<Result<_, _>>()?;
    Ok(program.append_op(Program::GLOBAL, turn(), &inputs, Site::default())?[0])
}

#[test]
fn types_are_unified() {
    let mut program = Program::new();
    let (batch, t) = (program.create_rows("_"), program.create_symbol("T"));
    let t = paddle_core::program::Dim::symbol(t);
    let types = [
        Type { dims: vec![t.clone()], ..Type::with_rows(DType::F32, batch, []) },
        Type { dims: vec![t], ..Type::new(DType::F32, []) },
    ];
    let out = apply(&types, &mut program).unwrap();
    assert_eq!(program.show(program.ty(out)), "f32[_, 2 * T]");
    assert_eq!(turn().signature(), "(x: f32[_, D], y: f32[D]) -> f32[_, 2 * D], row by row");
}

#[test]
fn what_does_not_fit_is_named() {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let rows = |dtype, dims: &[i64]| Type::with_rows(dtype, batch, dims.iter().copied());
    let dense = |dims: &[i64]| Type::new(DType::F32, dims.iter().copied());
    for (types, expected) in [
        (
            vec![rows(DType::F32, &[4]), dense(&[3])],
            "`in1` is f32[3], but `turn` needs f32[D], where `D` is 4",
        ),
        (
            vec![rows(DType::I64, &[4]), dense(&[4])],
            "`in0` is i64[_, 4], but `turn` needs f32[_, D], where `D` is 4",
        ),
        (vec![dense(&[4, 4]), dense(&[4])], "`in0` is f32[4, 4], but `turn` needs f32[_, D]"),
        (vec![rows(DType::F32, &[4])], "`turn` takes 2 inputs, not 1"),
    ] {
        let error = apply(&types, &mut program.clone()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn the_gradient_is_that_of_the_definition() {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let types = [Type::with_rows(DType::F32, batch, [4]), Type::new(DType::F32, [4])];
    let out = apply(&types, &mut program).unwrap();
    let mean = Op::from_attributes("reduce_mean", Vec::new()).unwrap();
    let cost = program.append_op(Program::GLOBAL, mean, &[out], Site::default()).unwrap();
    program.set_outputs(&cost).unwrap();
    let inputs = program.inputs().to_vec();
    let found: Vec<VarId> = gradients(&mut program, &inputs).unwrap().into_iter().flatten().collect();
    program.set_outputs(&found).unwrap();
    program.verify().unwrap();
    let text = program.to_string();
    assert!(text.contains("f32[_, 2, 4] = reshape2("), "{text}");
    assert_eq!(text::parse(&text).unwrap().to_string(), text);
}

#[test]
fn definitions_are_checked() {
    let of = |block: &str| format!("program {{\n  rows _\n  size D\n  size E\n  {block}\n}}\n");
    for (block, expected) in [
        ("block 0 {\n  }", "a definition has the operator's output among its inputs"),
        ("block 0 (x: f32[_, D], out: f32[_, E]) {\n  }", "the size `E` is the dimension of no input"),
        ("block 0 (x: f32[_, 2 * D], out: f32[_, D]) {\n  }", "the size `D` is the dimension of no input"),
        ("block 0 (x: f32[D, E], out: f32[D * D * E]) {\n  }", "a size is a product of more than 2 others"),
        ("block 0 (x: f32[D, E], out: f32[_]) {\n  }", "the output has rows, but no input has"),
        (
            "block 0 (x: f32[D], out: f32[D], grad: f32[D]) {\n    y: f32[] = reduce_sum(grad)\n    return y\n  }",
            "`x` is f32[D], but its gradient is f32[]",
        ),
        (
            "block 0 (x: f32[D], y: f32[D], out: f32[D], grad: f32[D]) {\n    return grad\n  }",
            "the gradient has 1 values, but there are 2 floating-point inputs",
        ),
        (
            "block 0 (x: f32[D], out: f32[], grad: f32[D]) {\n    return grad\n  }",
            "the gradient of the output has the type of the output",
        ),
        (
            "parameter w: f32[3] = fill_constant(value=0.0)\n  block 0 (x: f32[D], out: f32[D], grad: f32[D]) {\n    return grad\n  }",
            "the gradient of an operator has neither blocks nor parameters",
        ),
        (
            "block 0 (x: f32[D], out: f32[D], grad: f32[D]) {\n    r: f32[4] = gaussian_random(mean=0.0, std=1.0)\n    return grad\n  }",
            "`gaussian_random` is not pure",
        ),
    ] {
        let error = definition(&of(block)).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{block}");
    }
}

#[test]
fn an_operator_without_gradient_says_so() {
    let text = "program {\n  size D\n  block 0 (x: f32[D], out: f32[]) {\n  }\n}\n";
    let op = Custom { definition: definition(text).unwrap(), row_wise: false, ..turn() };
    let mut program = Program::new();
    let x = program.create_input("x", Type::new(DType::F32, [3])).unwrap();
    let out = program.append_op(Program::GLOBAL, op, &[x], Site::default()).unwrap();
    program.set_outputs(&out).unwrap();
    let error = gradients(&mut program, &[x]);
    // The cost does not depend on it in a way that has a derivative.
    assert_eq!(error.unwrap(), [None]);
}

#[test]
fn what_is_linked_reaches_gradients_too() {
    let inner = text::parse(TURN).unwrap().to_string();
    let plain = "program {\n  rows _\n  size D\n  block 0 (x: f32[_, D], out: f32[_, D]) {\n  }\n}\n";
    let plain = Custom { name: "back".into(), definition: definition(plain).unwrap(), ..turn() };
    let mut gradient =
        text::parse(&inner.replace("2 * D", "D").replace("[2, D]", "[1, D]").replace("_, 2, D", "_, 1, D"))
            .unwrap();
    let grad = gradient.inputs()[3];
    gradient.append_op(Program::GLOBAL, plain, &[grad], Site::default()).unwrap();
    let op = Custom { definition: Definition::new(gradient).unwrap(), ..turn() };
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let x = program.create_input("x", Type::with_rows(DType::F32, batch, [3])).unwrap();
    let y = program.create_input("y", Type::new(DType::F32, [3])).unwrap();
    program.append_op(Program::GLOBAL, op, &[x, y], Site::default()).unwrap();
    let mut seen = Vec::new();
    link(&mut program, &mut |custom: &Custom| -> Result<LinkedKernel, ()> {
        seen.push(custom.name.clone());
        Ok(LinkedKernel::new(7_i32))
    })
    .unwrap();
    assert_eq!(seen, ["turn", "back"]);
    let Op::Custom(custom) = &program.block(Program::GLOBAL).ops[0].op else { panic!("the only operator") };
    assert_eq!((custom.kernel.get::<i32>(), custom.kernel.get::<i64>()), (Some(&7), None));
}

#[test]
fn hostile_definitions_are_refused() {
    for text in ["", "program {", "program {\n  block 0 {\n  }\n}\n", "custom(x)"] {
        assert_eq!(Definition::from_attribute(&Attribute::Text(text.into())), None);
    }
}
