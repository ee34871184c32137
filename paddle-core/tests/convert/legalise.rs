//! What is written for the real PaddlePaddle. Whether it runs there is for `tests/oracle.rs` of the workspace to see.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::convert::{ExportError, Fault, LegaliseError, export, from_wire, legalise, load_params};
use paddle_core::ops::{Loss, LossKind, Program};
use paddle_core::program::{DType, Site, Type};
use paddle_core::text;
use paddle_core::wire::{AttrType, ProgramDesc, TensorRecord, VarKind};

use crate::golden;

fn source(name: &str) -> Program {
    golden().into_iter().find(|(path, _)| path.ends_with(name)).expect("there is one").1
}

/// The types of the operators of each block.
fn operators(desc: &ProgramDesc) -> Vec<Vec<&str>> {
    desc.blocks.iter().map(|block| block.ops.iter().map(|op| op.r#type.as_str()).collect()).collect()
}

/// Nothing of ours; every variable is declared where it is used; blocks are owned and know their parents.
pub(crate) fn is_paddle(desc: &ProgramDesc) {
    let mut owned = BTreeSet::from([0]);
    for (at, block) in desc.blocks.iter().enumerate() {
        assert_eq!(block.idx as usize, at);
        let mut visible: BTreeSet<&str> = BTreeSet::new();
        let mut around = Some(block);
        while let Some(outer) = around {
            visible.extend(outer.vars.iter().map(|var| var.name.as_str()));
            around = usize::try_from(outer.parent_idx).ok().map(|parent| &desc.blocks[parent]);
        }
        for op in &block.ops {
            assert!(!op.r#type.contains('.'), "{} is ours", op.r#type);
            for argument in op.inputs.iter().chain(&op.outputs).flat_map(|slot| &slot.arguments) {
                assert!(
                    visible.contains(argument.as_str()) || argument == "@EMPTY@",
                    "{argument} in {}",
                    op.r#type
                );
            }
            for attr in &op.attrs {
                assert!(!attr.name.contains('.'), "{} of {} is ours", attr.name, op.r#type);
                if attr.r#type == i32::from(AttrType::Block) {
                    let inner = attr.block_idx.expect("it has a value");
                    assert_eq!(desc.blocks[inner as usize].parent_idx, at as i32);
                    assert!(owned.insert(inner), "block {inner} is owned twice");
                }
            }
        }
    }
    assert_eq!(owned.len(), desc.blocks.len());
}

#[test]
fn forward_programs_become_paddlepaddles() {
    let mut written = 0;
    for (name, program) in golden() {
        match legalise(&program) {
            Ok(desc) => {
                is_paddle(&desc);
                written += 1;
            }
            Err(LegaliseError::Operator { reason, .. }) => {
                assert!(reason.contains("training"), "{name}: {reason}");
                assert!(!name.ends_with("while_scalar.txt"));
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    assert!(written > 4);
}

/// Each branch runs if it has rows, which it gathers; both are joined and sorted; what has no rows is not gathered.
#[test]
fn rows_of_branches() {
    let desc = legalise(&source("if_per_row.txt")).expect("it is written");
    let [global, yes, no] = &operators(&desc)[..] else { panic!("three blocks") };
    assert_eq!(global[..5], ["feed", "feed", "feed", "assign_value", "greater_than"]);
    assert_eq!(global[5..10], ["reshape2", "logical_not", "where_index", "where_index", "logical_not"]);
    let branch = ["reduce_any", "fill_constant", "fill_constant", "conditional_block"];
    assert_eq!((&global[10..14], &global[14..18]), (&branch[..], &branch[..]));
    let merge = ["concat", "concat", "reshape2", "argsort", "gather"];
    assert_eq!((&global[18..23], &global[23..28]), (&merge[..], &merge[..]));
    assert_eq!(global[28..], ["fetch", "fetch"]);
    assert_eq!(
        yes[..],
        ["reshape2", "where_index", "gather", "elementwise_add", "softmax", "assign", "assign"]
    );
    assert_eq!(no[..4], ["reshape2", "logical_not", "where_index", "gather"]);
    assert_eq!(
        no[4..],
        ["matmul_v2", "elementwise_add", "assign_value", "elementwise_add", "assign", "assign"]
    );
}

/// What is written for PaddlePaddle's `while` is read back as a loop of ours.
#[test]
fn loops_are_read_back() {
    let program = source("while_scalar.txt");
    let desc = legalise(&program).expect("it is written");
    let [global, body] = &operators(&desc)[..] else { panic!("two blocks") };
    let before = ["feed", "fill_constant", "fill_constant", "assign", "assign", "less_than", "assign"];
    assert_eq!(global[..7], before);
    assert_eq!(global[7..], ["while", "reduce_mean", "fetch"]);
    assert_eq!(body[..], ["matmul_v2", "tanh", "scale", "assign", "assign", "less_than", "assign"]);
    let again = from_wire(&desc, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.to_string().matches(" = while(").count(), 1);
    assert_eq!(again.show(again.ty(again.outputs()[0])), "f32[]");
}

fn refused(source: &str) -> String {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    legalise(&program).expect_err("it is refused").to_string()
}

/// Sizes that a batch decides are read from inputs; those of rows that are always as many are known.
/// Releases of PaddlePaddle disagree about slices that go backwards.
#[test]
fn slices_go_forwards() {
    let written = |slice: &str, ty: &str| {
        let source = format!(
            "program {{\n  rows _\n  size T\n  block 0 (x: f32[_, T, 5]) {{\n    y: f32{ty} = {slice}\n    return y\n  }}\n}}\n"
        );
        let desc = legalise(&text::parse(&source).unwrap()).unwrap_or_else(|error| panic!("{error}"));
        is_paddle(&desc);
        operators(&desc)[0].join(" ")
    };
    let whole = "strided_slice(x, axes=[2], starts=[-1], ends=[-1], strides=[-1])";
    assert_eq!(written(whole, "[_, T, 5]"), "feed flip fetch");
    let half = "strided_slice(x, axes=[2], starts=[-1], ends=[-1], strides=[-2])";
    assert_eq!(written(half, "[_, T, 3]"), "feed flip strided_slice fetch");
    let forwards = "strided_slice(x, axes=[2], starts=[0], ends=[5], strides=[2])";
    assert_eq!(written(forwards, "[_, T, 3]"), "feed strided_slice fetch");
}

#[test]
fn sizes_are_computed() {
    let written = |source: &str| {
        let desc = legalise(&text::parse(source).unwrap()).unwrap_or_else(|error| panic!("{error}"));
        is_paddle(&desc);
        desc
    };
    let desc = written(
        "program {\n  size T\n  block 0 (x: f32[3, T]) {\n    y: f32[2 * T + 1] = fill_constant(value=1.0)\n    \
         r: f32[T] = range(start=1.0, step=2.0)\n    return y, r\n  }\n}\n",
    );
    let size = ["shape", "slice", "cast"];
    let fill = ["fill_constant", "elementwise_mul", "fill_constant", "elementwise_add", "fill_constant"];
    let range = [
        "fill_constant",
        "fill_constant",
        "range",
        "cast",
        "fill_constant",
        "fill_constant",
        "elementwise_mul",
        "elementwise_add",
    ];
    let all: Vec<&str> =
        ["feed"].iter().chain(&size).chain(&fill).chain(&size).chain(&range).copied().collect();
    let mut found = operators(&desc)[0].clone();
    found.retain(|op| *op != "fetch");
    let sorted = |mut ops: Vec<&str>| {
        ops.sort();
        ops.join(" ")
    };
    assert_eq!(sorted(found), sorted(all));
    let desc = written(
        "program {\n  rows rows = 2\n  block 0 (x: f32[2, 3]) {\n    n: i64[rows] = row_numbers()\n    \
         y: f32[rows, 3] = axis_to_rows(x, n)\n    return y, n\n  }\n}\n",
    );
    assert!(operators(&desc)[0].contains(&"fill_constant"));
}

#[test]
fn what_cannot_be_exported() {
    let nowhere = "program {\n  size T\n  block 0 (x: f32[2]) {\n    y: f32[T] = fill_constant(value=1.0)\n    return x, y\n  }\n}\n";
    assert_eq!(
        refused(nowhere),
        "`fill_constant` cannot be exported: one of its sizes is that of nothing that is exported"
    );
    let no_rows = "program {\n  rows _\n  block 0 () {\n    y: f32[_] = fill_constant(value=1.0)\n    return y\n  }\n}\n";
    assert_eq!(refused(no_rows), "`fill_constant` cannot be exported: no input has the rows of `_`");
    let name = "program {\n  rows _\n  block 0 (feed: f32[_]) {\n    return feed\n  }\n}\n";
    assert_eq!(refused(name), "an input or parameter cannot be exported under the name `feed`; rename it");
    let epsilon = "program {\n  rows _\n  block 0 (x: f32[_, 2], s: f32[2]) {\n    y: f32[_, 2], m: f32[_], v: f32[_] = layer_norm(x, s, s, epsilon=0.1, begin_norm_axis=1)\n    return y\n  }\n}\n";
    assert_eq!(
        refused(epsilon),
        "`layer_norm` cannot be exported: PaddlePaddle takes an epsilon of at most 0.001, not 0.1"
    );
    let wide = "program {\n  rows _\n  size T\n  block 0 (x: f32[_, T]) {\n    y: f32[_, T] = hinge_loss(x, x)\n    return y\n  }\n}\n";
    assert_eq!(
        refused(wide),
        "`hinge_loss` cannot be exported: PaddlePaddle computes it of columns, `[_, 1]`; reshape to one"
    );
    let order = "program {\n  rows _\n  tokens _.x of _\n  steps _.x.steps of _.x\n  block 0 (x: f32[_.x, 2]) {\n    y: f32[_.x.steps, 2] = gather_rows(x)\n    return y\n  }\n}\n";
    assert_eq!(
        refused(order),
        "`y` cannot be exported: it is in the order of the iterations of a loop; put it back with `scatter_rows`"
    );
    let error = legalise(&source("linear_regression.backward.txt")).expect_err("it is refused").to_string();
    assert!(error.contains("export the program from before `backward`"), "{error}");
}

/// PaddlePaddle has these operators too, but its kernels do less.
#[test]
fn what_its_kernels_do_not_do_is_written_out() {
    let cases = [
        ("f32[_, 3] = relu6(x, threshold=8.0)", "clip"),
        ("f32[_, 3] = relu6(x, threshold=6.0)", "relu6"),
        ("f32[_, 3] = swish(x, beta=2.0)", "scale sigmoid elementwise_mul"),
        (
            "f32[_, 3] = hard_swish(x, threshold=8.0, scale=8.0, offset=4.0)",
            "scale clip scale elementwise_mul",
        ),
        ("f32[_, 3] = where(c, x, one)", "expand_as_v2 expand_as_v2 where"),
        ("f32[_, 3] = where(c3, x, x)", "where"),
    ];
    for (operator, expected) in cases {
        let source = format!(
            "program {{\n  rows _\n  block 0 (x: f32[_, 3], c: bool[_, 1], c3: bool[_, 3], one: f32[]) {{\n    y: {operator}\n    return y\n  }}\n}}\n"
        );
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let desc = legalise(&program).unwrap_or_else(|error| panic!("{error}\n{source}"));
        is_paddle(&desc);
        let written = operators(&desc)[0].join(" ");
        assert_eq!(written.replace("feed ", "").replace(" fetch", ""), expected, "{operator}");
    }
}

/// The condition of a loop is written before it and at the end of its body. A loop in the condition of a loop in the
/// condition of a loop … doubles each time.
#[test]
fn loops_in_conditions_of_loops() {
    let nested = |depth: usize| {
        let mut text = "program {\n  block 0 (c: bool[]) {\n".to_string();
        for at in 0..depth {
            let (condition, inner) =
                (2 * at + 1, if at == 0 { "c".to_string() } else { format!("p{}", at - 1) });
            text += &format!("o{at}: bool[] = while({inner}) {{\nblock {condition} (p{at}: bool[]) {{\n");
        }
        text += &format!("yield p{}\n}}\n", depth - 1);
        for at in (0..depth).rev() {
            text += &format!(
                "block {} (q{at}: bool[]) {{\nr{at}: bool[] = logical_not(q{at})\nyield r{at}\n}}\n}}\n",
                2 * at + 2
            );
            text += &if at == 0 { "return o0\n}\n}\n".to_string() } else { format!("yield o{at}\n}}\n") };
        }
        text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let desc = legalise(&nested(3)).unwrap_or_else(|error| panic!("{error}"));
    is_paddle(&desc);
    assert_eq!(desc.blocks.len(), 8);
    assert!(matches!(legalise(&nested(60)), Err(LegaliseError::TooLarge { .. })));
}

/// Sums without the element itself are a difference: PaddlePaddle's kernel reads elements that it may have overwritten. What
/// each row chooses from is listed row by row.
#[test]
fn sums_and_choices() {
    let source = "program {
  rows _
  block 0 (x: f32[_, 3, 2], which: i64[_, 4]) {
    before: f32[_, 3, 2] = cumsum(x, axis=1, exclusive=true)
    chosen: f32[_, 4, 2] = gather(before, which, axis=1)
    return chosen
  }
}
";
    let desc = legalise(&text::parse(source).unwrap_or_else(|error| panic!("{error}"))).unwrap();
    is_paddle(&desc);
    let written = operators(&desc)[0].join(" ");
    let expected = "feed feed cumsum elementwise_sub fill_constant_batch_size_like cumsum elementwise_sub \
                    reshape2 elementwise_add reshape2 reshape2 gather reshape2 fetch";
    assert_eq!(written, expected);
    assert_eq!(desc.blocks[0].ops[2].attr_bool("exclusive"), Ok(Some(false)));
}

/// Symbolic sizes stay unknown; a value is fetched once, and an input under another name.
#[test]
fn sizes_and_outputs() {
    let source = "program {
  rows _
  size T
  block 0 (x: f32[_, T, 4]) {
    y: f32[_, 4 * T] = reshape2(x, dims=[4 * T])
    z: f32[_, T, 2, 2] = reshape2(x, dims=[T, 2, 2])
    return y, z, y, x
  }
}
";
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let desc = legalise(&program).unwrap_or_else(|error| panic!("{error}"));
    is_paddle(&desc);
    let block = &desc.blocks[0];
    let shapes: Vec<&[i32]> =
        block.ops.iter().filter_map(|op| op.attr_ints("shape").expect("they are INTS")).collect();
    assert_eq!(shapes, [&[0, -1][..], &[0, 0, 2, 2]]);
    let fetched: BTreeSet<&str> =
        block.ops.iter().filter(|op| op.r#type == "fetch").map(|op| op.input("X")[0].as_str()).collect();
    assert_eq!(fetched.len(), 4);
    assert!(!fetched.contains("x"));
}

#[test]
fn parameters_are_checked_and_sorted() {
    let program = source("if_in_while.txt");
    let record = |dims: &[i64]| TensorRecord {
        lod: Vec::new(),
        element: VarKind::Fp32,
        dims: dims.to_vec(),
        data: vec![1; 4 * dims.iter().product::<i64>() as usize],
    };
    let mut params =
        BTreeMap::from([("w".to_string(), record(&[4, 4])), ("other".to_string(), record(&[2]))]);
    let fault = |params: &BTreeMap<String, TensorRecord>| match export(&program, params) {
        Err(ExportError::Parameters(error)) => error.fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(&params), Fault::MissingParameter { name: "b".into() });
    params.insert("b".into(), record(&[1, 4]));
    assert!(matches!(fault(&params), Fault::Parameter { .. }));
    params.insert("b".into(), record(&[4]));
    let files = export(&program, &params).expect("it is written");
    let desc = ProgramDesc::decode(&files.model).expect("it is a program");
    let loaded = load_params(&desc, &program, &files.params).expect("they are those of the program");
    params.remove("other");
    assert_eq!(loaded, params);
}

/// Offsets are set where they are needed; a maximum has a place for its index. Read back, it is the same.
#[test]
fn sequences() {
    let source = "program {
  rows _
  tokens _.x of _
  block 0 (x: f32[_.x, 2], rate: f32[]) {
    h: f32[_.x, 2] = tanh(x)
    less: f32[_.x, 2] = elementwise_sub(rate, h)
    max: f32[_, 2] = sequence_pool(less, pooltype=\"MAX\", pad_value=0.5)
    return max, h
  }
}
";
    let desc = legalise(&text::parse(source).unwrap()).unwrap();
    is_paddle(&desc);
    let expected = "feed feed tanh elementwise_sub lod_reset sequence_pool fetch lod_reset fetch";
    assert_eq!(operators(&desc), [expected.split(' ').collect::<Vec<_>>()]);
    let level = |name: &str| {
        let var = desc.blocks[0].vars.iter().find(|var| var.name == name).unwrap();
        var.r#type.lod_tensor.as_ref().unwrap().lod_level
    };
    assert_eq!(["x", "h", "lod_reset", "max"].map(level), [Some(1), Some(1), Some(1), Some(0)]);
    let pool = &desc.blocks[0].ops[5];
    assert_eq!(pool.attr_string("pooltype"), Ok(Some("MAX")));
    assert_eq!(pool.output("MaxIndex").len(), 1);
    let again = from_wire(&desc, None).unwrap().to_string();
    assert!(
        again.contains("max: f32[_, 2] = sequence_pool(lod_reset, pooltype=\"MAX\", pad_value=0.5)"),
        "{again}"
    );
    assert!(again.contains("lod_reset: f32[_.x, 2] = assign(less)"), "{again}");

    let constant = source.replace("h: f32[_.x, 2] = tanh(x)", "h: f32[_.x, 2] = fill_constant(value=1.0)");
    let desc = legalise(&text::parse(&constant).unwrap()).unwrap();
    is_paddle(&desc);
    // Of a value with offsets, sequences would count.
    assert_eq!(operators(&desc)[0][2..4], ["slice", "fill_constant_batch_size_like"]);
}

/// Lengths are sums of ones, the largest logit is subtracted, tokens of others get their offsets; numbers without a dimension
/// beside the rows become columns on the way; tokens are turned round by their numbers. Read back, values of two inputs are
/// aligned again.
#[test]
fn tokens() {
    let source = "program {
  rows _
  tokens _.x of _
  tokens _.y of _
  block 0 (x: f32[_.x], y: f32[_.y, 1]) {
    column: f32[_.x, 1] = reshape2(x, dims=[1])
    aligned: f32[_.y, 1] = sequence_align(column, y)
    weight: f32[_.y, 1] = sequence_softmax(aligned)
    n: i64[_] = sequence_length(x)
    expanded: i64[_.y] = sequence_expand_as(n, y)
    back: f32[_.x] = sequence_reverse(x)
    return weight, expanded, back
  }
}
";
    let desc = legalise(&text::parse(source).unwrap()).unwrap();
    is_paddle(&desc);
    let lengths = "slice fill_constant_batch_size_like lod_reset sequence_pool cast reshape2";
    let reversed = "cumsum elementwise_sub scale elementwise_add repeat_interleave cumsum slice fill_constant fill_constant \
                    range elementwise_sub gather";
    let expected = format!(
        "feed feed unsqueeze2 lod_reset lod_reset sequence_pool slice sequence_expand elementwise_sub sequence_softmax \
         {lengths} reshape2 slice sequence_expand squeeze2 {reversed} lod_reset fetch lod_reset fetch lod_reset fetch"
    );
    assert_eq!(operators(&desc), [expected.split(' ').collect::<Vec<_>>()]);
    let again = from_wire(&desc, None).unwrap().to_string();
    assert!(again.contains("aligned: f32[_.y, 1] = sequence_align("), "{again}");

    // Truth values are numbers on the way.
    let truth = source.replace("x: f32[_.x], y", "x: f32[_.x], t: bool[_.x], y");
    let truth =
        truth.replace("back: f32[_.x] = sequence_reverse(x)", "back: bool[_.x] = sequence_reverse(t)");
    is_paddle(&legalise(&text::parse(&truth).unwrap()).unwrap());
}

/// What kernels of PaddlePaddle's default predictor compute otherwise, or not at all, has other forms: a dividend gets the shape of the
/// quotient, axes are padded as those of volumes, classes out of range are compared, images whose padding counts are padded before
/// windows reach over it, a low threshold is a choice, and bounds of slices have 32 bits.
#[test]
fn forms_for_the_default_predictor() {
    let of_lines = |inputs: &str, lines: &str, expected: &str| {
        let tokens = if inputs.contains("_.x") { "  tokens _.x of _\n" } else { "" };
        let block = format!("block 0 ({inputs}) {{\n    {lines}\n    return y\n  }}");
        let size = if inputs.contains(" T,") { "  size T\n" } else { "" };
        let source = format!("program {{\n  rows _\n{size}{tokens}  {block}\n}}\n");
        let desc = legalise(&text::parse(&source).unwrap()).unwrap();
        is_paddle(&desc);
        let mut found = operators(&desc).concat();
        found.retain(|name| !matches!(*name, "feed" | "fetch"));
        assert_eq!(found.join(" "), expected, "{block}");
        desc
    };
    let is = |inputs: &str, result: &str, expected: &str| of_lines(inputs, &format!("y: {result}"), expected);
    is("c: f32[1], x: f32[_, 3]", "f32[_, 3] = elementwise_div(c, x)", "expand_as_v2 elementwise_div");
    is("c: f32[1], x: f32[_, 3]", "f32[_, 3] = elementwise_div(x, c)", "elementwise_div");
    let inner = "f32[_, 2, 7, 3] = pad(x, paddings=[0, 0, 0, 0, 1, 2, 0, 0])";
    let desc = is("x: f32[_, 2, 4, 3]", inner, "reshape2 pad3d reshape2");
    let pad = desc.blocks[0].ops.iter().find(|op| op.r#type == "pad3d").unwrap();
    assert_eq!(pad.attr_ints("paddings"), Ok(Some(&[0, 0, 1, 2, 0, 0][..])));
    let apart = "f32[_, 3, 2, 4, 4] = pad(x, paddings=[0, 0, 1, 1, 0, 0, 0, 1, 0, 0])";
    is("x: f32[_, 1, 2, 3, 4]", apart, "reshape2 pad3d reshape2 reshape2 pad3d reshape2");
    let classes = "f32[_, 4] = one_hot_v2(x, depth=[4], allow_out_of_range=true)";
    is("x: i64[_]", classes, "reshape2 assign_value equal cast");
    let pooled = "pool2d(x, pooling_type=\"avg\", ksize=[2, 2], strides=[2, 2], paddings=[1, 1, 1, 1], ceil_mode=true, exclusive=false)";
    is("x: f32[_, 1, 5, 5]", &format!("f32[_, 1, 4, 4] = {pooled}"), "reshape2 pad3d reshape2 pool2d");
    let nearest = |to: &str| format!("f32[_, 1, {to}] = nearest_interp_v2(x, size=[{to}])");
    is("x: f32[_, 1, 3, 5]", &nearest("6, 5"), "nearest_interp_v2");
    is("x: f32[_, 1, 3, 5]", &nearest("6, 8"), "assign_value gather assign_value gather");
    is("x: f32[_, 1, 3, 5]", &nearest("1099511627776, 8"), "nearest_interp_v2");
    is("x: f32[_]", "f32[_] = softplus(x, threshold=3.0)", "softplus scale fill_constant greater_than where");
    let rest = "f32[_, 7] = slice(x, axes=[1], starts=[2], ends=[9223372036854775807])";
    let desc = is("x: f32[_, 9]", rest, "slice");
    assert_eq!(desc.blocks[0].ops[1].attr_ints("ends"), Ok(Some(&[i32::MAX][..])));
    is(
        "x: f32[_, 2, 3], i: i64[_, 2]",
        "f32[_, 2, 2] = gather(x, i, axis=2)",
        "transpose2 fill_constant_batch_size_like cumsum elementwise_sub reshape2 elementwise_add reshape2 reshape2 \
         gather reshape2 transpose2",
    );
    is(
        "x: f32[_, 3], of: f32[_, 4, 3]",
        "f32[_, 4, 3] = expand_as_v2(x, of, axes=[1])",
        "reshape2 expand_as_v2",
    );
    is(
        "x: f32[_, 4], i: i64[_, 2], v: f32[_, 2]",
        "f32[_, 4] = take_along_axis_grad(x, i, v, axis=1)",
        "fill_any_like put_along_axis",
    );
    // A copy in front of what would be joined, where its kernels are not those of single precision.
    let root = |dtype: &str| format!("s: {dtype}[_] = elementwise_add(x, x)\n    y: {dtype}[_] = sqrt(s)");
    of_lines("x: f32[_]", &root("f32"), "elementwise_add sqrt");
    of_lines("x: f64[_]", &root("f64"), "elementwise_add assign sqrt");
    is("x: f64[_]", "f64[_] = sqrt(x)", "sqrt");
    // Lists of doubles are sums of lists in single precision.
    let list = |values: &str| {
        format!("v: f64[2] = assign_value(values=[{values}])\n    y: f64[_, 2] = elementwise_add(x, v)")
    };
    of_lines("x: f64[_, 2]", &list("0.5, -3.0"), "assign_value cast elementwise_add");
    of_lines("x: f64[_, 2]", &list("0.5, 1e-400"), "assign_value cast elementwise_add");
    let range = "v: f64[2] = range(start=0.5, step=2.0)\n    y: f64[_, 2] = elementwise_add(x, v)";
    of_lines("x: f64[_, 2]", range, "assign_value cast elementwise_add");
    let three = "assign_value cast assign_value cast elementwise_add assign_value cast elementwise_add elementwise_add";
    of_lines("x: f64[_, 2]", &list("0.1, 16777217.0"), three);
    of_lines("x: f64[_, 2]", &list("1.0, 1e300"), "assign_value elementwise_add");
    is(
        "x: bool[_, 3], i: i64[_, 2]",
        "bool[_, 2] = take_along_axis(x, i, axis=1)",
        "cast take_along_axis cast",
    );
    is("x: f32[5, 3], i: i64[_, 2]", "f32[_, 2, 3] = gather(x, i, axis=0)", "reshape2 gather reshape2");
    is("x: f32[_, 3]", "f32[_, 3] = hinge_loss(x, x)", "reshape2 reshape2 hinge_loss reshape2");
    // Each box that PaddlePaddle keeps goes to the next place of its class in its image.
    let kept = "slice fill_any_like concat slice fill_any_like concat multiclass_nms3 slice cast cast reshape2 reshape2 fill_constant \
                elementwise_floordiv elementwise_mul elementwise_sub fill_constant elementwise_mul elementwise_add slice \
                fill_any_like reshape2 fill_any_like reshape2 scatter_nd_add cumsum elementwise_sub gather cumsum elementwise_sub \
                elementwise_sub fill_any_like tile fill_constant reshape2 elementwise_mul elementwise_add scatter reshape2 slice";
    for rows in ["_", "3"] {
        let boxes = format!("b: f32[{rows}, 5, 4], s: f32[{rows}, 2, 5]");
        is(&boxes, &format!("i64[{rows}, 2, 5] = non_max_suppression(b, s, score_threshold=0.1)"), kept);
        is(
            &boxes,
            &format!("i64[{rows}, 2, 3] = non_max_suppression(b, s, score_threshold=0.1, most=3)"),
            kept,
        );
    }
    // A product, its transpose and a `reshape2` to [0, 0, 6] would be one operator, which reads the second 0 as the 2 from before.
    let heads = "p: f32[_, 2, T, 3] = matmul_v2(w, v)
    t: f32[_, T, 2, 3] = transpose2(p, perm=[0, 2, 1, 3])
    y: f32[_, T, 6] = reshape2(t, dims=[T, 6])";
    let inputs = "w: f32[_, 2, T, T], v: f32[_, 2, T, 3]";
    of_lines(inputs, heads, "matmul_v2 transpose2 flatten_contiguous_range");
    of_lines(
        &inputs.replace('T', "4"),
        &heads.replace(" T", " 4").replace("[T", "[4"),
        "matmul_v2 transpose2 reshape2",
    );
    // What follows from no input is not computed when the model is loaded.
    is("", "f64[] = fill_constant(value=0.5)", "fill_constant assign fill_constant while assign assign");
    let share = "v: f32[@, 1], i: i64[@, 1] = top_k_v2(x, k=1, axis=1)
    y: f32[], c: i32[], t: i32[] = accuracy(v, i, l)";
    of_lines("x: f32[_, 3], l: i64[_, 1]", &share.replace('@', "_"), "top_k_v2 accuracy");
    of_lines("x: f32[_.x, 3], l: i64[_.x, 1]", &share.replace('@', "_.x"), "top_k_v2 accuracy reduce_mean");
}

/// Products with windows are convolutions; windows that something else reads too are one with a filter for each element, and
/// those of whole numbers are gathered.
#[test]
fn windows() {
    let source = "program {
  rows _
  tokens _.x of _
  parameter w: f32[6, 4] = fill_constant(value=1.0)
  parameter v: f32[6, 1] = fill_constant(value=1.0)
  block 0 (x: f32[_.x, 2], ids: i64[_.x]) {
    windows: f32[_.x, 6] = sequence_window(x, start=-1, length=3)
    a: f32[_.x, 4] = matmul_v2(windows, w)
    b: f32[_.x, 1] = matmul_v2(windows, v)
    pairs: i64[_.x, 2] = sequence_window(ids, start=0, length=2, pad_value=-1.0)
    return a, b, pairs
  }
}
";
    let desc = legalise(&text::parse(source).unwrap()).unwrap();
    is_paddle(&desc);
    let without_offsets = |desc: &ProgramDesc| {
        let ops = operators(desc).remove(0).into_iter();
        ops.filter(|op| !["feed", "fetch", "lod_reset"].contains(op)).collect::<Vec<_>>().join(" ")
    };
    let ops = without_offsets(&desc);
    assert!(ops.starts_with("sequence_conv sequence_conv ") && ops.ends_with(" gather reshape2"), "{ops}");
    let again = from_wire(&desc, None).unwrap().to_string();
    assert!(again.contains("sequence_window(x, start=-1, length=3)"), "{again}");

    let summed = source.replace("return a", "c: f32[_.x, 6] = tanh(windows)\n    return c, a");
    let desc = legalise(&text::parse(&summed).unwrap()).unwrap();
    is_paddle(&desc);
    assert!(
        without_offsets(&desc).starts_with("eye sequence_conv matmul_v2 matmul_v2"),
        "{:?}",
        operators(&desc)
    );
}

/// PaddlePaddle's losses do not broadcast, and Huber's writes the difference that its gradient reads.
#[test]
fn losses_are_of_one_shape_and_keep_what_theirs_do() {
    let huber = |shapes: [[i64; 2]; 2]| {
        let mut program = Program::new();
        let x = program.create_input("x", Type::new(DType::F32, shapes[0])).unwrap();
        let y = program.create_input("y", Type::new(DType::F32, shapes[1])).unwrap();
        let op = Loss::of(LossKind::HuberLoss);
        let out = program.append_op(Program::GLOBAL, op, &[x, y], Site::default()).unwrap();
        program.set_outputs(&out).unwrap();
        legalise(&program)
    };
    let desc = huber([[3, 2], [3, 2]]).unwrap();
    is_paddle(&desc);
    let loss = desc.blocks[0].ops.iter().find(|op| op.r#type == "huber_loss").unwrap();
    assert_eq!(loss.output("Residual").len(), 1);
    let read = from_wire(&desc, None).unwrap();
    assert!(read.to_string().contains("huber_loss"), "{read}");
    // One is expanded as the other, if that has the shape of the loss.
    let expanded = huber([[3, 2], [1, 2]]).unwrap();
    is_paddle(&expanded);
    assert_eq!(operators(&expanded), [["feed", "feed", "expand_as_v2", "huber_loss", "fetch"]]);
    // Both are, if neither has it: as their sum.
    let both = huber([[3, 1], [1, 2]]).unwrap();
    is_paddle(&both);
    let kinds = "feed feed cast cast elementwise_add expand_as_v2 expand_as_v2 huber_loss fetch";
    assert_eq!(operators(&both), [kinds.split(' ').collect::<Vec<_>>()]);
}

/// PaddlePaddle knows no rows: a batch that becomes an ordinary axis, and rows again, is copied.
#[test]
fn the_batch_as_an_axis() {
    let source = "program {
  rows _
  block 0 (x: f32[_, 3]) {
    all: f32[(_), 3] = rows_to_axis(x)
    each: f32[_, 3] = axis_to_rows(all, x)
    return each
  }
}
";
    let desc = legalise(&text::parse(source).expect("it is a program")).expect("PaddlePaddle has this");
    is_paddle(&desc);
    let assigned: Vec<&[String]> =
        desc.blocks[0].ops.iter().filter(|op| op.r#type == "assign").map(|op| op.output("Out")).collect();
    assert!(assigned.len() == 2 && assigned[0] != assigned[1], "{assigned:?}");
}
