//! PaddlePaddle's branches, raised to ours.

use paddle_core::convert::{Fault, from_wire};
use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind};

use crate::build::{block, feed, fetch, float, holder, op, program, var};
use crate::paddle::read;

fn conditional(condition: &str, out: &str, sub_block: i32) -> OpDesc {
    OpDesc::new("conditional_block")
        .with_input("Cond", [condition])
        .with_input("Input", ["x"])
        .with_output("Out", [out])
        .with_output("Scope", ["scope"])
        .with_attr(OpAttr::bool("is_scalar_condition", true))
        .with_attr(OpAttr::block("sub_block", sub_block))
}

fn vars() -> Vec<VarDesc> {
    let mut vars = vec![float("x", &[2]), var("c", VarKind::Bool, &[1]), var("m", VarKind::Int32, &[1])];
    vars.extend(["a", "b", "out"].map(|name| float(name, &[2])));
    vars.push(var("d", VarKind::Bool, &[1]));
    vars.push(holder("feed", VarKind::FeedMinibatch));
    vars.push(holder("fetch", VarKind::FetchList));
    vars.push(holder("scope", VarKind::StepScopes));
    vars
}

/// A program whose outermost block feeds `x` and `c`, and one block that writes `a`.
fn with_branch(ops: &[OpDesc], branch: &[OpDesc]) -> ProgramDesc {
    let mut all = vec![feed("x", 0), feed("c", 1)];
    all.extend_from_slice(ops);
    let inner = vec![float("t", &[2])];
    program(vec![block(0, -1, vars(), all), block(1, 0, inner, branch.to_vec())])
}

/// A variable that is written in the block only is something where the block is not run.
#[test]
fn a_block_that_may_be_run() {
    let body = [op("tanh", "x", "t"), op("assign", "t", "a")];
    let text = read(&with_branch(&[conditional("c", "a", 1), fetch("a", 0)], &body));
    let expected = "\
program {
  block 0 (x: f32[2], c: bool[1]) {
    a_1: f32[2] = if(c) {
      block 1 {
        t: f32[2] = tanh(x)
        a: f32[2] = assign(t)
        yield a
      }
      block 2 {
        fill_constant: f32[2] = fill_constant(value=0.0)
        yield fill_constant
      }
    }
    return a_1
  }
}
";
    assert_eq!(text, expected);
}

/// Else it keeps its value; inside, it has it until it is written.
#[test]
fn a_variable_that_is_overwritten() {
    let body = [op("tanh", "a", "t"), op("assign", "t", "a")];
    let text = read(&with_branch(&[op("relu", "x", "a"), conditional("c", "a", 1), fetch("a", 0)], &body));
    for line in ["a: f32[2] = relu(x)", "t: f32[2] = tanh(a)", "yield a_1", "yield a\n", "return a_2"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// Both branches, and the choice between what they wrote.
#[test]
fn a_choice() {
    let ops = [
        feed("x", 0),
        feed("c", 1),
        conditional("c", "a", 1),
        op("logical_not", "c", "d"),
        conditional("d", "b", 2),
        op("cast", "c", "m").with_attr(OpAttr::int("out_dtype", VarKind::Int32.into())),
        OpDesc::new("select_input")
            .with_input("X", ["b", "a"])
            .with_input("Mask", ["m"])
            .with_output("Out", ["out"]),
        fetch("out", 0),
    ];
    let inner = |kind: &str, to: &str| vec![op(kind, "x", "t"), op("assign", "t", to)];
    let desc = program(vec![
        block(0, -1, vars(), ops.to_vec()),
        block(1, 0, vec![float("t", &[2])], inner("tanh", "a")),
        block(2, 0, vec![float("t", &[2])], inner("relu", "b")),
    ]);
    let text = read(&desc);
    for line in ["equal: bool[1] = equal(m, fill_constant", "out: f32[2] = if(equal)"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn what_is_no_branch_of_ours() {
    let body = [op("assign", "x", "a")];
    // A condition that asks whether a value has elements.
    let mut other = conditional("c", "a", 1);
    other.attrs.retain(|attr| attr.name != "is_scalar_condition");
    let error = from_wire(&with_branch(&[other], &body), None).unwrap_err();
    assert_eq!(error.fault, Fault::UnknownStructure);
    let error = from_wire(&with_branch(&[conditional("x", "a", 1)], &body), None).unwrap_err();
    assert!(matches!(error.fault, Fault::Build(_)), "{error}");
    // A block that writes another shape than the variable had.
    let ops = [op("reduce_sum", "x", "a"), conditional("c", "a", 1)];
    let error = from_wire(&with_branch(&ops, &body), None).unwrap_err();
    assert!(matches!(error.fault, Fault::Build(_)), "{error}");
    let none = OpDesc::new("select_input")
        .with_input("X", [""; 0])
        .with_input("Mask", ["c"])
        .with_output("Out", ["out"]);
    let error = from_wire(&with_branch(&[none], &body), None).unwrap_err();
    assert!(matches!(error.fault, Fault::Slot { slot: "X", .. }), "{error}");
}
