//! The forms that PaddlePaddle's operators come in.

use paddle_core::convert::{ConvertError, Fault, from_wire};
use paddle_core::ops::Program;
use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind};

use crate::build::{block, fetch, float, holder, network, op, op2, parameter, program, var};
use crate::round_trip::check;

/// Reads a program that has to be well-formed.
pub(crate) fn read(desc: &ProgramDesc) -> String {
    let program = from_wire(desc, None).unwrap_or_else(|error| panic!("{error}"));
    check("as read", &program);
    program.to_string()
}

/// The operators of a program's outermost block, as text.
pub(crate) fn body(program: &str) -> Vec<&str> {
    let lines = program.lines().skip_while(|line| !line.starts_with("  block 0")).skip(1);
    lines.map(str::trim).take_while(|line| !line.starts_with("return")).collect()
}

/// Reads one operator `x`, `y` → `out`.
fn read_one(x: &[i64], y: &[i64], op: OpDesc) -> Result<Program, ConvertError> {
    let inputs = [float("x", x), float("y", y)];
    from_wire(&network(&inputs, &[float("out", &[])], &[op], &["out"]), None)
}

pub(crate) fn lines(x: &[i64], y: &[i64], op: OpDesc) -> Vec<String> {
    let program = read_one(x, y, op).unwrap_or_else(|error| panic!("{error}"));
    check("one operator", &program);
    body(&program.to_string()).into_iter().map(str::to_string).collect()
}

pub(crate) fn fault(x: &[i64], y: &[i64], op: OpDesc) -> Fault {
    match read_one(x, y, op) {
        Ok(program) => panic!("it is read:\n{program}"),
        Err(error) => error.fault,
    }
}

/// `axis` says where the second operand's dimensions start.
#[test]
fn axes_of_element_wise_operators() {
    let add = |axis| op2("elementwise_add", "x", "y", "out").with_attr(OpAttr::int("axis", axis));
    let plain = ["out: f32[_, 3, 4] = elementwise_add(x, y)"];
    assert_eq!(lines(&[-1, 3, 4], &[4], add(-1)), plain);
    assert_eq!(lines(&[-1, 3, 4], &[3, 4], add(1)), plain);
    assert_eq!(lines(&[-1, 3, 4], &[], add(1)), plain);
    let aligned = [
        "reshape2: f32[3, 1] = reshape2(y, dims=[3, 1])",
        "out: f32[_, 3, 4] = elementwise_add(x, reshape2)",
    ];
    assert_eq!(lines(&[-1, 3, 4], &[3], add(1)), aligned);
    let rows = [
        "reshape2: f32[_, 1, 1] = reshape2(y, dims=[1, 1])",
        "out: f32[_, 3, 4] = elementwise_add(x, reshape2)",
    ];
    assert_eq!(lines(&[-1, 3, 4], &[-1], add(0)), rows);
    assert!(lines(&[-1, 3], &[3], add(2))[0].contains("foreign"));
    assert!(matches!(fault(&[-1, 3, 4], &[5], add(1)), Fault::Build(_)));
    let less = op2("less_than", "x", "y", "out").with_attr(OpAttr::int("axis", 1));
    assert_eq!(lines(&[-1, 3], &[3], less), ["out: bool[_, 3] = less_than(x, y)"]);
}

#[test]
fn bias_before_and_after_scale() {
    let scale = |after| {
        op("scale", "x", "out")
            .with_input("ScaleTensor", [""; 0])
            .with_attr(OpAttr::float("scale", 2.5))
            .with_attr(OpAttr::float("bias", 3.0))
            .with_attr(OpAttr::bool("bias_after_scale", after))
    };
    assert_eq!(lines(&[-1], &[], scale(true)), ["out: f32[_] = scale(x, scale=2.5, bias=3.0)"]);
    assert_eq!(lines(&[-1], &[], scale(false)), ["out: f32[_] = scale(x, scale=2.5, bias=7.5)"]);
    let ids = from_wire(
        &network(&[var("x", VarKind::Int64, &[1])], &[float("out", &[])], &[scale(false)], &["out"]),
        None,
    );
    assert!(ids.unwrap().to_string().contains("out: i64[1] = scale(x, scale=2.0, bias=6.0)"));
    let increment = op("increment", "x", "out").with_attr(OpAttr::float("step", 2.0));
    assert_eq!(lines(&[1], &[], increment), ["out: f32[1] = scale(x, bias=2.0)"]);
}

#[test]
fn functions_and_their_attributes() {
    let leaky = op("leaky_relu", "x", "out");
    assert_eq!(lines(&[-1], &[], leaky.clone()), ["out: f32[_] = leaky_relu(x)"]);
    let leaky = leaky.with_attr(OpAttr::float("alpha", 0.25));
    assert_eq!(lines(&[-1], &[], leaky), ["out: f32[_] = leaky_relu(x, alpha=0.25)"]);
    let clip =
        op("clip", "x", "out").with_attr(OpAttr::float("max", 2.0)).with_attr(OpAttr::float("min", -2.0));
    assert_eq!(lines(&[-1], &[], clip.clone()), ["out: f32[_] = clip(x, min=-2.0, max=2.0)"]);
    let pow = op2("elementwise_pow", "x", "y", "out");
    assert_eq!(lines(&[-1, 3], &[3], pow), ["out: f32[_, 3] = elementwise_pow(x, y)"]);
    let cast = op("cast", "x", "out").with_attr(OpAttr::int("out_dtype", VarKind::Int64.into()));
    assert_eq!(lines(&[-1], &[], cast), ["out: i64[_] = cast(x, dtype=i64)"]);
}

#[test]
fn products() {
    let mul = |x, y| {
        op2("mul", "x", "y", "out")
            .with_attr(OpAttr::int("x_num_col_dims", x))
            .with_attr(OpAttr::int("y_num_col_dims", y))
    };
    assert_eq!(lines(&[-1, 4], &[4, 2], mul(1, 1)), ["out: f32[_, 2] = matmul_v2(x, y)"]);
    let flat = ["reshape2: f32[_, 12] = reshape2(x, dims=[12])", "out: f32[_, 2] = matmul_v2(reshape2, y)"];
    assert_eq!(lines(&[-1, 3, 4], &[12, 2], mul(1, 1)), flat);
    let both = [
        "reshape2: f32[4, 10] = reshape2(y, dims=[4, 10])",
        "matmul_v2: f32[2, 3, 10] = matmul_v2(x, reshape2)",
        "out: f32[2, 3, 2, 5] = reshape2(matmul_v2, dims=[2, 3, 2, 5])",
    ];
    assert_eq!(lines(&[2, 3, 4], &[4, 2, 5], mul(2, 1)), both);
    assert_eq!(lines(&[-1, 3, 4], &[4, 2], mul(2, 1)), ["out: f32[_, 3, 2] = matmul_v2(x, y)"]);
    assert!(matches!(
        fault(&[-1, 4], &[4, 2], mul(0, 1)),
        Fault::Attribute { attribute: "x_num_col_dims", .. }
    ));
    assert!(matches!(
        fault(&[-1, 4], &[4, 2], mul(1, 2)),
        Fault::Attribute { attribute: "y_num_col_dims", .. }
    ));
    assert!(matches!(fault(&[-1, 4], &[3, 2], mul(1, 1)), Fault::Build(_)));

    let matmul = op2("matmul_v2", "x", "y", "out").with_attr(OpAttr::bool("trans_y", true));
    assert_eq!(lines(&[-1, 4], &[2, 4], matmul.clone()), ["out: f32[_, 2] = matmul_v2(x, y, trans_y=true)"]);
    assert_eq!(
        lines(&[-1, 3, 4], &[2, 4], matmul.clone()),
        ["out: f32[_, 3, 2] = matmul_v2(x, y, trans_y=true)"]
    );
    assert_eq!(lines(&[-1, 4], &[4], matmul), ["out: f32[_] = matmul_v2(x, y, trans_y=true)"]);

    let legacy = op2("matmul", "x", "y", "out").with_attr(OpAttr::bool("transpose_X", true));
    let scaled = legacy.clone().with_attr(OpAttr::float("alpha", 0.5));
    let both = [
        "matmul_v2: f32[_, 3, 2] = matmul_v2(x, y, trans_x=true)",
        "out: f32[_, 3, 2] = scale(matmul_v2, scale=0.5)",
    ];
    assert_eq!(lines(&[-1, 4, 3], &[-1, 4, 2], scaled), both);
    let vectors = ["out: f32[] = matmul_v2(x, y, trans_x=true)"];
    assert_eq!(lines(&[3], &[3], legacy.clone()), vectors);
    let heads = legacy.with_attr(OpAttr::int("head_number", 2));
    assert!(lines(&[3, 4], &[3, 4], heads)[0].contains("foreign"));
    let dot = [
        "elementwise_mul: f32[_, 3] = elementwise_mul(x, y)",
        "out: f32[_] = reduce_sum(elementwise_mul, axes=[1])",
    ];
    assert_eq!(lines(&[-1, 3], &[-1, 3], op2("dot", "x", "y", "out")), dot);
}

#[test]
fn reductions() {
    let sum = |dim: &[i32], all| {
        op("reduce_sum", "x", "out")
            .with_attr(OpAttr::ints("dim", dim))
            .with_attr(OpAttr::bool("reduce_all", all))
    };
    let x = [-1, 3, 4];
    assert_eq!(lines(&x, &[], sum(&[-1, 0], false)), ["out: f32[3] = reduce_sum(x, axes=[0, 2])"]);
    assert_eq!(lines(&x, &[], sum(&[], false)), ["out: f32[] = reduce_sum(x)"]);
    assert_eq!(lines(&x, &[], sum(&[1], true)), ["out: f32[] = reduce_sum(x)"]);
    assert_eq!(lines(&x, &[], op("reduce_sum", "x", "out")), ["out: f32[3, 4] = reduce_sum(x, axes=[0])"]);
    assert_eq!(lines(&x, &[], op("mean", "x", "out")), ["out: f32[] = reduce_mean(x)"]);
    assert!(matches!(fault(&x, &[], sum(&[3], false)), Fault::Attribute { attribute: "dim", .. }));
    assert!(matches!(fault(&x, &[], sum(&[-4], false)), Fault::Attribute { attribute: "dim", .. }));
    let wrong = op("reduce_sum", "x", "out").with_attr(OpAttr::string("dim", "0"));
    assert!(matches!(fault(&x, &[], wrong), Fault::Wire(_)));
    let as_f64 = sum(&[0], false).with_attr(OpAttr::int("out_dtype", VarKind::Fp64.into()));
    assert_eq!(
        lines(&x, &[], as_f64),
        ["cast: f64[_, 3, 4] = cast(x, dtype=f64)", "out: f64[3, 4] = reduce_sum(cast, axes=[0])"]
    );
}

#[test]
fn shapes() {
    let reshape = |shape: &[i32]| op("reshape2", "x", "out").with_attr(OpAttr::ints("shape", shape));
    let out = |shape: &[i32]| lines(&[-1, 3, 4], &[], reshape(shape)).remove(0);
    assert_eq!(out(&[0, 12]), "out: f32[_, 12] = reshape2(x, dims=[12])");
    assert_eq!(out(&[-1, 6, 2]), "out: f32[_, 6, 2] = reshape2(x, dims=[6, 2])");
    assert_eq!(out(&[0, 0, -1, 2]), "out: f32[_, 3, 2, 2] = reshape2(x, dims=[3, 2, 2])");
    // What moves elements between rows makes the batch an ordinary axis.
    assert_eq!(
        lines(&[-1, 3, 4], &[], reshape(&[12, -1])),
        [
            "rows_to_axis: f32[(_), 3, 4] = rows_to_axis(x)",
            "out: f32[12, _] = reshape2(rows_to_axis, dims=[12, _])",
        ]
    );
    assert!(out(&[0, 0, 0, 0, 0]).contains("foreign"));
    assert!(lines(&[-1, 3, 4], &[], reshape(&[-1, 6]))[1].starts_with("out: f32[2 * _, 6] = reshape2("));
    assert!(out(&[-1, 5]).contains("foreign"));
    assert!(out(&[-1, -1, 4]).contains("foreign"));
}

#[test]
fn softmax_along_an_axis() {
    let softmax = |axis| op("softmax", "x", "out").with_attr(OpAttr::int("axis", axis));
    for axis in [-1, 2] {
        assert_eq!(lines(&[-1, 3, 4], &[], softmax(axis)), ["out: f32[_, 3, 4] = softmax(x)"]);
    }
    assert_eq!(
        lines(&[-1, 3, 4], &[], softmax(1)),
        [
            "transpose2: f32[_, 4, 3] = transpose2(x, perm=[0, 2, 1])",
            "softmax: f32[_, 4, 3] = softmax(transpose2)",
            "out: f32[_, 3, 4] = transpose2(softmax, perm=[0, 2, 1])",
        ]
    );
    assert_eq!(
        lines(&[-1, 3, 4], &[], softmax(0)),
        [
            "rows_to_axis: f32[(_), 3, 4] = rows_to_axis(x)",
            "transpose2: f32[4, 3, _] = transpose2(rows_to_axis, perm=[2, 1, 0])",
            "softmax: f32[4, 3, _] = softmax(transpose2)",
            "axis_to_rows: f32[(_), 3, 4] = transpose2(softmax, perm=[2, 1, 0])",
            "out: f32[_, 3, 4] = axis_to_rows(axis_to_rows, x)",
        ]
    );
    let cross_entropy = |attr| {
        let op = OpDesc::new("softmax_with_cross_entropy")
            .with_input("Logits", ["x"])
            .with_input("Label", ["y"])
            .with_output("Loss", ["out"])
            .with_output("Softmax", ["p"])
            .with_attr(attr);
        let inputs = [float("x", &[-1, 4]), var("y", VarKind::Int64, &[-1, 1])];
        read(&network(&inputs, &[float("out", &[-1, 1]), float("p", &[-1, 4])], &[op], &["out"]))
    };
    let text = cross_entropy(OpAttr::int("ignore_index", -100));
    // No gradient passes through the softmax.
    let plain =
        ["p: f32[_, 4], out: f32[_, 1] = softmax_with_cross_entropy(x, y)", "p_1: f32[_, 4] = share_data(p)"];
    assert_eq!(body(&text), plain);
    let text = cross_entropy(OpAttr::int("ignore_index", 0));
    assert!(text.contains("softmax_with_cross_entropy(x, y, ignore_index=0)"), "{text}");
    assert!(cross_entropy(OpAttr::int("axis", 0)).contains("foreign"));
}

#[test]
fn parts_and_orders() {
    let concat = |axis| {
        OpDesc::new("concat")
            .with_input("X", ["x", "y"])
            .with_output("Out", ["out"])
            .with_attr(OpAttr::int("axis", axis))
    };
    assert_eq!(lines(&[-1, 3], &[-1, 4], concat(-1)), ["out: f32[_, 7] = concat(x, y, axis=1)"]);
    assert_eq!(
        lines(&[-1, 3], &[-1, 3], concat(0)),
        [
            "rows_to_axis: f32[(_), 3] = rows_to_axis(x)",
            "rows_to_axis_1: f32[(_), 3] = rows_to_axis(y)",
            "out: f32[2 * _, 3] = concat(rows_to_axis, rows_to_axis_1, axis=0)",
        ]
    );
    assert!(matches!(fault(&[-1, 3, 2], &[-1, 4, 3], concat(1)), Fault::Build(_)));

    let split = || OpDesc::new("split").with_input("X", ["x"]).with_output("Out", ["out", "y"]);
    let split =
        |attr| lines(&[-1, 6], &[], split().with_attr(OpAttr::int("axis", 1)).with_attr(attr)).remove(0);
    let halves = "out: f32[_, 3], y_1: f32[_, 3] = split(x, axis=1, sections=[3, 3])";
    assert_eq!(split(OpAttr::int("num", 2)), halves);
    assert_eq!(split(OpAttr::ints("sections", [3, -1])), halves);
    assert!(split(OpAttr::int("num", 4)).contains("foreign"));
    assert!(split(OpAttr::ints("sections", [3, 4])).contains("foreign"));

    let slice = |axis: i32, start: i32, end: i32| {
        OpDesc::new("slice")
            .with_input("Input", ["x"])
            .with_output("Out", ["out"])
            .with_attr(OpAttr::ints("axes", [axis]))
            .with_attr(OpAttr::ints("starts", [start]))
            .with_attr(OpAttr::ints("ends", [end]))
    };
    let part = "out: f32[_, 2, 4] = slice(x, axes=[1], starts=[-2], ends=[2147483647])";
    assert_eq!(lines(&[-1, 3, 4], &[], slice(-2, -2, i32::MAX)), [part]);
    let of_rows = lines(&[-1, 3, 4], &[], slice(0, 0, 1));
    assert_eq!(of_rows[0], "rows_to_axis: f32[(_), 3, 4] = rows_to_axis(x)");
    assert!(matches!(fault(&[-1, 3, 4], &[], slice(1, 2, 2)), Fault::Build(_)));
    let one = slice(1, 1, 2).with_attr(OpAttr::ints("decrease_axis", [1]));
    let expected = [
        "slice: f32[_, 1, 4] = slice(x, axes=[1], starts=[1], ends=[2])",
        "out: f32[_, 4] = reshape2(slice, dims=[4])",
    ];
    assert_eq!(lines(&[-1, 3, 4], &[], one), expected);

    let transpose = |axis: &[i32]| op("transpose2", "x", "out").with_attr(OpAttr::ints("axis", axis));
    let turned = "out: f32[_, 4, 3] = transpose2(x, perm=[0, 2, 1])";
    assert_eq!(lines(&[-1, 3, 4], &[], transpose(&[0, 2, 1])), [turned]);
    assert_eq!(
        lines(&[-1, 3, 4], &[], transpose(&[1, 0, 2]))[1],
        "out: f32[3, _, 4] = transpose2(rows_to_axis, perm=[1, 0, 2])"
    );
    assert!(matches!(fault(&[-1, 3, 4], &[], transpose(&[0, 1, 1])), Fault::Build(_)));
}

/// Reads one operator on `x` and ids.
fn with_ids(ids: &[i64], op: OpDesc, outputs: &[(&str, VarKind)]) -> String {
    let outputs: Vec<_> = outputs.iter().map(|(name, kind)| var(name, *kind, &[])).collect();
    let inputs = [float("x", &[6, 4]), var("ids", VarKind::Int64, ids)];
    let program = read(&network(&inputs, &outputs, &[op], &["out"]));
    body(&program).join("; ")
}

#[test]
fn classes_and_entries() {
    let look = |kind: &str| {
        OpDesc::new(kind)
            .with_input("W", ["x"])
            .with_input("Ids", ["ids"])
            .with_output("Out", ["out"])
            .with_attr(OpAttr::long("padding_idx", 2))
    };
    let out = [("out", VarKind::Fp32)];
    let found = with_ids(&[-1, 1], look("lookup_table_v2"), &out);
    assert_eq!(found, "out: f32[_, 1, 4] = lookup_table_v2(ids, x, padding_idx=2)");
    let found = with_ids(&[-1, 1], look("lookup_table"), &out);
    let column = "reshape2: i64[_] = reshape2(ids, dims=[])";
    assert_eq!(found, format!("{column}; out: f32[_, 4] = lookup_table_v2(reshape2, x, padding_idx=2)"));

    let top = |attr| {
        OpDesc::new("top_k_v2")
            .with_input("X", ["x"])
            .with_output("Out", ["out"])
            .with_output("Indices", ["at"])
            .with_attr(OpAttr::int("k", 2))
            .with_attr(attr)
    };
    let outputs = [out[0], ("at", VarKind::Int64)];
    let found = with_ids(&[1], top(OpAttr::int("axis", 1)), &outputs);
    assert_eq!(found, "out: f32[6, 2], at: i64[6, 2] = top_k_v2(x, k=2, axis=1)");
    let found = with_ids(&[1], top(OpAttr::bool("largest", false)), &outputs);
    assert_eq!(found, "out: f32[6, 2], at: i64[6, 2] = top_k_v2(x, k=2, axis=1, largest=false)");
    let found = with_ids(&[1], top(OpAttr::int("axis", 0)), &outputs);
    assert_eq!(found, "out: f32[2, 4], at: i64[2, 4] = top_k_v2(x, k=2, axis=0)");
}

#[test]
fn constants_and_casts() {
    let fill = |dtype: VarKind, value, text: &str| {
        OpDesc::new("fill_constant")
            .with_output("Out", ["out"])
            .with_attr(OpAttr::longs("shape", [1]))
            .with_attr(OpAttr::int("dtype", dtype.into()))
            .with_attr(OpAttr::float("value", value))
            .with_attr(OpAttr::string("str_value", text))
    };
    let line = |op| lines(&[1], &[], op).remove(0);
    assert_eq!(line(fill(VarKind::Fp32, 0.5, "")), "out: f32[1] = fill_constant(value=0.5)");
    assert_eq!(line(fill(VarKind::Fp64, 0.5, "1e-300")), "out: f64[1] = fill_constant(value=1e-300)");
    assert_eq!(
        line(fill(VarKind::Int64, 0.0, "9007199254740993")),
        "out: i64[1] = fill_constant(value=9007199254740993)"
    );
    assert_eq!(line(fill(VarKind::Int32, 2.9, "")), "out: i32[1] = fill_constant(value=2)");
    assert_eq!(line(fill(VarKind::Bool, 1.0, "")), "out: bool[1] = fill_constant(value=true)");
    assert!(line(fill(VarKind::Complex64, 1.0, "")).contains("foreign"));
    assert!(line(fill(VarKind::Fp32, 1.0, "").with_input("ShapeTensor", ["x"])).contains("foreign"));
    assert!(matches!(fault(&[1], &[], fill(VarKind::Int32, 0.0, "4294967296")), Fault::Build(_)));
    let fault = fault(&[1], &[], fill(VarKind::Int32, 0.0, "many"));
    assert!(matches!(fault, Fault::Attribute { attribute: "str_value", .. }));

    let cast = |to: VarKind| op("cast", "x", "out").with_attr(OpAttr::int("out_dtype", to.into()));
    assert_eq!(line(cast(VarKind::Fp32)), "out: f32[1] = cast(x, dtype=f32)");
    assert_eq!(line(cast(VarKind::Int32)), "out: i32[1] = cast(x, dtype=i32)");
    assert!(line(cast(VarKind::Complex64)).contains("foreign"));
}

/// A variable that is overwritten is a value for each write; what was read before stays what it was.
#[test]
fn overwritten_variables() {
    let ops = [op("relu", "x", "x"), op("tanh", "x", "y"), op("square", "x", "x")];
    let text = read(&network(&[float("x", &[-1, 2])], &[float("y", &[])], &ops, &["x", "y"]));
    let expected = ["x_1: f32[_, 2] = relu(x)", "y: f32[_, 2] = tanh(x_1)", "x_2: f32[_, 2] = square(x_1)"];
    assert_eq!(body(&text), expected);
    assert!(text.contains("return x_2, y"));
}

/// Unknown dimensions: in front the batch, elsewhere a size of its own.
#[test]
fn unknown_dimensions() {
    let text = read(&network(&[float("x", &[-1, -1, 3]), float("y", &[4, -1])], &[], &[], &["x", "y"]));
    assert!(text.contains("x: f32[_, \"x[1]\", 3], y: f32[4, \"y[1]\"]"), "{text}");
}

/// An operator that is read as it is defined stays foreign with an input that its definition lacks.
#[test]
fn inputs_that_ours_lacks() {
    let copy = |op: OpDesc| {
        let inputs = [float("x", &[-1, 2])];
        body(&read(&network(&inputs, &[float("y", &[-1, 2])], &[op], &["y"])))[0].to_string()
    };
    assert_eq!(copy(op("share_data", "x", "y")), "y: f32[_, 2] = share_data(x)");
    assert_eq!(
        copy(op("share_data", "x", "y").with_input("Mask", Vec::<String>::new())),
        "y: f32[_, 2] = share_data(x)"
    );
    assert!(copy(op("share_data", "x", "y").with_input("Mask", ["x"])).contains("foreign"));
}

/// A persistable variable that nothing reads is no parameter, unless it says that it is one.
#[test]
fn parameters() {
    let unused = parameter("unused", &[3]);
    let kept = VarDesc { is_parameter: Some(true), ..parameter("kept", &[2]) };
    let others = [unused, kept, parameter("w", &[4, 2]), float("out", &[])];
    let text = read(&network(&[float("x", &[-1, 4])], &others, &[op2("mul", "x", "w", "out")], &["out"]));
    let parameters: Vec<&str> =
        text.lines().filter(|line| line.contains("parameter")).map(str::trim).collect();
    let zeros = "fill_constant(value=0.0)";
    assert_eq!(
        parameters,
        [format!("parameter kept: f32[2] = {zeros}"), format!("parameter w: f32[4, 2] = {zeros}")]
    );
}

/// A loop in a loop: the inner one's state is state of the outer one too.
#[test]
fn nested_loops() {
    let while_op = |condition: &str, block| {
        OpDesc::new("while")
            .with_input("Condition", [condition])
            .with_input("X", [""; 0])
            .with_output("Out", [""; 0])
            .with_output("StepScopes", ["scopes"])
            .with_attr(OpAttr::block("sub_block", block))
    };
    let flag = |name| var(name, VarKind::Bool, &[1]);
    let vars = vec![
        float("x", &[1]),
        float("limit", &[1]),
        flag("outer"),
        holder("scopes", VarKind::StepScopes),
        holder("feed", VarKind::FeedMinibatch),
        holder("fetch", VarKind::FetchList),
    ];
    let ops = vec![
        crate::build::feed("x", 0),
        crate::build::feed("limit", 1),
        op2("less_than", "x", "limit", "outer"),
        while_op("outer", 1),
        fetch("x", 0),
    ];
    let middle = vec![
        op2("less_than", "x", "limit", "inner"),
        while_op("inner", 2),
        op2("less_than", "x", "limit", "outer"),
    ];
    let inner =
        vec![op("increment", "x", "y"), op("assign", "y", "x"), op2("less_than", "x", "limit", "inner")];
    let desc = program(vec![
        block(0, -1, vars, ops),
        block(1, 0, vec![flag("inner")], middle),
        block(2, 1, vec![float("y", &[])], inner),
    ]);
    let text = read(&desc);
    let expected = "\
program {
  block 0 (x: f32[1], limit: f32[1]) {
    outer: bool[1] = less_than(x, limit)
    outer_4: bool[1], x_7: f32[1] = while(outer, x) {
      block 1 (outer_1: bool[1], x_1: f32[1]) {
        yield outer_1
      }
      block 2 (outer_2: bool[1], x_2: f32[1]) {
        inner: bool[1] = less_than(x_2, limit)
        inner_4: bool[1], x_6: f32[1] = while(inner, x_2) {
          block 3 (inner_1: bool[1], x_3: f32[1]) {
            yield inner_1
          }
          block 4 (inner_2: bool[1], x_4: f32[1]) {
            y: f32[1] = scale(x_4, bias=1.0)
            x_5: f32[1] = assign(y)
            inner_3: bool[1] = less_than(x_5, limit)
            yield inner_3, x_5
          }
        }
        outer_3: bool[1] = less_than(x_6, limit)
        yield outer_3, x_6
      }
    }
    return x_7
  }
}
";
    assert_eq!(text, expected);
}
