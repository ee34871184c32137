//! Models that the real PaddlePaddle saved, run here, against the outputs that it computed. They are kept beside the
//! repository, not in it.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use paddle::Cpu;
use paddle::core::convert::{from_wire, load_params};
use paddle::core::plan::Backend;
use paddle::core::program::Role;
use paddle::core::wire::ProgramDesc;
use paddle_kernels::reference::Reference;
use support::cut::{Arrays, Cut, role};
use support::npz;
use support::runner::Runner;
use support::tensor::Tensor;

/// Loads a model, runs it on the inputs of the fixture, and compares every output.
fn check<B: Backend + Clone>(name: &str, backend: B) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures").join(name);
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let read = |file: &str| std::fs::read(path.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let desc = ProgramDesc::decode(&read("model.pdmodel")).expect("it is a program");
    let program = from_wire(&desc, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let params = load_params(&desc, &program, &read("model.pdiparams"));
    let params = params.unwrap_or_else(|error| panic!("{name}: {error}"));
    let params: BTreeMap<String, Tensor> =
        params.iter().map(|(name, record)| (name.clone(), Tensor::from_record(record))).collect();

    let mut runner = Runner::new(backend, &program);
    runner.set(&params);
    // Some have further inputs, with which they take another branch.
    let others = (0..).map(|k| format!("_alt{k}"));
    let others = others.take_while(|other| path.join(format!("inputs{other}.npz")).is_file());
    for of in std::iter::once(String::new()).chain(others) {
        let inputs = npz::read(&path.join(format!("inputs{of}.npz")));
        let inputs: Vec<Tensor> = program
            .inputs()
            .iter()
            .map(|&input| npz::with_offsets(&inputs, &program.var(input).name))
            .collect();
        let expected = npz::read(&path.join(format!("outputs{of}.npz")));
        let outputs = runner.run(&inputs);
        assert_eq!(outputs.len(), expected.keys().filter(|name| !name.contains('.')).count());
        for (k, output) in outputs.iter().enumerate() {
            let expected = npz::with_offsets(&expected, &format!("out{k}"));
            output.assert_close(&expected, 1e-4, 1e-5, &format!("{name}{of}, output {k}"));
        }
    }
}

macro_rules! models {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), Reference::single());
            check(stringify!($name), Cpu::new().expect("a processor"));
        }
    )*};
}
models! { cond lenet mlp mobilenet_v1_x025 resnet18_w8 seqpool_lod textcnn transformer_block while_loop }

/// Trains as the real PaddlePaddle did: 20 batches, with our own gradients and its updates, and compares every cost, the
/// gradients of the first batch, and the parameters after it and at the end.
fn check_training<B: Backend + Clone>(name: &str, backend: B) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures").join(name);
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let bytes = std::fs::read(path.join("main.pdprogram")).expect("a program");
    let desc = ProgramDesc::decode(&bytes).expect("it is a program");
    let arrays = |file: &str| npz::read(&path.join(format!("{file}.npz")));
    let (data, losses, gradients) = (arrays("data"), arrays("losses"), arrays("step1_grads"));
    let ops = &desc.blocks[0].ops;
    let cost = ops.iter().find(|op| role(op) == Role::Loss).expect("there is a cost").outputs[0].arguments[0]
        .clone();
    // The other number of every step: how often the class was right.
    let rate = ops.iter().find(|op| op.r#type == "accuracy").map(|op| op.output("Accuracy")[0].clone());
    let rate = rate.expect("there is an accuracy");
    let wanted = gradients.keys().cloned().chain([cost.clone(), rate.clone()]).collect();
    let inputs = data.keys().cloned().collect();
    let Cut { compute, update, .. } =
        Cut::new(&desc, &inputs, &wanted).unwrap_or_else(|why| panic!("{name}: {why:?}"));

    let mut parameters = arrays("init_params");
    let mut runners = [&compute, &update].map(|part| Runner::new(backend.clone(), &part.program));
    let close = |found: &Tensor, expected: &Tensor, what: String| {
        found.assert_close(expected, 1e-4, 1e-5, &format!("{name}: {what}"));
    };
    let steps = data["x"].shape[0];
    for step in 0..steps {
        let batch: Arrays = data.iter().map(|(name, array)| (name.clone(), array.part(step))).collect();
        let [compute_runner, update_runner] = &mut runners;
        let found = compute
            .step(compute_runner, &mut parameters, &batch)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        update.step(update_runner, &mut parameters, &found).unwrap_or_else(|why| panic!("{name}: {why}"));
        for (output, key) in [(&cost, "loss"), (&rate, "acc")] {
            let (found, expected) = (found[output].values.numbers(), losses[key].values.numbers()[step]);
            assert!((found[0] - expected).abs() <= 1e-5 + 1e-4 * expected, "{name}: {key} of step {step}");
        }
        let expected = match step {
            0 => {
                for (gradient, expected) in &gradients {
                    close(&found[gradient], expected, gradient.clone());
                }
                arrays("step1_params")
            }
            _ if step + 1 == steps => arrays("final_params"),
            _ => continue,
        };
        for (parameter, expected) in &expected {
            close(&parameters[parameter], expected, format!("{parameter} after step {step}"));
        }
    }
}

macro_rules! trainings {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check_training(stringify!($name), Reference::single());
            check_training(stringify!($name), Cpu::new().expect("a processor"));
        }
    )*};
}
trainings! { train_lenet_adam train_mlp_sgd }
