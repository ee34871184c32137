//! PaddlePaddle's operators along sequences, in forms that this system does not write.

use paddle_core::convert::{from_wire, legalise};
use paddle_core::text;
use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc, VarDesc};

const SOURCE: &str = "program {
  rows _
  tokens _.x of _
  tokens _.label of _
  parameter w: f32[5, 3] = fill_constant(value=0.0)
  parameter filters: f32[6, 2] = fill_constant(value=0.0)
  block 0 (x: f32[_.x, 3], label: i64[_.label, 1]) {
    windows: f32[_.x, 6] = sequence_window(x, start=0, length=2)
    conv: f32[_.x, 2] = matmul_v2(windows, filters)
    crf: f32[_, 1] = fill_constant(value=0.0)
    path: i64[_.x, 1] = crf_decoding(x, w)
    ctc: f32[_, 1], grad: f32[_.x, 3] = warpctc(x, label)
    return conv, crf, path, ctc
  }
}
";

/// The program as PaddlePaddle has it, with its operator for conditional random fields, which is not written.
fn desc() -> ProgramDesc {
    let mut desc: ProgramDesc = legalise(&text::parse(SOURCE).unwrap()).unwrap();
    let block = &mut desc.blocks[0];
    for (name, of) in [("alpha", "x"), ("emission_exps", "x"), ("transition_exps", "w")] {
        let like = block.vars.iter().find(|var| var.name == of).unwrap();
        block.vars.push(VarDesc { name: name.into(), persistable: Some(false), ..like.clone() });
    }
    let crf = block.ops.iter_mut().find(|op| op.output("Out") == ["crf"]).unwrap();
    *crf = OpDesc::new("linear_chain_crf")
        .with_input("Emission", ["x"])
        .with_input("Transition", ["w"])
        .with_input("Label", ["label"])
        .with_output("Alpha", ["alpha"])
        .with_output("EmissionExps", ["emission_exps"])
        .with_output("TransitionExps", ["transition_exps"])
        .with_output("LogLikelihood", ["crf"]);
    desc
}

/// The program with one operator changed, and read back.
fn read(name: &str, change: impl FnOnce(&mut OpDesc)) -> String {
    let mut desc = desc();
    let op = desc.blocks[0].ops.iter_mut().find(|op| op.r#type == name);
    change(op.expect("the program has the operator"));
    from_wire(&desc, None).unwrap().to_string()
}

fn set(op: &mut OpDesc, attr: OpAttr) {
    op.attrs.retain(|other| other.name != attr.name);
    op.attrs.push(attr);
}

#[test]
fn what_is_written_is_read_back() {
    let again = read("sequence_conv", |_| {});
    for line in [
        "sequence_window(x, start=0, length=2)",
        "conv: f32[_.x, 2] = matmul_v2(sequence_window, filters)",
        "linear_chain_crf(x, w, label)",
        "path: i64[_.x, 1] = crf_decoding(x, w)",
        "warpctc(x, ",
    ] {
        assert!(again.contains(line), "{line}\n{again}");
    }
    assert!(!again.contains("foreign"), "{again}");
}

#[test]
fn parameters_outside_of_sequences_are_not_known() {
    let again = read("sequence_conv", |op| set(op, OpAttr::bool("paddingTrainable", true)));
    assert!(again.contains("foreign"), "{again}");
    let again = read("sequence_conv", |op| set(op, OpAttr::int("contextStride", 2)));
    assert!(again.contains("foreign"), "{again}");
}

/// What is padded has lengths beside it.
#[test]
fn padded_sequences_are_not_known() {
    for (name, slot) in
        [("linear_chain_crf", "Length"), ("crf_decoding", "Length"), ("warpctc", "LogitsLength")]
    {
        let again = read(name, |op| *op = op.clone().with_input(slot, ["label"]));
        assert!(again.contains("foreign"), "{name}\n{again}");
    }
}

#[test]
fn decoded_labels_are_compared_with_others() {
    let again = read("crf_decoding", |op| *op = op.clone().with_input("Label", ["label"]));
    let lines = [
        "sequence_align(label, crf_decoding)",
        "equal(crf_decoding, sequence_align",
        "path: i64[_.x, 1] = cast(",
    ];
    assert!(lines.iter().all(|line| again.contains(line)), "{again}");
}

/// The loss is the same number; a part of it has the gradient.
#[test]
fn gradients_are_divided_by_the_number_of_tokens() {
    let again = read("warpctc", |op| set(op, OpAttr::bool("norm_by_times", true)));
    for line in ["sequence_length(x)", "elementwise_div(warpctc", "share_data("] {
        assert!(again.contains(line), "{line}\n{again}");
    }
}

/// Those that PaddlePaddle's gradients read.
#[test]
fn exponentials_of_a_random_field_are_there_if_something_reads_them() {
    assert!(!read("linear_chain_crf", |_| {}).contains("exp("));
    let mut desc = desc();
    for name in ["alpha", "emission_exps", "transition_exps"] {
        let copy = format!("{name}.read");
        let mut var = desc.blocks[0].vars.iter().find(|var| var.name == name).unwrap().clone();
        var.name = copy.clone();
        desc.blocks[0].vars.push(var);
        desc.blocks[0].ops.push(OpDesc::new("assign").with_input("X", [name]).with_output("Out", [copy]));
    }
    let again = from_wire(&desc, None).unwrap().to_string();
    for line in [": f32[_.x, 3] = exp(linear_chain_crf", "reduce_max(x, axes=[1], keep_dim=true)", "exp(w)"] {
        assert!(again.contains(line), "{line}\n{again}");
    }
}

/// Later releases have no operator for the cost of a conditional random field, so a loop is written.
#[test]
fn random_fields_are_written_as_loops() {
    let source = "program {
  rows _
  tokens _.x of _
  tokens _.label of _
  parameter w: f32[5, 3] = fill_constant(value=0.0)
  block 0 (x: f32[_.x, 3], label: i64[_.label, 1]) {
    alpha: f32[_.x, 3], crf: f32[_, 1] = linear_chain_crf(x, w, label)
    return crf
  }
}
";
    let desc = legalise(&text::parse(source).unwrap()).unwrap();
    let all: Vec<&str> =
        desc.blocks.iter().flat_map(|block| &block.ops).map(|op| op.r#type.as_str()).collect();
    assert!(all.contains(&"while") && !all.contains(&"linear_chain_crf"), "{all:?}");
    let again = from_wire(&desc, None).unwrap().to_string();
    assert!(again.contains("while") && !again.contains("foreign"), "{again}");
}

/// PaddlePaddle's operators that make sequences, in place of one that has the type of their results.
#[test]
fn sequences_are_made_of_others() {
    let of_x = |name: &str| OpDesc::new(name).with_input("X", ["x"]).with_output("Out", ["out"]);
    let made = |op: OpDesc, source: &str| {
        let mut desc: ProgramDesc = legalise(&text::parse(source).unwrap()).unwrap();
        let at = desc.blocks[0].ops.iter().position(|op| op.output("Out") == ["out"]);
        desc.blocks[0].ops[at.expect("something gives `out`")] = op;
        from_wire(&desc, None).unwrap().to_string()
    };
    let source = "program {
  rows _
  tokens _.x of _
  tokens _.y of _
  block 0 (x: f32[_.x, 4], y: f32[_.y, 4], n: i64[_, 1], ids: i64[_.x, 1]) {
    out: f32[_.x, 4] = tanh(x)
    return out, n, ids, y
  }
}
";
    let cases = [
        (
            of_x("sequence_slice").with_input("Offset", ["n"]).with_input("Length", ["n"]),
            &["_.slice of _", "sequence_expand_as(", "f32[_.slice, 4] = sequence_gather(x, "][..],
        ),
        (
            OpDesc::new("sequence_concat").with_input("X", ["x", "y"]).with_output("Out", ["out"]),
            &["_.concat of _", "f32[_.concat, 4] = sequence_concat(x, y, sequence_range"][..],
        ),
        (
            of_x("sequence_reshape").with_attr(OpAttr::int("new_dim", 2)),
            &["_.reshape of _", "f32[_.reshape, 2] = sequence_reshape(x, sequence_range"][..],
        ),
        (
            OpDesc::new("sequence_erase")
                .with_input("X", ["ids"])
                .with_output("Out", ["out"])
                .with_attr(OpAttr::ints("tokens", vec![2, 5])),
            &["_.erase of _", "not_equal(", "sequence_where(", "i64[_.erase, 1] = sequence_gather(ids, "][..],
        ),
    ];
    for (op, lines) in cases {
        let name = op.r#type.clone();
        let again = made(op, source);
        for line in lines {
            assert!(again.contains(line), "{name}: {line}\n{again}");
        }
        assert!(!again.contains(&format!("name={name:?}")), "{again}");
    }
    // What is no sequence has none made of it.
    let again = made(of_x("sequence_reshape").with_attr(OpAttr::int("new_dim", 0)), source);
    assert!(again.contains("foreign"), "{again}");
}
