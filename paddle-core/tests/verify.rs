//! Every way in which a program is not well-formed is found, in its block and at its operator.

use paddle_core::ops::{Assign, If, Op, Program, Scale};
use paddle_core::passes::backward::backward;
use paddle_core::program::{BlockId, BuildError, DType, Place, Site, Type, VerifyError};
use paddle_core::text;

/// The violations of a text, as "block.operator: message".
fn violations(text: &str) -> Vec<String> {
    let program = text::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let Err(VerifyError { violations, .. }) = program.verify() else {
        return Vec::new();
    };
    let one = |violation: &paddle_core::program::Violation| {
        let operator = violation.operator.map_or("-".to_string(), |operator| operator.to_string());
        format!("{}.{operator}: {}", violation.block.0, violation.message)
    };
    violations.iter().map(one).collect()
}

/// A program around the lines of its global block.
#[track_caller]
fn finds(lines: &str, expected: &[&str]) {
    let head = "rows _ rows N parameter w: f32[3] = fill_constant(value=0.0)";
    let inputs = "(x: f32[_, 3], y: f32[N, 3], v: f32[3], c: bool[_], s: bool[])";
    assert_eq!(violations(&format!("program {{ {head} block 0 {inputs} {{ {lines} }} }}")), expected);
}

#[test]
fn a_program_as_it_should_be() {
    finds("a: f32[_, 3] = tanh(x) b: f32[_, 3] = elementwise_add(a, w) return b, x, w", &[]);
}

#[test]
fn values_are_written_once_and_before_they_are_read() {
    finds(
        "a: f32[_, 3] = tanh(b) b: f32[_, 3] = tanh(x) return b",
        &["0.0: `b` is read before it is written"],
    );
    finds("a: f32[_, 3] = tanh(a) return a", &["0.0: `a` is read before it is written"]);
    finds("a: f32[_, 3] = tanh(x) a: f32[_, 3] = relu(x)", &["0.1: `a` is written twice"]);
    // The result of an `if` is not there while its blocks run.
    finds(
        "o: f32[3] = if(s) { block 1 { a: f32[3] = tanh(o) yield a } block 2 { yield v } }",
        &["1.0: `o` is read before it is written"],
    );
}

#[test]
fn values_stay_in_their_blocks() {
    let branches = "o: f32[3] = if(s) { block 1 { a: f32[3] = tanh(v) yield a } block 2 { yield v } }";
    finds(branches, &[]);
    finds(&format!("{branches} b: f32[3] = relu(a)"), &["0.1: `a` is read out of its block"]);
    finds(&format!("{branches} return a"), &["0.1: `a` is read out of its block"]);
    finds(
        "o: f32[3] = if(s) { block 1 { a: f32[3] = tanh(v) yield a } block 2 { yield a } }",
        &["2.0: `a` is read out of its block"],
    );
}

#[test]
fn types_are_those_of_the_shape_rules() {
    finds("a: f32[_, 4] = tanh(x)", &["0.0: `a` is f32[_, 4] here, but `tanh` gives f32[_, 3]"]);
    finds("a: f32[N, 3] = tanh(x)", &["0.0: `a` is f32[N, 3] here, but `tanh` gives f32[_, 3]"]);
    finds("a: f64[_, 3] = tanh(x)", &["0.0: `a` is f64[_, 3] here, but `tanh` gives f32[_, 3]"]);
    finds("a: bool[] = tanh(s)", &["0.0: `s` is bool[], but `tanh` needs floating-point numbers"]);
    finds(
        "a: f32[-2] = fill_constant(value=0.0)",
        &["0.0: f32[-2] has a negative size", "0.0: `a` is f32[-2]: a size is negative"],
    );
}

#[test]
fn parameters_have_sizes() {
    let init = "uniform_random(min=-1.0, max=1.0)";
    let text = format!("program {{ parameter w: f32[-1, 3] = {init} block 0 {{ return w }} }}");
    assert_eq!(violations(&text), ["0.-: `w` is f32[-1, 3]: a size is negative"]);
}

#[test]
fn operators_have_their_inputs_and_outputs() {
    finds("a: f32[_, 3] = tanh(x, x)", &["0.0: `tanh` takes 1 inputs, not 2"]);
    finds("a: f32[_, 3] = elementwise_add(x)", &["0.0: `elementwise_add` takes 2 inputs, not 1"]);
    finds("a: f32[_, 3], b: f32[_, 3] = tanh(x)", &["0.0: `tanh` gives 1 values, not 2"]);
    finds("tanh(x)", &["0.0: `tanh` gives 1 values, not 0"]);
}

#[test]
fn rows_of_two_spaces_do_not_combine() {
    finds(
        "a: f32[_, 3] = elementwise_add(x, y)",
        &[
            "0.0: `y` is f32[N, 3], but `x` is f32[_, 3]: the rows of `N` and the rows of `_` do not belong together",
        ],
    );
    // A value of the surrounding rows has to be gathered first.
    finds(
        "o: f32[_, 3] = if(c) {
           block 1 on _.1 of _ { g: f32[_.1, 3] = gather_rows(x) a: f32[_.1, 3] = elementwise_add(g, x) yield a }
           block 2 on _.2 of _ { h: f32[_.2, 3] = gather_rows(x) yield h }
         }",
        &["1.1: `x` is f32[_, 3], but `g` is f32[_.1, 3]: the rows of `_` and the rows of `_.1` do not belong together"],
    );
}

#[test]
fn rows_exist_only_where_they_are_chosen() {
    let branches = "o: f32[_, 3] = if(c) {
        block 1 on _.1 of _ { g: f32[_.1, 3] = gather_rows(x) yield g }
        block 2 on _.2 of _ { h: f32[_.2, 3] = gather_rows(x) yield h }
    }";
    finds(branches, &[]);
    finds(
        &format!("{branches} a: f32[_.1, 3] = fill_constant(value=0.0)"),
        &["0.1: `a` is f32[_.1, 3], but there are no rows of `_.1` here"],
    );
    finds(
        &format!("{branches} a: f32[3, _.1] = fill_constant(value=0.0)"),
        &["0.1: `a` is f32[3, _.1], but there are no rows of `_.1` here"],
    );
    finds(
        &branches.replace("h: f32[_.2, 3] = gather_rows(x)", "h: f32[_.1, 3] = fill_constant(value=0.0)"),
        &[
            "2.0: `h` is f32[_.1, 3], but there are no rows of `_.1` here",
            "0.0: a result is f32[_.1, 3] in one branch and f32[_.1, 3] in the other",
        ],
    );
    finds(
        &branches.replace("on _.2 of _ { h: f32[_.2", "on _.1 { h: f32[_.1"),
        &[
            "0.0: the rows of `_.1` are not chosen for block 2",
            "0.0: `c` is bool[_], but a condition is one truth value per row, or a scalar",
        ],
    );
    finds(
        "a: f32[3] = while(v) { block 1 on _ (p: f32[3]) { t: bool[] = fill_constant(value=true) yield t }
           block 2 (q: f32[3]) { yield q } }",
        &[
            "0.0: the rows of `_` are not chosen for block 1",
            "0.0: the blocks of a loop do not run on rows of one loop",
        ],
    );
}

#[test]
fn blocks_have_parameters_of_their_own() {
    let body = "block 2 (q: f32[3]) { yield q }";
    let condition = |params| format!("a: f32[3] = while(v) {{ block 1 {params} {{ yield s }} {body} }}");
    finds(&condition("(p: f32[3])"), &[]);
    finds(&condition(""), &["0.0: a block's parameters are not of the types of what comes into the loop"]);
    finds(
        &condition("(p: f32[4])"),
        &["0.0: a block's parameters are not of the types of what comes into the loop"],
    );
    let mut program = Program::new();
    let added = program.create_block_parameter(Program::GLOBAL, "p", Type::scalar(DType::F32));
    assert!(added.is_ok());
    let error = program.verify().expect_err("the global block has inputs, not parameters");
    assert_eq!(
        error.to_string(),
        "the program is not well-formed\n  block 0: `p` is not a parameter of this block"
    );
}

#[test]
fn blocks_have_one_owner() -> Result<(), BuildError> {
    finds("relu(v) { block 1 { } }", &["0.0: `relu` has 1 blocks", "0.0: `relu` gives 1 values, not 0"]);
    finds("if(s)", &["0.0: `if` has 0 blocks", "0.0: `if` owns two blocks"]);

    let program = || {
        let mut program = Program::new();
        let condition = program.create_input("c", Type::scalar(DType::Bool))?;
        let blocks = program.create_branches(Program::GLOBAL, condition)?;
        Ok::<_, BuildError>((program, condition, blocks))
    };
    let messages = |program: &Program| -> Vec<String> {
        let found = program.verify().expect_err("a wrong program").violations;
        found.into_iter().map(|violation| violation.message).collect()
    };
    let (by_nobody, ..) = program()?;
    assert_eq!(messages(&by_nobody), ["no operator owns this block"; 2]);

    let (mut twice, condition, blocks) = program()?;
    for _ in 0..2 {
        twice.append_block_op(Program::GLOBAL, If, &[condition], &blocks, Site::default())?;
    }
    assert_eq!(messages(&twice), ["block 1 is owned twice", "block 2 is owned twice"]);
    assert!(twice.to_string().contains("block 1  // see above"));

    let (mut cyclic, condition, blocks) = program()?;
    cyclic.append_block_op(blocks[0], If, &[condition], &blocks, Site::default())?;
    cyclic.append_block_op(Program::GLOBAL, If, &[condition], &blocks, Site::default())?;
    let expected = ["block 1 is not below block 1", "block 2 is not below block 1"];
    assert_eq!(messages(&cyclic), expected);
    assert!(cyclic.to_string().ends_with("}\n"));
    Ok(())
}

#[test]
fn gradient_blocks_belong_to_an_operator_that_ran() {
    let forward = "o: f32[3] = if(s) { block 1 { a: f32[3] = tanh(v) yield a } block 2 { yield v } }";
    let gradient = "p: f32[3] = if(s) { block 3 of block 1 { b: f32[3] = tanh_grad(a, o) yield b }
        block 4 of block 2 { yield o } }";
    finds(&format!("{forward} {gradient}"), &[]);
    let wrong = |block| format!("0.1: `if` does not differentiate the operator of block {block}");
    // The other condition, the other order, one of two, no gradient of an `if`.
    finds(
        &format!("t: bool[] = logical_not(s) {forward} {}", gradient.replace("if(s)", "if(t)")),
        &["0.2: `if` does not differentiate the operator of block 1"],
    );
    finds(
        &format!(
            "{forward} {}",
            gradient.replace("of block 2", "of block 1").replace("tanh_grad(a, o)", "tanh_grad(o, o)")
        ),
        &[&wrong(1)],
    );
    finds(&format!("{forward} {}", gradient.replace("of block 2", "")), &[&wrong(1)]);
    finds(
        &format!("{forward} p: f32[3] = loop_grad(o) {{ block 3 of block 2 (g: f32[3]) {{ yield g }} }}"),
        &["0.1: `loop_grad` does not differentiate the operator of block 2"],
    );
    // Before the operator has run.
    let renumbered = |text: &str| text.replace("block 1", "block A").replace("block 2", "block B");
    let first = "p: f32[3] = if(s) { block 3 of block A { yield v } block 4 of block B { yield v } }";
    let text = format!("{first} {}", renumbered(forward))
        .replace("block A", "block 1")
        .replace("block B", "block 2");
    finds(&text, &["0.0: `if` does not differentiate the operator of block 1"]);
}

#[test]
fn gradients_are_those_of_parameters() {
    let program = |pair: &str| {
        violations(&format!(
            "program {{ parameter w: f32[3] = fill_constant(value=0.0) gradient {pair}
             block 0 (x: f32[3], y: f32[4]) {{ }} }}"
        ))
    };
    assert_eq!(program("w -> x"), [] as [&str; 0]);
    assert_eq!(program("w -> y"), ["0.-: `y` is not a gradient of `w`"]);
    assert_eq!(program("x -> w"), ["0.-: `w` is not a gradient of `x`"]);
}

#[test]
fn sizes_have_different_names() {
    let mut program = Program::new();
    program.create_rows("T");
    program.create_symbol("T");
    let error = program.verify().expect_err("two sizes of one name");
    assert_eq!(error.violations[0].message, "two sizes are named `T`");
}

#[test]
fn violations_have_source_places_and_an_end() -> Result<(), BuildError> {
    let mut program = Program::new();
    let file = program.create_file("src/main.rs");
    let x = program.create_input("x", Type::scalar(DType::F32))?;
    let y = program.append_op(Program::GLOBAL, Assign, &[x], Site::default())?[0];
    for line in 1..100 {
        let site = Site { place: Some(Place { file, line, column: 5, layer: None }), ..Site::default() };
        program.prepend_op(Program::GLOBAL, Scale { scale: 2.0, bias: 0.0 }, &[y], site)?;
    }
    let error = program.verify().expect_err("`y` is read before it is written");
    assert_eq!(error.violations.len(), 20);
    let text = error.to_string();
    assert!(
        text.contains("\n  block 0, src/main.rs:99:5: `assign` is read before it is written\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn ids_of_other_programs_are_refused() -> Result<(), BuildError> {
    let mut other = Program::new();
    let condition = other.create_input("a", Type::scalar(DType::Bool))?;
    let b = other.create_input("b", Type::scalar(DType::F32))?;
    let rows = other.create_rows("_");
    let block = other.create_block(Program::GLOBAL, None)?;
    let mut program = Program::new();
    let missing = |what| BuildError::NoSuch { what };
    assert_eq!(program.create_block(block, None), Err(missing("block")));
    assert_eq!(program.create_block(Program::GLOBAL, Some(rows)), Err(missing("row space")));
    assert_eq!(program.create_branches(Program::GLOBAL, condition), Err(missing("value")));
    assert_eq!(program.create_gradient_block(Program::GLOBAL, BlockId(9)), Err(missing("block")));
    assert_eq!(program.append_op(Program::GLOBAL, Assign, &[b], Site::default()), Err(missing("value")));
    assert_eq!(program.append_op(block, Assign, &[], Site::default()), Err(missing("block")));
    assert_eq!(program.localize(Program::GLOBAL, b, Site::default()), Err(missing("value")));
    assert_eq!(program.set_results(block, &[]), Err(missing("block")));
    Ok(())
}

/// As deep as blocks may nest, everything that recurses over them has stack enough, and one deeper is refused.
#[test]
fn depth() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let x = program.create_input("x", Type::with_rows(DType::F32, rows, [1]))?;
    let w = program.create_parameter(
        "w",
        paddle_core::ops::Fill {
            value: paddle_core::ops::Number::Float(1.0),
            ty: Type::new(DType::F32, [1]),
        },
    )?;
    let condition = program.create_input("c", Type::with_rows(DType::Bool, rows, [1]))?;
    let mut branches = Vec::new();
    let mut block = Program::GLOBAL;
    for _ in 0..Program::MAX_DEPTH {
        let condition = program.localize(block, condition, Site::default())?;
        let [yes, no] = program.create_branches(block, condition)?;
        branches.push((block, condition, [yes, no]));
        block = yes;
    }
    assert_eq!(program.create_block(block, None), Err(BuildError::TooDeep));
    let local = program.localize(block, x, Site::default())?;
    let product = paddle_core::ops::Binary { kind: paddle_core::ops::BinaryKind::Mul };
    let mut result = program.append_op(block, product, &[local, w], Site::default())?[0];
    for (outer, condition, blocks) in branches.into_iter().rev() {
        let other = program.localize(blocks[1], x, Site::default())?;
        program.set_results(blocks[0], &[result])?;
        program.set_results(blocks[1], &[other])?;
        result = program.append_block_op(outer, If, &[condition], &blocks, Site::default())?[0];
    }
    let sum = paddle_core::ops::Reduce {
        kind: paddle_core::ops::ReduceKind::Sum,
        axes: Vec::new(),
        keep_dim: false,
    };
    let cost = program.append_op(Program::GLOBAL, sum, &[result], Site::default())?;
    program.set_outputs(&cost)?;
    program.verify()?;
    backward(&mut program)?;
    program.verify()?;
    let gathers = program
        .blocks()
        .iter()
        .map(|block| block.ops.iter().filter(|op| matches!(op.op, Op::GatherRows(_))).count());
    assert!(gathers.clone().all(|count| count <= 2), "x and the condition, once a block");
    let text = program.to_string();
    assert_eq!(text::parse(&text)?.to_string(), text);
    Ok(())
}
