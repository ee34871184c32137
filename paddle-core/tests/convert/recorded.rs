//! Recorded trainings that are refused, made by hand: each with its reason and its place.

use paddle_core::convert::load_recorded;
use paddle_core::wire::{
    BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType,
};

fn var(name: &str, dims: &[i64]) -> VarDesc {
    let tensor = TensorDesc { data_type: VarKind::Fp32.into(), dims: dims.to_vec(), ..Default::default() };
    let lod_tensor = Some(LodTensorDesc { tensor, ..Default::default() });
    let ty = VarType { r#type: VarKind::LodTensor.into(), lod_tensor, ..Default::default() };
    let lasts = ["v", "w", "rate", "other_rate", "moment"].contains(&name);
    VarDesc {
        name: name.to_string(),
        r#type: ty,
        persistable: Some(lasts),
        is_parameter: Some(["v", "w"].contains(&name)),
        need_check_feed: Some(name == "x"),
        ..Default::default()
    }
}

fn op(role: i32, name: &str, inputs: &[(&str, &str)], outputs: &[(&str, &str)]) -> OpDesc {
    let mut op = OpDesc::new(name).with_attr(OpAttr::int("op_role", role));
    for (slot, name) in inputs {
        op = op.with_input(*slot, name.split(' '));
    }
    for (slot, name) in outputs {
        op = op.with_output(*slot, [*name]);
    }
    op
}

fn seed(value: f32) -> OpDesc {
    op(257, "fill_constant", &[], &[("Out", "cost@GRAD")]).with_attr(OpAttr::float("value", value))
}

fn sgd(of: &str, gradient: &str, rate: &str) -> OpDesc {
    op(2, "sgd", &[("Param", of), ("Grad", gradient), ("LearningRate", rate)], &[("ParamOut", of)])
}

/// A line with two weights whose mean is the cost, and what follows it.
fn program(behind: Vec<OpDesc>) -> ProgramDesc {
    let vars = [
        ("x", &[-1, 1][..]),
        ("w", &[1, 1]),
        ("v", &[1, 1]),
        ("a", &[-1, 1]),
        ("b", &[-1, 1]),
        ("cost", &[]),
        ("rate", &[1]),
        ("other_rate", &[1]),
        ("moment", &[1, 1]),
    ];
    let mut ops = vec![
        op(0, "mul", &[("X", "x"), ("Y", "w")], &[("Out", "a")]),
        op(0, "mul", &[("X", "a"), ("Y", "v")], &[("Out", "b")]),
        op(256, "reduce_mean", &[("X", "b")], &[("Out", "cost")]).with_attr(OpAttr::bool("reduce_all", true)),
    ];
    ops.extend(behind);
    let vars = vars.map(|(name, dims)| var(name, dims)).to_vec();
    ProgramDesc {
        blocks: vec![BlockDesc { parent_idx: -1, vars, ops, ..Default::default() }],
        ..Default::default()
    }
}

fn refused(behind: Vec<OpDesc>) -> String {
    load_recorded(&program(behind), None, &[]).map(|found| format!("{found:?}")).unwrap_err().to_string()
}

#[test]
fn a_training_is_understood() {
    let clip = op(2, "clip", &[("X", "w@GRAD")], &[("Out", "c")])
        .with_attr(OpAttr::float("min", -0.5))
        .with_attr(OpAttr::float("max", 0.5));
    let scale = op(18, "scale", &[("X", "rate")], &[("Out", "r")]).with_attr(OpAttr::float("scale", 0.25));
    let found =
        load_recorded(&program(vec![seed(1.0), clip, scale, sgd("w", "c", "r")]), None, &["b"]).unwrap();
    assert_eq!(found.updates.keys().collect::<Vec<_>>(), ["w"]);
    assert_eq!(
        (found.clip, found.decay, found.rate),
        (Some(paddle_core::passes::clip::Clip::Value(0.5)), None, None)
    );
    let options = |name: &str| found.program.parameter_options(found.program.find(name).unwrap()).clone();
    assert_eq!((options("w").lr, options("w").trainable, options("v").trainable), (Some(0.25), true, false));
    assert_eq!(found.program.outputs().len(), 2);
}

#[test]
fn what_is_no_training() {
    assert!(refused(vec![]).contains("no gradients are recorded"));
    assert!(refused(vec![seed(1.0)]).contains("no updates are recorded"));
    assert!(refused(vec![seed(1.0), seed(1.0), sgd("w", "w@GRAD", "rate")]).contains("several costs"));
    assert!(
        refused(vec![seed(128.0), sgd("w", "w@GRAD", "rate")])
            .contains("`fill_constant` of 128; it has to be 1")
    );
    let error = load_recorded(&program(vec![seed(1.0), sgd("w", "w@GRAD", "rate")]), None, &["no"]);
    assert!(error.unwrap_err().to_string().contains("`no`"));
}

/// Faults of the forward part and of several updates are listed together.
#[test]
fn all_at_once() {
    let error = refused(vec![
        op(0, "psroi_pool", &[("X", "x")], &[("Out", "a")]),
        seed(1.0),
        op(2, "check_finite_and_unscale", &[("X", "w@GRAD")], &[("Out", "w@GRAD")]),
        sgd("w", "w@GRAD", "rate"),
        sgd("v", "w@GRAD", "rate"),
    ]);
    assert!(error.starts_with("the program cannot be run, for 3 reasons:"), "{error}");
    for part in [
        "operator 3 `psroi_pool`: there is no such operator here",
        "operator 5 `check_finite_and_unscale`: it stands between gradients and updates",
        "operator 7 `sgd`: the gradient is that of `w`, but `v` is updated",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn updates_that_settings_cannot_say() {
    let clip = |bounds: [f32; 2]| {
        let clip = op(2, "clip", &[("X", "w@GRAD")], &[("Out", "c")]);
        clip.with_attr(OpAttr::float("min", bounds[0])).with_attr(OpAttr::float("max", bounds[1]))
    };
    let one_sided = refused(vec![seed(1.0), clip([-1.0, 0.5]), sgd("w", "c", "rate")]);
    assert!(one_sided.contains("clipped to -1 and 0.5"), "{one_sided}");

    let norm =
        op(2, "clip_by_norm", &[("X", "w@GRAD")], &[("Out", "c")]).with_attr(OpAttr::float("max_norm", 1.0));
    let one_of_two = refused(vec![seed(1.0), norm, sgd("w", "c", "rate"), sgd("v", "v@GRAD", "rate")]);
    assert!(one_of_two.contains("not all of them alike"), "{one_of_two}");

    // The rate becomes less with each step.
    let less = op(2, "scale", &[("X", "rate")], &[("Out", "rate")]).with_attr(OpAttr::float("scale", 0.5));
    let rate = refused(vec![seed(1.0), sgd("w", "w@GRAD", "rate"), less]);
    assert!(rate.contains("operator 5 `scale`: it stands between gradients and updates"), "{rate}");

    // The norm over one gradient, of two that are updated.
    let global = vec![
        seed(1.0),
        op(2, "squared_l2_norm", &[("X", "w@GRAD")], &[("Out", "s")]),
        op(2, "sum", &[("X", "s")], &[("Out", "t")]),
        op(2, "sqrt", &[("X", "t")], &[("Out", "n")]),
        op(2, "fill_constant", &[], &[("Out", "m")]).with_attr(OpAttr::float("value", 2.0)),
        op(2, "elementwise_max", &[("X", "m"), ("Y", "n")], &[("Out", "l")]),
        op(2, "elementwise_div", &[("X", "m"), ("Y", "l")], &[("Out", "f")]),
        op(2, "elementwise_mul", &[("X", "w@GRAD"), ("Y", "f")], &[("Out", "w@GRAD")]),
        sgd("w", "w@GRAD", "rate"),
        sgd("v", "v@GRAD", "rate"),
    ];
    assert!(refused(global).contains("only a norm over all of them"));

    let signs = op(2, "sign", &[("X", "w")], &[("Out", "s")]);
    let pull = op(2, "scale", &[("X", "s")], &[("Out", "p")]).with_attr(OpAttr::float("scale", 0.1));
    let sum = op(2, "sum", &[("X", "w@GRAD p")], &[("Out", "g")]);
    let l1 = refused(vec![seed(1.0), signs, pull, sum, sgd("w", "g", "rate"), sgd("v", "v@GRAD", "rate")]);
    assert!(l1.contains("some parameters decay by L1"), "{l1}");

    let rates = refused(vec![seed(1.0), sgd("w", "w@GRAD", "rate"), sgd("v", "v@GRAD", "other_rate")]);
    assert!(
        rates.contains("the learning rate is `other_rate`, but that of another update is `rate`"),
        "{rates}"
    );
    let twice = refused(vec![seed(1.0), sgd("w", "w@GRAD", "rate"), sgd("w", "w@GRAD", "rate")]);
    assert!(twice.contains("`w` is updated twice"), "{twice}");
}

/// A state that does not begin at 0 cannot be said.
#[test]
fn states_that_begin_elsewhere() {
    let adagrad = op(
        2,
        "adagrad",
        &[("Param", "w"), ("Grad", "w@GRAD"), ("LearningRate", "rate"), ("Moment", "moment")],
        &[("ParamOut", "w"), ("MomentOut", "moment")],
    );
    let fill = op(0, "fill_constant", &[], &[("Out", "moment")]).with_attr(OpAttr::float("value", 0.5));
    let startup = ProgramDesc {
        blocks: vec![BlockDesc { parent_idx: -1, ops: vec![fill], ..Default::default() }],
        ..Default::default()
    };
    let error = load_recorded(&program(vec![seed(1.0), adagrad]), Some(&startup), &[]).unwrap_err();
    assert!(error.to_string().contains("`Moment` is 0.5 at first; only 0 is supported"), "{error}");
}
