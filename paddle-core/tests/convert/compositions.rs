//! PaddlePaddle's operators that are made of others here.

use paddle_core::convert::{Fault, from_wire};
use paddle_core::wire::{OpAttr, OpDesc, VarDesc, VarKind};

use crate::build::{float, network, op, var};
use crate::paddle::{body, fault, lines, read};

/// The last line of what one operator on `x` becomes.
fn last(x: &[i64], op: OpDesc) -> String {
    lines(x, &[], op).pop().expect("there is an operator")
}

#[test]
fn axes_of_size_1_are_left_out() {
    let squeeze = |axes: &[i32]| op("squeeze2", "x", "out").with_attr(OpAttr::ints("axes", axes));
    let x = [1, 3, 1, 4];
    assert_eq!(last(&x, squeeze(&[])), "out: f32[3, 4] = reshape2(x, dims=[3, 4])");
    assert_eq!(last(&x, squeeze(&[-2])), "out: f32[1, 3, 4] = reshape2(x, dims=[1, 3, 4])");
    // An axis of another size stays.
    assert_eq!(last(&x, squeeze(&[0, 1])), "out: f32[3, 1, 4] = reshape2(x, dims=[3, 1, 4])");
    assert_eq!(last(&[-1, 3, 1], squeeze(&[2])), "out: f32[_, 3] = reshape2(x, dims=[3])");
    assert!(matches!(fault(&x, &[], squeeze(&[4])), Fault::Attribute { attribute: "axes", .. }));
    // Whether the rows are one row is known when they are fed; so with any other size.
    assert!(last(&[-1, 1], squeeze(&[0])).contains("foreign"));
    assert!(last(&[-1, 1], squeeze(&[])).contains("foreign"));
    assert!(last(&[1, -1], squeeze(&[1])).contains("foreign"));
    assert_eq!(last(&[1, -1], squeeze(&[0])), r#"out: f32["x[1]"] = reshape2(x, dims=["x[1]"])"#);
}

#[test]
fn axes_of_size_1_are_put_in_one_after_another() {
    let unsqueeze = |axes: &[i32]| op("unsqueeze2", "x", "out").with_attr(OpAttr::ints("axes", axes));
    assert_eq!(last(&[3, 4], unsqueeze(&[0, -1])), "out: f32[1, 3, 4, 1] = reshape2(x, dims=[1, 3, 4, 1])");
    assert_eq!(last(&[3, 4], unsqueeze(&[-1, -2])), "out: f32[3, 4, 1, 1] = reshape2(x, dims=[3, 4, 1, 1])");
    assert_eq!(last(&[-1, 4], unsqueeze(&[1])), "out: f32[_, 1, 4] = reshape2(x, dims=[1, 4])");
    assert!(matches!(fault(&[3], &[], unsqueeze(&[2])), Fault::Attribute { attribute: "axes", .. }));
    // Rows are first.
    assert_eq!(last(&[-1, 4], unsqueeze(&[0])), "out: f32[1, _, 4] = reshape2(rows_to_axis, dims=[1, _, 4])");
    let tensor = unsqueeze(&[]).with_input("AxesTensor", ["y"]);
    assert!(lines(&[3], &[1], tensor)[0].contains("foreign"));
}

#[test]
fn axes_become_one() {
    let range = |start, stop| {
        op("flatten_contiguous_range", "x", "out")
            .with_attr(OpAttr::int("start_axis", start))
            .with_attr(OpAttr::int("stop_axis", stop))
    };
    assert_eq!(last(&[2, 3, 4, 5], range(1, -2)), "out: f32[2, 12, 5] = reshape2(x, dims=[2, 12, 5])");
    assert_eq!(last(&[2, 3, 4], range(0, -1)), "out: f32[24] = reshape2(x, dims=[24])");
    assert_eq!(last(&[], range(0, -1)), "out: f32[1] = reshape2(x, dims=[1])");
    assert_eq!(
        last(&[-1, 3, -1], range(1, 2)),
        r#"out: f32[_, 3 * "x[2]"] = reshape2(x, dims=[3 * "x[2]"])"#
    );
    assert_eq!(last(&[-1, 3], range(0, 0)), "out: f32[_, 3] = reshape2(x, dims=[3])");
    assert_eq!(last(&[-1, 3], range(0, 1)), "out: f32[3 * _] = reshape2(rows_to_axis, dims=[3 * _])");
    assert!(matches!(fault(&[2, 3], &[], range(0, 2)), Fault::Attribute { attribute: "stop_axis", .. }));
    assert!(matches!(fault(&[2, 3], &[], range(1, 0)), Fault::Attribute { attribute: "start_axis", .. }));

    let flatten = |axis| op("flatten2", "x", "out").with_attr(OpAttr::int("axis", axis));
    assert_eq!(last(&[2, 3, 4], flatten(2)), "out: f32[6, 4] = reshape2(x, dims=[6, 4])");
    assert_eq!(last(&[2, 3, 4], flatten(0)), "out: f32[1, 24] = reshape2(x, dims=[1, 24])");
    assert_eq!(last(&[2, 3], flatten(2)), "out: f32[6, 1] = reshape2(x, dims=[6, 1])");
    assert_eq!(last(&[-1, 3, 4], flatten(1)), "out: f32[_, 12] = reshape2(x, dims=[12])");
    assert_eq!(last(&[-1, 3, 4], flatten(2)), "out: f32[3 * _, 4] = reshape2(rows_to_axis, dims=[3 * _, 4])");
    assert!(matches!(fault(&[2, 3], &[], flatten(3)), Fault::Attribute { attribute: "axis", .. }));
}

#[test]
fn negative_axes_of_transpose() {
    let transpose = op("transpose2", "x", "out").with_attr(OpAttr::ints("axis", [-1, 0, 1]));
    assert_eq!(last(&[2, 3, 4], transpose), "out: f32[4, 2, 3] = transpose2(x, perm=[2, 0, 1])");
}

#[test]
fn sums_of_any_number() {
    let sum = |names: &[&str]| {
        OpDesc::new("sum").with_input("X", names.iter().copied()).with_output("Out", ["out"])
    };
    let three = [
        "elementwise_add: f32[_, 3] = elementwise_add(x, y)",
        "out: f32[_, 3] = elementwise_add(elementwise_add, x)",
    ];
    assert_eq!(lines(&[-1, 3], &[-1, 3], sum(&["x", "y", "x"])), three);
    assert_eq!(last(&[-1, 3], sum(&["x"])), "out: f32[_, 3] = assign(x)");
    assert!(matches!(fault(&[-1], &[], sum(&[])), Fault::Slot { slot: "X", .. }));
}

#[test]
fn labels_are_smoothed() {
    let smooth = op("label_smooth", "x", "out").with_attr(OpAttr::float("epsilon", 0.5));
    assert_eq!(last(&[-1, 4], smooth.clone()), "out: f32[_, 4] = scale(x, scale=0.5, bias=0.125)");
    let prior = lines(&[-1, 4], &[1, 4], smooth.with_input("PriorDist", ["y"]));
    assert_eq!(prior.last().unwrap(), "out: f32[_, 4] = elementwise_add(scale_1, scale)");
}

#[test]
fn constants_in_the_shape_of_others() {
    let like = |dtype| {
        op("fill_any_like", "x", "out")
            .with_attr(OpAttr::int("dtype", dtype))
            .with_attr(OpAttr::float("value", 2.5))
    };
    assert_eq!(last(&[-1, 3], like(-1)), "out: f32[_, 3] = fill_constant(value=2.5)");
    assert_eq!(last(&[-1, 3], like(VarKind::Int64.into())), "out: i64[_, 3] = fill_constant(value=2)");
    assert!(last(&[-1, 3], like(VarKind::Complex64.into())).contains("foreign"));
    assert_eq!(last(&[3], op("fill_zeros_like", "x", "out")), "out: f32[3] = fill_constant(value=0.0)");

    let batch = |from, to, shape: &[i32]| {
        OpDesc::new("fill_constant_batch_size_like")
            .with_input("Input", ["x"])
            .with_output("Out", ["out"])
            .with_attr(OpAttr::ints("shape", shape))
            .with_attr(OpAttr::int("dtype", VarKind::Fp32.into()))
            .with_attr(OpAttr::int("input_dim_idx", from))
            .with_attr(OpAttr::int("output_dim_idx", to))
            .with_attr(OpAttr::float("value", 1.5))
    };
    assert_eq!(last(&[-1, 4], batch(0, 0, &[-1, 2])), "out: f32[_, 2] = fill_constant(value=1.5)");
    assert_eq!(last(&[-1, 4], batch(0, 1, &[2, -1])), "out: f32[2, _] = fill_constant(value=1.5)");
    assert_eq!(last(&[3, 4], batch(1, 0, &[-1, 2])), "out: f32[4, 2] = fill_constant(value=1.5)");
    assert!(matches!(
        fault(&[-1], &[], batch(1, 0, &[-1])),
        Fault::Attribute { attribute: "input_dim_idx", .. }
    ));
    assert!(matches!(
        fault(&[-1], &[], batch(0, 1, &[-1])),
        Fault::Attribute { attribute: "output_dim_idx", .. }
    ));
    // Of sequences, there are as many as rows.
    let mut words = float("x", &[-1, 4]);
    words.r#type.lod_tensor.as_mut().unwrap().lod_level = Some(1);
    let text = read(&network(&[words], &[float("out", &[])], &[batch(0, 0, &[-1, 2])], &["out"]));
    assert_eq!(body(&text), ["out: f32[_, 2] = fill_constant(value=1.5)"]);
}

/// Numbers of entries may be 32 bits wide, which ours are not.
#[test]
fn narrow_ids() {
    let lookup = OpDesc::new("lookup_table_v2").with_input("Ids", ["i"]).with_input("W", ["w"]);
    let lookup = lookup.with_output("Out", ["out"]);
    let inputs = [var("i", VarKind::Int32, &[-1]), float("w", &[4, 3])];
    let text = read(&network(&inputs, &[float("out", &[])], &[lookup], &["out"]));
    let expected = ["cast: i64[_] = cast(i, dtype=i64)", "out: f32[_, 3] = lookup_table_v2(cast, w)"];
    assert_eq!(body(&text), expected);
}

/// The rows of a gradient that are not zeros are its representation: here it is a value like any other.
#[test]
fn selected_rows() {
    let mut grad = float("g", &[4, 3]);
    let tensor = grad.r#type.lod_tensor.take().unwrap().tensor;
    (grad.r#type.r#type, grad.r#type.selected_rows) = (VarKind::SelectedRows.into(), Some(tensor));
    let scale = op("scale", "g", "out").with_attr(OpAttr::float("scale", 2.0));
    let text = read(&network(
        std::slice::from_ref(&grad),
        &[float("out", &[])],
        std::slice::from_ref(&scale),
        &["out"],
    ));
    assert_eq!(body(&text), ["out: f32[4, 3] = scale(g, scale=2.0)"]);
    grad.r#type.selected_rows = None;
    let error = from_wire(&network(&[grad], &[float("out", &[])], &[scale], &["out"]), None).unwrap_err();
    assert_eq!(error.to_string(), "variable `g`: its element type is not given");
}

/// `MatchX` is the probability of the class, 0 where it is ignored.
#[test]
fn cross_entropy_of_the_second_version() {
    let entropy = OpDesc::new("cross_entropy2").with_input("X", ["x"]).with_input("Label", ["l"]);
    let entropy = entropy.with_attr(OpAttr::int("ignore_index", -7));
    let entropy = entropy.with_output("Y", ["out"]).with_output("MatchX", ["m"]).with_output("XShape", ["s"]);
    let inputs = [float("x", &[-1, 4]), var("l", VarKind::Int64, &[-1, 1])];
    let others: [VarDesc; 2] = [float("out", &[]), float("m", &[])];
    let text = read(&network(&inputs, &others, &[entropy], &["out", "m"]));
    let text = body(&text);
    assert_eq!(text[0], "out: f32[_, 1] = cross_entropy(x, l, ignore_index=-7)");
    assert_eq!(text.last().unwrap(), &"m: f32[_, 1] = elementwise_mul(exp, cast)");
}

/// What is taken by the number of the class counts as often as the class weighs; what is ignored, not at all.
#[test]
fn negative_logarithms() {
    let loss = |reduction: &str| {
        let loss = OpDesc::new("nll_loss")
            .with_input("X", ["x"])
            .with_input("Label", ["l"])
            .with_input("Weight", ["w"]);
        let loss = loss.with_output("Out", ["out"]).with_output("Total_weight", ["t"]);
        let loss = loss.with_attr(OpAttr::string("reduction", reduction));
        let inputs = [float("x", &[-1, 4]), var("l", VarKind::Int64, &[-1]), float("w", &[4])];
        let desc = network(&inputs, &[float("out", &[]), float("t", &[])], &[loss], &["out", "t"]);
        body(&read(&desc)).iter().rev().take(3).rev().map(|line| line.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(loss("mean").last().unwrap(), "out: f32[] = elementwise_div(scale, elementwise_add)");
    assert_eq!(loss("sum").last().unwrap(), "out: f32[] = scale(reduce_sum_1, scale=-1.0)");
    assert_eq!(loss("none").last().unwrap(), "out: f32[_] = scale(elementwise_mul_2, scale=-1.0)");
    assert!(loss("other").last().unwrap().contains("foreign"));
}

/// The operators of these names, in order.
fn names(x: &[i64], op: OpDesc) -> Vec<String> {
    let name = |line: String| Some(line.split_once(" = ")?.1.split_once('(')?.0.to_string());
    lines(x, &[], op).into_iter().filter_map(name).collect()
}

#[test]
fn elements_are_taken_from_and_put_on_diagonals() {
    let diagonal = |offset| op("diag_v2", "x", "out").with_attr(OpAttr::int("offset", offset));
    // Of [4, 5], those that start at 1 and at 5.
    let part = |first, end| {
        format!(
            "out: f32[4] = strided_slice(reshape2, axes=[0], starts=[{first}], ends=[{end}], strides=[6])"
        )
    };
    assert_eq!(last(&[4, 5], diagonal(1)), part(1, 25));
    assert_eq!(last(&[5, 5], diagonal(-1)), part(5, 29));
    assert!(last(&[4, 5], diagonal(7)).contains("foreign"));
    assert!(last(&[3], diagonal(-2)).starts_with("out: f32[5, 5] = where("));
    assert!(last(&[-1, 3], diagonal(0)).contains("foreign"));
    let triangle = |lower| op("tril_triu", "x", "out").with_attr(OpAttr::bool("lower", lower));
    let kept =
        |kind| vec!["range", "reshape2", "range", "reshape2", kind, "fill_constant", "where", "assign"];
    assert_eq!(names(&[-1, 3, 4], triangle(true)), kept("greater_equal"));
    assert_eq!(names(&[3, 4], triangle(false)), kept("less_equal"));
    let across_rows = [vec!["rows_to_axis"], kept("greater_equal"), vec!["axis_to_rows"]].concat();
    assert_eq!(names(&[-1, 3], triangle(true)), across_rows);
}

#[test]
fn random_numbers_are_made_of_uniform_ones() {
    let uniform = |kind: &str| OpDesc::new(kind).with_output("Out", ["out"]);
    assert_eq!(
        names(&[], uniform("randperm").with_attr(OpAttr::int("n", 7))),
        ["uniform_random", "argsort", "cast"]
    );
    assert!(last(&[], uniform("randperm")).contains("foreign"));
    assert_eq!(names(&[-1, 3], op("bernoulli", "x", "out")), ["uniform_random", "less_than", "cast"]);
    let like = uniform("uniform_random_batch_size_like")
        .with_input("Input", ["x"])
        .with_attr(OpAttr::ints("shape", [-1, 5]));
    assert!(last(&[-1, 3], like).starts_with("out: f32[_, 5] = uniform_random("));
    let sizes = |low, high| {
        let ints = ["low", "high"].into_iter().zip([low, high]);
        ints.fold(uniform("randint").with_attr(OpAttr::ints("shape", [3])), |op, (name, number)| {
            op.with_attr(OpAttr::int(name, number))
        })
    };
    assert_eq!(names(&[], sizes(2, 9)), ["uniform_random", "cast", "scale"]);
    assert!(last(&[], sizes(2, 2)).contains("foreign"));
}

#[test]
fn the_largest_of_groups() {
    let maxout = |groups| op("maxout", "x", "out").with_attr(OpAttr::int("groups", groups));
    let expected = [
        "reshape2: f32[_, 3, 2, 5] = reshape2(x, dims=[3, 2, 5])",
        "out: f32[_, 3, 5] = reduce_max(reshape2, axes=[2])",
    ];
    assert_eq!(lines(&[-1, 6, 5], &[], maxout(2)), expected);
    assert!(last(&[-1, 6, 5], maxout(4)).contains("foreign"));
    assert!(last(&[-1, 6, 5], maxout(0)).contains("foreign"));
}

#[test]
fn logarithms_of_sums() {
    let of = |axes: &[i32], keep| {
        let op = op("logsumexp", "x", "out").with_attr(OpAttr::ints("axis", axes));
        op.with_attr(OpAttr::bool("keepdim", keep))
    };
    let chain =
        ["reduce_max", "share_data", "elementwise_sub", "exp", "reduce_sum", "log", "elementwise_add"];
    assert_eq!(names(&[-1, 3], of(&[-1], true)), [&chain[..], &["assign"]].concat());
    assert_eq!(names(&[-1, 3], of(&[1], false)), [&chain[..], &["reduce_sum", "assign"]].concat());
    assert!(last(&[-1, 3, 4], of(&[-2], false)).starts_with("out: f32[_, 4] = "));
    assert!(last(&[-1, 3], of(&[0], false)).starts_with("out: f32[3] = "));
    assert!(matches!(fault(&[3], &[], of(&[1], true)), Fault::Attribute { attribute: "axis", .. }));
}

#[test]
fn channels_are_moved_and_scales_made() {
    let norm = OpDesc::new("batch_norm")
        .with_input("X", ["x"])
        .with_input("Mean", ["y"])
        .with_input("Variance", ["y"])
        .with_output("Y", ["out"])
        .with_attr(OpAttr::bool("is_test", true));
    let behind = norm.clone().with_attr(OpAttr::string("data_layout", "NHWC"));
    let moved = lines(&[-1, 4, 5, 3], &[3], behind.clone());
    assert_eq!(moved[0], "transpose2: f32[_, 3, 4, 5] = transpose2(x, perm=[0, 3, 1, 2])");
    assert!(moved[1].ends_with("f32[3] = fill_constant(value=1.0)"), "{}", moved[1]);
    assert!(moved[2].ends_with("f32[3] = fill_constant(value=0.0)"), "{}", moved[2]);
    assert_eq!(moved.last().unwrap(), "out: f32[_, 4, 5, 3] = transpose2(batch_norm, perm=[0, 2, 3, 1])");
    // There is nothing to move.
    assert_eq!(lines(&[-1, 3], &[3], behind).len(), 3);
    let scaled = lines(&[-1, 3, 4, 5], &[3], norm.with_input("Scale", ["y"]));
    assert_eq!(scaled.len(), 2, "{scaled:?}");
}
