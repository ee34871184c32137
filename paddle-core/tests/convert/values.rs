//! Attributes that come from values: from constants, and from shapes.

use paddle_core::convert::from_wire;
use paddle_core::ops::Program;
use paddle_core::wire::{OpAttr, OpDesc, VarDesc, VarKind};

use crate::build::{float, network, op, var};
use crate::paddle::body;
use crate::round_trip::check;

/// Reads operators on `x` and `y` of which the last one writes `out`.
fn program(x: &[i64], y: &[i64], ops: &[OpDesc]) -> Program {
    let others: Vec<VarDesc> = ["a", "b", "c"].map(|name| var(name, VarKind::Int32, &[])).to_vec();
    let others = [others, vec![float("out", &[])]].concat();
    let read = from_wire(&network(&[float("x", x), float("y", y)], &others, ops, &["out"]), None);
    let program = read.unwrap_or_else(|error| panic!("{error}"));
    check("by values", &program);
    program
}

/// What the last one becomes.
fn last(x: &[i64], y: &[i64], ops: &[OpDesc]) -> String {
    let text = program(x, y, ops).to_string();
    body(&text).pop().expect("there is an operator").to_string()
}

fn fill(out: &str, numbers: &[i64], value: f32) -> OpDesc {
    OpDesc::new("fill_constant")
        .with_output("Out", [out])
        .with_attr(OpAttr::longs("shape", numbers))
        .with_attr(OpAttr::int("dtype", VarKind::Int32.into()))
        .with_attr(OpAttr::float("value", value))
}

fn ones(slot: &str, of: &str) -> OpDesc {
    OpDesc::new("fill_constant")
        .with_input(slot, [of])
        .with_output("Out", ["out"])
        .with_attr(OpAttr::int("dtype", VarKind::Fp32.into()))
        .with_attr(OpAttr::float("value", 1.0))
}

fn shape(of: &str, out: &str) -> OpDesc {
    OpDesc::new("shape").with_input("Input", [of]).with_output("Out", [out])
}

#[test]
fn shapes_of_constants_are_lists_of_numbers() {
    assert_eq!(
        last(&[3, 4], &[], &[fill("a", &[2], 3.0), ones("ShapeTensor", "a")]),
        "out: f32[3, 3] = fill_constant(value=1.0)"
    );
    assert_eq!(
        last(&[3, 4], &[], &[shape("x", "a"), ones("ShapeTensor", "a")]),
        "out: f32[3, 4] = fill_constant(value=1.0)"
    );
    let tensors =
        OpDesc::new("fill_constant").with_input("ShapeTensorList", ["a", "b"]).with_output("Out", ["out"]);
    let ops = [fill("a", &[1], 2.0), fill("b", &[1], 5.0), tensors];
    assert_eq!(last(&[3], &[], &ops), "out: f32[2, 5] = fill_constant(value=0.0)");
}

/// The rows of a batch stay rows, whichever way their number takes.
#[test]
fn sizes_of_a_batch() {
    let part = OpDesc::new("slice").with_input("Input", ["a"]).with_output("Out", ["b"]);
    let part = part.with_attr(OpAttr::ints("axes", [0])).with_attr(OpAttr::ints("starts", [0]));
    let part = part.with_attr(OpAttr::ints("ends", [1]));
    let twice = op("scale", "b", "c").with_attr(OpAttr::float("scale", 2.0));
    assert_eq!(
        last(&[-1, 4], &[], &[shape("x", "a"), ones("ShapeTensor", "a")]),
        "out: f32[_, 4] = fill_constant(value=1.0)"
    );
    assert_eq!(
        last(&[-1, 4], &[], &[shape("x", "a"), part.clone(), ones("ShapeTensor", "b")]),
        "out: f32[_] = fill_constant(value=1.0)"
    );
    assert_eq!(
        last(&[-1, 4], &[], &[shape("x", "a"), part, twice, ones("ShapeTensor", "c")]),
        "out: f32[2 * _] = fill_constant(value=1.0)"
    );
    let reshape = op("reshape2", "y", "out").with_input("Shape", ["a"]);
    assert_eq!(
        last(&[-1, 2, 6], &[-1, 3, 4], &[shape("x", "a"), reshape]),
        "out: f32[_, 2, 6] = reshape2(y, dims=[2, 6])"
    );
    // What nobody knows stays as it is.
    let text = program(
        &[3],
        &[2],
        &[
            op("cast", "y", "a").with_attr(OpAttr::int("out_dtype", VarKind::Int32.into())),
            ones("ShapeTensor", "a"),
        ],
    );
    assert!(text.to_string().contains("foreign"), "{text}");
}

/// A size that is not known has the number of elements of something of that size.
#[test]
fn a_shape_as_a_value() {
    let text = program(
        &[-1, 4],
        &[],
        &[shape("x", "a"), op("cast", "a", "out").with_attr(OpAttr::int("out_dtype", VarKind::Fp32.into()))],
    );
    let text = text.to_string();
    for line in [
        "fill_constant: f64[_] = fill_constant(value=0.0)",
        "size: f64[] = size(fill_constant)",
        "a: i32[2] = concat(",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let size = OpDesc::new("size").with_input("Input", ["x"]).with_output("Out", ["out"]);
    assert_eq!(last(&[3, 4], &[], &[size]), "out: i64[] = reshape2(cast, dims=[])");
}

#[test]
fn numbers_of_functions() {
    let clip = op("clip", "x", "out").with_attr(OpAttr::float("max", 2.0)).with_input("Min", ["y"]);
    assert_eq!(
        body(&program(&[-1, 3], &[1], &[clip]).to_string()),
        [
            "reshape2: f32[] = reshape2(y, dims=[])",
            "fill_constant: f32[] = fill_constant(value=2.0)",
            "elementwise_max: f32[_, 3] = elementwise_max(x, reshape2)",
            "out: f32[_, 3] = elementwise_min(elementwise_max, fill_constant)",
        ]
    );
    let scale = |after| {
        let scale =
            op("scale", "x", "out").with_attr(OpAttr::float("bias", 3.0)).with_input("ScaleTensor", ["y"]);
        last(&[-1], &[1], &[scale.with_attr(OpAttr::bool("bias_after_scale", after))])
    };
    assert_eq!(scale(true), "out: f32[_] = scale(elementwise_mul, bias=3.0)");
    assert_eq!(scale(false), "out: f32[_] = elementwise_mul(scale, reshape2)");
    let power = op("pow", "x", "out").with_input("FactorTensor", ["y"]);
    assert_eq!(last(&[-1], &[1], &[power]), "out: f32[_] = elementwise_pow(x, reshape2)");
    assert_eq!(
        last(&[3], &[1], &[ones("ValueTensor", "y").with_attr(OpAttr::longs("shape", [2]))]),
        "out: f32[2] = elementwise_add(fill_constant, reshape2)"
    );
}

#[test]
fn axes_and_sizes() {
    let concat = OpDesc::new("concat")
        .with_input("X", ["x", "y"])
        .with_input("AxisTensor", ["a"])
        .with_output("Out", ["out"]);
    assert_eq!(
        last(&[-1, 2], &[-1, 3], &[fill("a", &[1], 1.0), concat]),
        "out: f32[_, 5] = concat(x, y, axis=1)"
    );
    let unsqueeze = op("unsqueeze2", "x", "out").with_input("AxesTensor", ["a"]);
    assert_eq!(
        last(&[3, 2], &[], &[fill("a", &[1], 1.0), unsqueeze]),
        "out: f32[3, 1, 2] = reshape2(x, dims=[3, 1, 2])"
    );
    let unstack = OpDesc::new("unstack")
        .with_input("X", ["x"])
        .with_output("Y", ["a", "out"])
        .with_attr(OpAttr::int("axis", -1));
    assert_eq!(
        last(&[-1, 2], &[], std::slice::from_ref(&unstack)),
        "out: f32[_] = reshape2(split_1, dims=[])"
    );
    assert!(last(&[-1, 3], &[], std::slice::from_ref(&unstack)).contains("foreign"));
}
