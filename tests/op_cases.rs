//! Small programs that the real PaddlePaddle ran: operators on images. Their forward part is run here, and our own
//! gradients of it. They are kept beside the repository, not in it.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use paddle::Cpu;
use paddle::core::convert::from_wire;
use paddle::core::passes::backward::gradients;
use paddle::core::plan::Backend;
use paddle::core::program::{Definition, Role, VarId};
use paddle::core::wire::{OpDesc, ProgramDesc};
use paddle_kernels::reference::Reference;
use support::npz;
use support::runner::Runner;
use support::tensor::Tensor;

/// Runs a case and compares every variable that it has the value of, and the parameters afterwards.
fn check<B: Backend + Clone>(name: &str, backend: B) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/paddle/op_cases");
    if !folder.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let bytes = std::fs::read(folder.join(format!("{name}.pdprogram"))).expect("a program");
    let mut desc = ProgramDesc::decode(&bytes).expect("it is a program");
    let role = |op: &OpDesc| op.attr_int("op_role").expect("a number").map_or(Role::Forward, Role::from_wire);
    let is_loss = |op: &&OpDesc| role(op) == Role::Loss;
    let cost = desc.blocks[0].ops.iter().find(is_loss).map(|op| op.outputs[0].arguments[0].clone());
    desc.blocks[0].ops.retain(|op| matches!(role(op), Role::Forward | Role::Loss));
    let mut program = from_wire(&desc, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let arrays = npz::read(&folder.join(format!("{name}.npz")));
    let of = |kind: &str| -> BTreeMap<String, Tensor> {
        let mine = arrays.iter().filter_map(|(key, array)| Some((key.strip_prefix(kind)?, array)));
        mine.map(|(name, array)| (name.to_string(), array.clone())).collect()
    };
    let (inputs, parameters, after) = (of("in|"), of("param|"), of("after|"));
    // Values of the forward part, then gradients of what is fed and of parameters.
    let (mut values, mut wanted) = (Vec::new(), Vec::new());
    for (variable, array) in of("out|") {
        if let Some(value) = program.find(&variable) {
            values.push((variable, array, value));
        } else if let Some(root) = variable.strip_suffix("@GRAD").and_then(|name| program.find(name)) {
            let is_root = matches!(program.var(root).definition, Definition::Input | Definition::Parameter);
            wanted.extend(is_root.then_some((variable, array, root)));
        }
    }
    if let Some(cost) = cost.and_then(|cost| program.find(&cost)) {
        program.set_outputs(&[cost]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let roots: Vec<VarId> = wanted.iter().map(|(_, _, root)| *root).collect();
        let found = gradients(&mut program, &roots).unwrap_or_else(|error| panic!("{name}: {error}"));
        let pairs = wanted.into_iter().zip(found);
        values.extend(pairs.filter_map(|((variable, array, _), grad)| Some((variable, array, grad?))));
    }
    assert!(!values.is_empty(), "{name} has nothing to compare");
    let outputs: Vec<VarId> = values.iter().map(|(_, _, value)| *value).collect();
    program.set_outputs(&outputs).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut runner = Runner::new(backend, &program);
    runner.set(&parameters);
    let fed: Vec<Tensor> =
        program.inputs().iter().map(|&input| inputs[&program.var(input).name].clone()).collect();
    let found = runner.run(&fed);
    for ((variable, expected, _), found) in values.iter().zip(&found) {
        found.assert_close(expected, 1e-4, 1e-5, &format!("{name}: {variable}"));
    }
    let left = runner.parameters();
    for (variable, expected) in &after {
        if let Some(found) = left.get(variable) {
            found.assert_close(expected, 1e-4, 1e-5, &format!("{name}: {variable} afterwards"));
        }
    }
}

macro_rules! cases {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), Reference::single());
            check(stringify!($name), Cpu::new().expect("a processor"));
        }
    )*};
}
cases! {
    batch_norm_nn batch_norm_test batch_norm_train
    conv2d conv2d_f conv2d_same depthwise_conv2d
    dropout_downgrade
    pool2d_adaptive_avg pool2d_adaptive_avg1 pool2d_avg pool2d_avg_incl_pad_ceil pool2d_global pool2d_max
}
