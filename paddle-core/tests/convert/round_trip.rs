//! What is written in our own dialect is read back as it was.

use std::collections::BTreeSet;
use std::num::NonZero;

use paddle_core::convert::{from_wire, to_wire};
use paddle_core::ops::{
    Adam, Assign, BatchNorm, Binary, BinaryKind, Expand, Fill, Foreign, GaussianRandom, Number, Op,
    ParameterUse, Program, Reduce, ReduceKind, Reshape, Scale, Sgd, Size, Softmax, UniformRandom,
};
use paddle_core::passes::ShardedTraining;
use paddle_core::passes::backward::backward;
use paddle_core::passes::optimize::{Settings, Update, optimize};
use paddle_core::program::{DType, Dim, ParameterOptions, Place, Role, Site, Type};
use paddle_core::text;
use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc};

use crate::golden;

/// Through the messages and their bytes.
pub(crate) fn check(name: &str, program: &Program) {
    program.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
    let wire = to_wire(program);
    let decode = |desc: &ProgramDesc| ProgramDesc::decode(&desc.encode_to_vec()).expect("it is whole");
    let (main, startup) = (decode(&wire.main), decode(&wire.startup));
    assert!((&main, &startup) == (&wire.main, &wire.startup), "{name}");
    let again = from_wire(&main, Some(&startup)).unwrap_or_else(|error| panic!("{name}: {error}\n{program}"));
    let print = |program: &Program| text::with_places(program).to_string();
    assert_eq!(print(&again), print(program), "{name}");
    assert!(to_wire(&again) == wire, "{name}");
}

/// What the startup part says of parameters is lost without it, but not which of them a gradient does not move.
#[test]
fn statistics_are_not_trained_without_a_startup_part() {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let x = Type { rows: Some(rows), ..Type::new(DType::F32, [3, 2, 2]) };
    let x = program.create_input("x", x).unwrap();
    let parameter = |program: &mut Program, name, trainable| {
        let initializer = Fill::zeros(Type::new(DType::F32, [3])).into();
        let options = ParameterOptions { trainable, ..Default::default() };
        program.create_parameter(name, ParameterUse { initializer, options, site: Site::default() }).unwrap()
    };
    let names = ["scale", "bias", "mean", "variance"];
    let all = names.map(|name| parameter(&mut program, name, ["scale", "bias"].contains(&name)));
    let op = BatchNorm { epsilon: 1e-5, momentum: 0.9, is_test: true };
    let inputs: Vec<_> = std::iter::once(x).chain(all).collect();
    let y = program.append_op(Program::GLOBAL, Op::from(op), &inputs, Site::default()).unwrap()[0];
    program.set_outputs(&[y]).unwrap();
    let again = from_wire(&to_wire(&program).main, None).unwrap();
    let trained = names.map(|name| again.parameter_options(again.find(name).unwrap()).trainable);
    assert_eq!(trained, [true, true, false, false]);
}

#[test]
fn programs_with_control_flow_and_gradients() {
    for (name, program) in golden() {
        check(&name, &program);
    }
}

#[test]
fn every_operator() {
    for sample in Op::samples() {
        let program = sample.program().expect("a sample is a program");
        check(&format!("{sample:?}"), &program);
    }
}

#[test]
fn training() -> Result<(), Box<dyn std::error::Error>> {
    for (name, mut program) in golden() {
        let has_cost = program.outputs().first().is_some_and(|&cost| program.ty(cost).is_scalar());
        if !has_cost || !program.gradients().is_empty() {
            continue;
        }
        backward(&mut program)?;
        check(&name, &program);
        optimize(&mut program, &Settings::default(), &|update| {
            let inputs = [update.pair.parameter, update.pair.gradient, update.learning_rate];
            update.program.append_op(Program::GLOBAL, Sgd {}, &inputs, update.site).map(drop)
        })?;
        check(&name, &program);
    }
    Ok(())
}

/// In any order, of any value of the outermost block, also where one parameter has two.
#[test]
fn gradients_in_their_order() -> Result<(), Box<dyn std::error::Error>> {
    let source = |gradients: &[&str]| {
        let lines: String = gradients.iter().map(|pair| format!("  gradient {pair}\n")).collect();
        format!(
            "program {{\n  \
               parameter a: f32[2] = fill_constant(value=0.0)\n  \
               parameter b: f32[2] = fill_constant(value=0.0)\n{lines}  \
               block 0 (x: f32[2]) {{\n    \
                 da: f32[2] = tanh(x) [backward]\n    \
                 db: f32[2] = relu(x) [optimize]\n    \
                 return da, db\n  }}\n}}\n"
        )
    };
    let orders: [&[&str]; 7] = [
        &["a -> da", "b -> da"],
        &["b -> da", "a -> da"],
        &["b -> db", "a -> da"],
        &["a -> x"],
        &["b -> b", "a -> b"],
        &["a -> da", "a -> db"],
        &["b -> da"],
    ];
    for gradients in orders {
        let source = source(gradients);
        let program = text::parse(&source)?;
        assert_eq!(program.to_string(), source);
        check(&source, &program);
    }
    // Those that operators say in the order of the parameters are not written twice.
    let is_listed = |gradients| {
        let wire = to_wire(&text::parse(&source(gradients)).expect("a program"));
        wire.main.blocks[0].ops[0].attr("gradients").is_some()
    };
    assert!(!is_listed(orders[0]) && is_listed(orders[1]));
    Ok(())
}

/// The two programs of a step in shards, which say how many these are.
#[test]
fn training_in_shards() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut network) =
        golden().into_iter().find(|(name, _)| name.ends_with("while_scalar.txt")).ok_or("no such file")?;
    network.set_shards(NonZero::new(3).ok_or("none")?);
    check("the network", &network);
    let batch = network.find_rows("_");
    let settings = Settings::default();
    let rule = |update: &mut Update<'_>| update.apply(Adam::default());
    let step = ShardedTraining::new(&network, batch, &settings, &|_| false, &rule)?;
    for (name, program) in [("compute", &step.compute), ("update", &step.update)] {
        assert_eq!(program.shards().get(), 3, "{name}");
        check(name, program);
    }
    Ok(())
}

/// Row spaces, symbols, polynomials of them, and numbers that no `FLOAT` holds.
#[test]
fn exact_types_and_numbers() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let t = program.create_symbol("T");
    let batch = program.create_rows("_");
    let tokens = program.create_rows("tokens");
    let vocabulary = program.create_symbol("crate::VOCABULARY<A, B>");
    let (t, v) = (Dim::symbol(t), Dim::symbol(vocabulary));
    let twice = (&t * &Dim::from(2))?;
    let half = (&v + &Dim::from(1))?.floor_div(&Dim::from(2)).ok_or("not divisible")?;
    let ty =
        |rows, dims: &[&Dim]| Type { dtype: DType::F64, rows, dims: dims.iter().copied().cloned().collect() };

    let x = program.create_input("x", ty(Some(batch), &[&twice, &half]))?;
    let words = program.create_input("words", ty(Some(tokens), &[&t]))?;
    let size = program.create_input("size", ty(None, &[&Dim::symbol(program.row_space(batch).size)]))?;
    let init = GaussianRandom {
        mean: 0.1,
        std: 1e-300,
        fan: None,
        path: String::new(),
        ty: ty(None, &[&v, &Dim::from(64)]),
    };
    program.create_parameter("unused.w", init)?;
    let init = UniformRandom { min: -0.1, max: 0.1, fan: None, path: String::new(), ty: ty(None, &[&half]) };
    let w = program.create_parameter("w", init)?;
    let init = Fill { value: Number::Int(1), ty: Type::new(DType::I64, [3]) };
    program.create_parameter("steps", init)?;

    let mut op = |op: Op, inputs: &[_]| {
        Ok::<_, paddle_core::program::BuildError>(
            program.append_op(Program::GLOBAL, op, inputs, Site::default())?[0],
        )
    };
    let scaled = op(Scale { scale: 0.1, bias: f64::MIN_POSITIVE }.into(), &[x])?;
    let sum = op(Binary { kind: BinaryKind::Add }.into(), &[scaled, w])?;
    let flat = op(Reshape { dims: vec![(&half * &twice)?] }.into(), &[sum])?;
    let total = op(Reduce { kind: ReduceKind::Sum, axes: vec![], keep_dim: true }.into(), &[flat])?;
    let count = op(Size { axes: vec![0] }.into(), &[flat])?;
    let spread = op(Expand { axes: vec![], keep_dim: true }.into(), &[total, flat])?;
    let mut outputs = vec![words, size, count, spread];
    for (value, dtype) in [
        (Number::Float(0.1), DType::F32),
        (Number::Float(f64::NEG_INFINITY), DType::F64),
        (Number::Float(-0.0), DType::F64),
        (Number::Int(-3), DType::F32),
        (Number::Int(i64::MIN), DType::I64),
        (Number::Int(7), DType::I32),
        (Number::Bool(true), DType::Bool),
    ] {
        outputs.push(op(Fill { value, ty: Type { dtype, ..ty(Some(batch), &[&half]) } }.into(), &[])?);
        outputs.push(op(Fill { value, ty: Type::new(dtype, [2, 0]) }.into(), &[])?);
    }
    program.set_outputs(&outputs)?;
    check("exact", &program);
    Ok(())
}

/// Names that are taken, for the moment or by the dialect; places; one value that is fetched twice.
#[test]
fn names_places_and_repeated_results() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let feed = program.create_input("feed", Type::with_rows(DType::F32, batch, [4]))?;
    let label = program.create_input("fetch", Type::with_rows(DType::I64, batch, [1]))?;
    let file = program.create_file("C:\\models\\a b.rs");
    let place = |line, role| Site { role, place: Some(Place { file, line, column: 80, layer: None }) };
    let both = program.append_op(
        Program::GLOBAL,
        paddle_core::ops::SoftmaxWithCrossEntropy::HARD,
        &[feed, label],
        place(1, Role::Loss),
    )?;
    program.rename(both[0], "x");
    program.rename(both[1], "softmax_with_cross_entropy");
    program.rename(both[0], "softmax_with_cross_entropy_1");
    let softmax = program.append_op(Program::GLOBAL, Softmax, &[both[0]], place(2, Role::Forward))?[0];
    program.rename(softmax, "a \"quoted\" name: @GRAD");
    let copy = program.append_op(Program::GLOBAL, Assign, &[softmax], place(u32::MAX, Role::Optimize))?[0];
    program.rename(copy, "~");
    program.set_outputs(&[copy, copy, feed, both[1]])?;
    check("names", &program);
    Ok(())
}

#[test]
fn an_operator_that_is_not_known() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let batch = program.create_rows("_");
    let ty = Type::with_rows(DType::F32, batch, [4]);
    let x = program.create_input("x", ty.clone())?;
    let desc = OpDesc::new("swirl")
        .with_input("X", ["", "@EMPTY@", ""])
        .with_input("Mask", [""; 0])
        .with_output("Out", [""])
        .with_output("Length", ["", "@EMPTY@"])
        .with_attr(OpAttr::float("angle", 0.5));
    let types = vec![ty, Type::scalar(DType::I64)];
    let op = Foreign { name: "swirl".into(), desc: desc.encode_to_vec(), types };
    let outputs = program.append_op(Program::GLOBAL, op, &[x, x], Site::default())?;
    program.set_outputs(&outputs)?;
    check("foreign", &program);

    let wire = to_wire(&program).main;
    let swirl = wire.blocks[0].ops.iter().find(|op| op.r#type == "swirl").ok_or("it is kept")?;
    assert_eq!(swirl.input("X"), ["x", "@EMPTY@", "x"]);
    assert_eq!(swirl.output("Length"), ["foreign_1", "@EMPTY@"]);
    assert_eq!(swirl.attr_float("angle"), Ok(Some(0.5)));
    Ok(())
}

/// Every operator but those that own blocks or are foreign is one of PaddlePaddle's or has a name of ours; no name of
/// PaddlePaddle's means something else.
#[test]
fn names_of_operators() {
    // The names of the operators that PaddlePaddle registers, of gradients too.
    let theirs: BTreeSet<&str> = include_str!("operators.txt").split_whitespace().collect();
    let mut all: Vec<(String, Program)> = golden();
    for sample in Op::samples() {
        all.push((format!("{sample:?}"), sample.program().expect("a sample is a program")));
    }
    for (name, program) in all {
        let wire = to_wire(&program);
        for op in wire.main.blocks.iter().chain(&wire.startup.blocks).flat_map(|block| &block.ops) {
            let known = theirs.contains(op.r#type.as_str()) || op.r#type.starts_with("rust.");
            assert!(known, "{name}: {}", op.r#type);
        }
    }
}
