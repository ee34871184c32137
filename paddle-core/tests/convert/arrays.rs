//! PaddlePaddle's arrays, loops that are written out, and loops whose variables grow.

use paddle_core::convert::load;
use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind};

use crate::build::{block, float, holder, network, op, op2, program, var};
use crate::paddle::{body, read};

fn whole(name: &str) -> VarDesc {
    var(name, VarKind::Int64, &[1])
}

fn number(name: &str, value: &str) -> OpDesc {
    OpDesc::new("fill_constant")
        .with_output("Out", [name])
        .with_attr(OpAttr::int("dtype", VarKind::Int64.into()))
        .with_attr(OpAttr::longs("shape", [1]))
        .with_attr(OpAttr::string("str_value", value))
}

fn write(x: &str, place: &str) -> OpDesc {
    OpDesc::new("write_to_array").with_input("X", [x]).with_input("I", [place]).with_output("Out", ["list"])
}

fn read_at(place: &str, out: &str) -> OpDesc {
    OpDesc::new("read_from_array")
        .with_input("X", ["list"])
        .with_input("I", [place])
        .with_output("Out", [out])
}

fn joined(axis: i32, stack: bool) -> OpDesc {
    OpDesc::new("tensor_array_to_tensor")
        .with_input("X", ["list"])
        .with_output("Out", ["out"])
        .with_output("OutIndex", ["sizes"])
        .with_attr(OpAttr::int("axis", axis))
        .with_attr(OpAttr::bool("use_stack", stack))
}

/// A loop from 0 while the counter `i` is below `n`, which doubles `x` and does the rest of its body.
fn counting(n: &str, rest: Vec<OpDesc>, behind: Vec<OpDesc>) -> ProgramDesc {
    let outer = [
        float("out", &[]),
        float("last", &[]),
        whole("i"),
        whole("three"),
        var("goes_on", VarKind::Bool, &[1]),
        var("sizes", VarKind::Int32, &[-1]),
        holder("list", VarKind::LodTensorArray),
    ];
    let loops = OpDesc::new("while")
        .with_input("Condition", ["goes_on"])
        .with_input("X", ["x", "i"])
        .with_output("Out", ["x", "i", "goes_on"])
        .with_attr(OpAttr::block("sub_block", 1));
    let start = vec![number("i", "0"), number("three", "3"), op2("less_than", "i", n, "goes_on"), loops];
    let ops = [start, behind].concat();
    let mut desc = network(&[float("x", &[-1, 4]), whole("fed")], &outer, &ops, &["out"]);
    let mut inside = vec![op("scale", "x", "y").with_attr(OpAttr::float("scale", 2.0))];
    inside.extend(rest);
    inside.push(op("increment", "i", "i").with_attr(OpAttr::float("step", 1.0)));
    inside.push(op("assign", "y", "x"));
    inside.push(op2("less_than", "i", n, "goes_on"));
    desc.blocks.push(block(1, 0, vec![float("y", &[-1, 4]), float("z", &[-1, -1])], inside));
    program(desc.blocks)
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// The places of an array are known while a program is read.
#[test]
fn a_loop_that_fills_an_array() {
    let stacked = read(&counting("three", vec![write("y", "i")], vec![joined(1, true)]));
    assert_eq!(count(&stacked, "while"), 0, "{stacked}");
    assert_eq!(count(&stacked, "scale=2.0"), 3, "{stacked}");
    assert!(stacked.contains("out: f32[_, 3, 4] = concat("), "{stacked}");
    // Along the batch, which is an ordinary axis there.
    let beside = read(&counting("three", vec![write("y", "i")], vec![joined(0, false)]));
    assert!(beside.contains("rows_to_axis"), "{beside}");
    let last = vec![number("i", "2"), read_at("i", "last"), op("relu", "last", "out")];
    let last = read(&counting("three", vec![write("y", "i")], last));
    assert!(last.contains("out: f32[_, 4] = relu("), "{last}");
}

/// What is in an array is not known if nothing was written.
#[test]
fn what_an_array_lacks() {
    let faults = |desc: &ProgramDesc| load(desc).unwrap_err().to_string();
    let nothing = vec![number("i", "7"), read_at("i", "last"), op("relu", "last", "out")];
    let nothing = faults(&counting("three", vec![write("y", "i")], nothing));
    assert!(
        nothing.contains("`read_from_array`: nothing has been written in the place that it reads"),
        "{nothing}"
    );
    let empty = faults(&counting("three", vec![], vec![joined(1, true)]));
    assert!(empty.contains("`tensor_array_to_tensor`: its array is empty"), "{empty}");
    let far = faults(&counting(
        "three",
        vec![number("i", "1099511627776"), write("y", "i")],
        vec![joined(1, true)],
    ));
    assert!(far.contains("`write_to_array`: the place that it writes to is not known"), "{far}");
}

/// Nobody knows how often a loop runs that writes an array: it collects.
#[test]
fn a_loop_that_collects() {
    let stacked = read(&counting("fed", vec![write("y", "i")], vec![joined(1, true)]));
    assert_eq!(count(&stacked, "while("), 1, "{stacked}");
    assert!(stacked.contains("rounds rows.iterations.rounds of rows.iterations"), "{stacked}");
    assert!(stacked.contains("out: f32[_, rows.iterations, 4] = axis_to_rows("), "{stacked}");
    let beside = read(&counting("fed", vec![write("y", "i")], vec![joined(-1, false)]));
    assert!(beside.contains("out: f32[_, 4 * rows.iterations] = axis_to_rows("), "{beside}");
    // What was written before the loop is in front.
    let start = |mut desc: ProgramDesc| {
        let ops = &mut desc.blocks[0].ops;
        let at = ops.iter().position(|op| op.r#type == "while").unwrap();
        ops.splice(at..at, [number("zero", "0"), write("x", "zero")]);
        desc.blocks[0].vars.push(whole("zero"));
        desc.blocks[1].vars.push(whole("next"));
        desc
    };
    let next = || op("increment", "i", "next").with_attr(OpAttr::float("step", 1.0));
    let more = vec![read_at("i", "z"), op("tanh", "z", "y"), next(), write("y", "next")];
    let longer = read(&start(counting("fed", more, vec![joined(1, true)])));
    assert!(longer.contains("out: f32[_, rows.iterations + 1, 4] = axis_to_rows("), "{longer}");
    // A memory that nothing reads behind the loop is state, and nothing is collected.
    let more = vec![read_at("i", "z"), op("tanh", "z", "y"), next(), write("y", "next")];
    let memory = read(&start(counting("fed", more, vec![op("relu", "x", "out")])));
    assert!(count(&memory, "while(") == 1 && count(&memory, "rounds") == 0, "{memory}");
}

/// An iteration writes the next place of an array, and reads the last one.
#[test]
fn what_a_loop_that_collects_lacks() {
    let faults = |rest| load(&counting("fed", rest, vec![joined(1, true)])).unwrap_err().to_string();
    let fixed = faults(vec![number("three", "3"), write("y", "three")]);
    assert!(fixed.contains("`write_to_array`: it does not write the place behind the last one"), "{fixed}");
    let twice = faults(vec![write("y", "i"), write("y", "i")]);
    assert!(twice.contains("`write_to_array`: it does not write the place behind the last one"), "{twice}");
    let nothing = faults(vec![read_at("i", "z"), write("y", "i")]);
    assert!(nothing.contains("`read_from_array`: it reads another place than the last one"), "{nothing}");
    // A part of the array, which is another one in each iteration.
    let part = op("slice", "", "z").with_input("Input", ["list"]);
    let part = part.with_attr(OpAttr::longs("starts", [-1])).with_attr(OpAttr::longs("ends", [9]));
    let part = part.with_attr(OpAttr::longs("axes", [0])).with_attr(OpAttr::longs("decrease_axis", [0]));
    let part = faults(vec![write("y", "i"), part]);
    assert!(part.contains("`slice`: a loop around it writes into its array"), "{part}");
    // What is taken for a counter has to be one.
    let jumps =
        faults(vec![write("y", "i"), op("increment", "i", "i").with_attr(OpAttr::float("step", 1.0))]);
    assert!(jumps.contains("`while`: an iteration does not write the next place of an array"), "{jumps}");
}

/// A loop that never ends, or takes too long to write out, is refused where it cannot be our `while`.
#[test]
fn too_many_iterations() {
    let endless = vec![write("y", "i"), op("scale", "i", "i").with_attr(OpAttr::float("scale", 0.0))];
    let desc = counting("three", endless, vec![joined(1, true)]);
    let error = load(&desc).unwrap_err().to_string();
    assert!(error.contains("`while`: it has too many iterations"), "{error}");
}

fn concat(x: [&str; 2], out: &str) -> OpDesc {
    OpDesc::new("concat").with_input("X", x).with_output("Out", [out]).with_attr(OpAttr::int("axis", 1))
}

/// A variable that grows is written out where it is known how often, or is in a buffer that is as long as it may become.
#[test]
fn a_loop_whose_variable_grows() {
    let all = || vec![op("relu", "x", "out")];
    let doubled = || vec![concat(["x", "y"], "z"), op("assign", "z", "y")];
    let text = read(&counting("three", doubled(), all()));
    assert_eq!(count(&text, "while"), 0, "{text}");
    assert!(text.contains("out: f32[_, 32] = relu("), "{text}");
    let grows = |n: &str| {
        let more = OpDesc::new("fill_any_like").with_input("X", ["fixed"]).with_output("Out", ["z"]);
        let mut desc = counting(n, vec![more, concat(["y", "z"], "y")], all());
        desc.blocks[0].vars.push(float("fixed", &[-1, 2]));
        desc.blocks[0].ops.insert(2, op("scale", "x", "fixed"));
        desc
    };
    // One iteration more than the counter allows, as the first one may be without a condition.
    let text = read(&grows("fed"));
    assert_eq!(count(&text, "while("), 1, "{text}");
    assert!(text.contains("f32[_, 4 * rows.iterations + 4], "), "{text}");
    assert!(text.contains("out: f32[_, rows.varying_1] = relu("), "{text}");
}

/// What is not known of a variable that grows.
#[test]
fn a_loop_whose_variable_grows_without_limit() {
    let faults = |desc: &ProgramDesc| load(desc).unwrap_err().to_string();
    let doubled = || vec![concat(["x", "y"], "z"), op("assign", "z", "y")];
    let all = || vec![op("relu", "x", "out")];
    let doubled = faults(&counting("fed", doubled(), all()));
    assert!(doubled.contains("`while`: how long a variable becomes follows from more"), "{doubled}");
    // The condition does not depend on a counter.
    let mut desc = counting("fed", vec![concat(["y", "fixed"], "y")], all());
    desc.blocks[0].vars.push(float("fixed", &[-1, 2]));
    desc.blocks[0].ops.insert(2, op("scale", "x", "fixed"));
    for block in &mut desc.blocks {
        block.ops.retain(|op| op.r#type != "increment");
    }
    let endless = faults(&desc);
    assert!(
        endless.contains("`while`: a variable becomes longer, and the condition has no counter"),
        "{endless}"
    );
}

/// A variable that has no value before a loop begins as zeros of the type that an iteration leaves, where it is read behind.
#[test]
fn a_variable_without_a_value() {
    let undefined = OpDesc::new("assign_value")
        .with_output("Out", ["out"])
        .with_attr(OpAttr::int("dtype", VarKind::Fp32.into()))
        .with_attr(OpAttr::ints("shape", [1]))
        .with_attr(OpAttr::floats("fp32_values", [1.77113e27]));
    let mut desc = counting("fed", vec![op("tanh", "y", "out")], vec![op("relu", "out", "last")]);
    let ops = &mut desc.blocks[0].ops;
    let at = ops.iter().position(|op| op.r#type == "while").unwrap();
    ops.insert(at, undefined);
    let text = read(&desc);
    assert_eq!(count(&text, "while("), 1, "{text}");
    assert!(text.contains("f32[_, 4] = fill_constant(value=0.0)"), "{text}");
    assert!(text.contains("last: f32[_, 4] = relu(out"), "{text}");
}

/// Other loops stay loops.
#[test]
fn a_plain_loop() {
    let text = read(&counting("three", vec![], vec![op("relu", "x", "out")]));
    assert_eq!(count(&text, "while("), 1, "{text}");
}

/// Of a branch whose condition is known, only the one that is taken is read.
#[test]
fn a_branch_that_is_known() {
    let taken = |number_of: &str| {
        let outer = [float("out", &[]), whole("i"), whole("three"), var("yes", VarKind::Bool, &[1])];
        let branch = OpDesc::new("conditional_block")
            .with_input("Cond", ["yes"])
            .with_output("Out", ["out"])
            .with_attr(OpAttr::bool("is_scalar_condition", true))
            .with_attr(OpAttr::block("sub_block", 1));
        let ops = [
            number("i", number_of),
            number("three", "3"),
            op2("less_than", "i", "three", "yes"),
            op("tanh", "x", "out"),
            branch,
        ];
        let mut desc = network(&[float("x", &[-1, 4])], &outer, &ops, &["out"]);
        desc.blocks.push(block(1, 0, vec![], vec![op("relu", "x", "out")]));
        let text = read(&program(desc.blocks));
        body(&text).last().map(|line| line.to_string())
    };
    assert!(taken("2").unwrap().ends_with("= relu(x)"));
    assert!(taken("4").unwrap().ends_with("= tanh(x)"));
}

/// Values without rows get a fixed number of them for the sequences that are made of them: it is written and read again.
#[test]
fn rows_of_a_fixed_number() {
    let nms = OpDesc::new("nms")
        .with_input("Boxes", ["x"])
        .with_output("KeepBoxesIdxs", ["out"])
        .with_attr(OpAttr::float("iou_threshold", 0.5));
    let text = read(&network(&[float("x", &[6, 4])], &[float("out", &[])], &[nms], &["out"]));
    assert!(text.contains("rows rows = 1"), "{text}");
    assert!(text.contains("i64[rows.kept]"), "{text}");
}

/// PaddlePaddle's sort may put equal elements in any order, so places where something holds are sorted by keys that differ.
#[test]
fn chosen_places_are_sorted_by_keys_that_differ() {
    let chosen = OpDesc::new("where_index").with_input("Condition", ["x"]).with_output("Out", ["out"]);
    let out = var("out", VarKind::Int64, &[-1, 1]);
    let text = read(&network(&[var("x", VarKind::Bool, &[20])], &[out], &[chosen], &["out"]));
    for line in [
        "cumsum: i64[rows, 20] = cumsum(cast, axis=1, exclusive=true)",
        "elementwise_sub: i64[rows, 20] = elementwise_sub(cast_1, cumsum)",
        "elementwise_mul: i64[rows, 20] = elementwise_mul(elementwise_sub, cast)",
        "argsort(elementwise_mul, axis=1, descending=true)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("concat"), "{text}");
}
