//! PaddlePaddle's operators that move, make and find elements, as compositions of ours.

use paddle_core::convert::{Fault, VariableFault, from_wire};
use paddle_core::wire::{OpAttr, OpDesc, VarKind, Version};

use crate::build::{float, network, op2, var};
use crate::paddle::{body, lines, read};

/// An operator of `x` whose result is `out`.
fn of_x(kind: &str) -> OpDesc {
    OpDesc::new(kind).with_input("X", ["x"]).with_output("Out", ["out"])
}

#[test]
fn the_last_axis_of_sums_and_sorts() {
    assert_eq!(lines(&[-1, 3, 4], &[], of_x("cumsum")), ["out: f32[_, 3, 4] = cumsum(x, axis=2)"]);
    let flat = of_x("cumsum").with_attr(OpAttr::bool("flatten", true));
    let expected = ["reshape2: f32[12] = reshape2(x, dims=[12])", "out: f32[12] = cumsum(reshape2, axis=0)"];
    assert_eq!(lines(&[3, 4], &[], flat.clone()), expected);
    // Along rows, the batch is an ordinary axis.
    let along_rows = of_x("cumsum").with_attr(OpAttr::int("axis", 0));
    let merged = "rows_to_axis: f32[(_), 4] = rows_to_axis(x)";
    let expected = [
        merged,
        "reshape2: f32[4 * _] = reshape2(rows_to_axis, dims=[4 * _])",
        "out: f32[4 * _] = cumsum(reshape2, axis=0)",
    ];
    assert_eq!(lines(&[-1, 4], &[], flat), expected);
    let expected = [
        merged,
        "axis_to_rows: f32[(_), 4] = cumsum(rows_to_axis, axis=0)",
        "out: f32[_, 4] = axis_to_rows(axis_to_rows, x)",
    ];
    assert_eq!(lines(&[-1, 4], &[], along_rows), expected);
}

#[test]
fn where_the_largest_is() {
    let found = lines(&[-1, 4], &[], of_x("arg_max").with_attr(OpAttr::long("axis", -1)));
    assert_eq!(found[0], "top_k_v2: f32[_, 1], top_k_v2_1: i64[_, 1] = top_k_v2(x, axis=1)");
    assert_eq!(found[1], "out: i64[_] = reshape2(top_k_v2_1, dims=[])");
}

#[test]
fn repeated_to_a_shape() {
    let expand = |shape: &[i32]| of_x("expand_v2").with_attr(OpAttr::ints("shape", shape));
    let expected = ["out: f32[_, 3, 4] = tile(x, repeat_times=[3, 1])"];
    assert_eq!(lines(&[-1, 1, 4], &[], expand(&[-1, 3, 4])), expected);
    let expected = [
        "reshape2: f32[1, 3, 1] = reshape2(x, dims=[1, 3, 1])",
        "out: f32[2, 3, 4] = tile(reshape2, repeat_times=[2, 1, 4])",
    ];
    assert_eq!(lines(&[3, 1], &[], expand(&[2, -1, 4])), expected);
    assert!(lines(&[3, 2], &[], expand(&[3, 4]))[0].contains("foreign"));
}

#[test]
fn elements_of_its_own_around_a_value() {
    let pad = |mode: &str| {
        of_x("pad3d")
            .with_attr(OpAttr::ints("paddings", [1, 0, 0, 0, 0, 0]))
            .with_attr(OpAttr::string("mode", mode))
    };
    let found = lines(&[-1, 1, 1, 1, 3], &[], pad("constant"));
    assert_eq!(found, ["out: f32[_, 1, 1, 1, 4] = pad(x, paddings=[0, 0, 0, 0, 0, 0, 0, 0, 1, 0])"]);
    let found = lines(&[-1, 1, 1, 1, 3], &[], pad("reflect"));
    assert_eq!(found[0], "assign_value: i64[4] = assign_value(values=[1, 0, 1, 2])");
    assert_eq!(found[1], "out: f32[_, 1, 1, 1, 4] = gather(x, assign_value, axis=4)");
    assert!(lines(&[-1, 1, 1, 1, 1], &[], pad("reflect"))[0].contains("foreign"), "nothing to reflect");
}

#[test]
fn backward_and_around() {
    let flip = of_x("flip").with_attr(OpAttr::ints("axis", [1]));
    let expected = "out: f32[_, 4] = strided_slice(x, axes=[1], starts=[-1], ends=[-1], strides=[-1])";
    assert_eq!(lines(&[-1, 4], &[], flip), [expected]);
    let roll = of_x("roll").with_attr(OpAttr::longs("shifts", [1])).with_attr(OpAttr::longs("axis", [1]));
    let found = lines(&[-1, 3], &[], roll);
    assert_eq!(found[0], "assign_value: i64[3] = assign_value(values=[2, 0, 1])");
}

/// Slices that go backwards end elsewhere in later releases.
#[test]
fn backward_in_later_releases() {
    let of_lists = |version: i64, [starts, ends]: [&[i32]; 2], size: i64| {
        let slice = OpDesc::new("strided_slice").with_input("Input", ["x"]).with_output("Out", ["out"]);
        let lists: [(&str, &[i32]); 5] =
            [("axes", &[1]), ("starts", starts), ("ends", ends), ("strides", &[-1]), ("infer_flags", &[1])];
        let slice = lists
            .into_iter()
            .fold(slice, |slice, (name, numbers)| slice.with_attr(OpAttr::ints(name, numbers)));
        let mut program =
            network(&[float("x", &[-1, size])], &[float("out", &[-1, size])], &[slice], &["out"]);
        program.version = Some(Version { version: Some(version), ..Default::default() });
        match from_wire(&program, None) {
            Ok(program) => body(&program.to_string()).concat(),
            Err(error) => error.to_string(),
        }
    };
    let of = |version, [start, end]: [i32; 2], size| of_lists(version, [&[start], &[end]], size);
    let slice = |count: &str, [start, end]: [i32; 2]| {
        format!(
            "out: f32[_, {count}] = strided_slice(x, axes=[1], starts=[{start}], ends=[{end}], strides=[-1])"
        )
    };
    for (bounds, before, later) in [
        ([i32::MAX, i32::MIN], slice("3", [i32::MAX, i32::MIN]), slice("4", [i32::MAX, -1])),
        ([-2, -100], slice("2", [-2, -100]), slice("3", [2, -1])),
        ([3, 0], slice("3", [3, 0]), slice("3", [3, 0])),
    ] {
        assert_eq!(of(2_006_002, bounds, 4), before);
        assert_eq!(of(3_003_001, bounds, 4), later);
    }
    assert_eq!(of(2_006_002, [-1, -1], 4), slice("4", [-1, -1]));
    assert!(of(3_003_001, [-1, -1], 4).contains("along axis 1 is nothing"));
    for lists in [[&[][..], &[-1]], [&[-1], &[]]] {
        let error = of_lists(3_003_001, lists, 4);
        assert!(error.contains("needs a start and an end for each axis"), "{error}");
    }
    // Of a size that a batch has.
    assert!(of(3_003_001, [i32::MAX, i32::MIN], -1).contains("starts=[2147483647], ends=[-1]"));
    assert!(of(3_003_001, [-1, -1], -1).contains("along axis 1 is nothing"));
    assert!(of(3_003_001, [-1, -3], -1).contains("starts=[-1], ends=[-3]"));
}

/// What is transposed there and back keeps its rows, and what stands in between sees the batch as an ordinary axis.
#[test]
fn the_batch_is_not_in_front() {
    let there = of_x("transpose2").with_attr(OpAttr::ints("axis", [1, 0, 2]));
    let back = OpDesc::new("transpose2")
        .with_input("X", ["out"])
        .with_output("Out", ["y"])
        .with_attr(OpAttr::ints("axis", [1, 0, 2]));
    let inputs = [float("x", &[-1, 3, 4])];
    let vars = [float("out", &[3, -1, 4]), float("y", &[-1, 3, 4])];
    let text = read(&network(&inputs, &vars, &[there, back], &["out", "y"]));
    let expected = [
        "rows_to_axis: f32[(_), 3, 4] = rows_to_axis(x)",
        "out: f32[3, _, 4] = transpose2(rows_to_axis, perm=[1, 0, 2])",
        "y: f32[_, 3, 4] = assign(x)",
    ];
    assert_eq!(body(&text), expected);
}

/// Narrow integers are held by wider ones, and wrap around where something is cast to them; what computes with them is
/// refused.
#[test]
fn narrow_integers() {
    let cast = of_x("cast").with_attr(OpAttr::int("out_dtype", VarKind::Uint8.into()));
    let inputs = [var("x", VarKind::Int64, &[-1, 2])];
    let text = read(&network(&inputs, &[var("out", VarKind::Uint8, &[-1, 2])], &[cast], &["out"]));
    let expected = [
        "fill_constant: i64[] = fill_constant(value=256)",
        "elementwise_mod: i64[_, 2] = elementwise_mod(x, fill_constant)",
        "cast: i32[_, 2] = cast(elementwise_mod, dtype=i32)",
        "out: i32[_, 2] = assign(cast)",
    ];
    assert_eq!(body(&text), expected);
    let inputs = [var("x", VarKind::Uint8, &[-1, 2])];
    let sum = op2("elementwise_add", "x", "x", "out");
    let error = from_wire(&network(&inputs, &[var("out", VarKind::Uint8, &[-1, 2])], &[sum], &["out"]), None);
    let reason = VariableFault::Computed(VarKind::Uint8);
    assert_eq!(error.unwrap_err().fault, Fault::Variable { name: "x".to_string(), reason });
}

/// A filter of two slices sees twice the channels, in images below each other.
#[test]
fn volumes_are_images_below_each_other() {
    let conv = OpDesc::new("conv3d")
        .with_input("Input", ["x"])
        .with_input("Filter", ["y"])
        .with_output("Output", ["out"])
        .with_attr(OpAttr::ints("strides", [1, 2, 2]))
        .with_attr(OpAttr::ints("paddings", [0, 1, 0]));
    let found = lines(&[-1, 3, 4, 5, 6], &[7, 3, 2, 3, 3], conv);
    let expected = [
        "pad: f32[_, 3, 4, 8, 6] = pad(x, paddings=[0, 0, 0, 0, 0, 0, 1, 2, 0, 0])",
        "slice: f32[_, 3, 3, 8, 6] = slice(pad, axes=[2], starts=[0], ends=[3])",
    ];
    assert_eq!(found[..2], expected);
    assert!(found.iter().any(|line| line.starts_with("conv2d: f32[_, 7, 12, 2] = conv2d(")), "{found:#?}");
    assert!(found[found.len() - 1].starts_with("out: f32[_, 7, 3, 3, 2] = slice("), "{found:#?}");
}
