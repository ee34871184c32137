//! Models that the real PaddlePaddle saved, run here, against the outputs that it computed. They are kept beside the
//! repository, not in it.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use paddle::Cpu;
use paddle::core::convert::{from_wire, load_params};
use paddle::core::plan::Backend;
use paddle::core::wire::ProgramDesc;
use paddle_kernels::reference::Reference;
use support::npz;
use support::runner::Runner;
use support::tensor::{Tensor, Values};

/// An array, and the offsets that lie beside it where its rows are tokens of sequences.
fn with_offsets(arrays: &BTreeMap<String, Tensor>, name: &str) -> Tensor {
    let array = arrays[name].clone();
    match arrays.get(&format!("{name}.lod0")).map(|offsets| &offsets.values) {
        Some(Values::I64(offsets)) => array.with_offsets(offsets),
        Some(other) => panic!("offsets of `{name}` are {other:?}"),
        None => array,
    }
}

/// Loads a model, runs it on the inputs of the fixture, and compares every output.
fn check<B: Backend + Clone>(name: &str, backend: B) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/paddle/fixtures").join(name);
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
        let inputs: Vec<Tensor> =
            program.inputs().iter().map(|&input| with_offsets(&inputs, &program.var(input).name)).collect();
        let expected = npz::read(&path.join(format!("outputs{of}.npz")));
        let outputs = runner.run(&inputs);
        assert_eq!(outputs.len(), expected.keys().filter(|name| !name.contains('.')).count());
        for (k, output) in outputs.iter().enumerate() {
            let expected = with_offsets(&expected, &format!("out{k}"));
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
models! { cond lenet mlp mobilenet_v1_x025 resnet18_w8 seqpool_lod textcnn while_loop }
