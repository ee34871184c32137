//! Models that the real PaddlePaddle saved, as source: what is printed compiles, takes their parameters by name, and gives
//! the outputs that PaddlePaddle computed.

#[path = "../../paddle-kernels/tests/backends/draw.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod draw;
#[path = "../../paddle-kernels/tests/backends/fed.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod fed;
#[path = "decompile/generated.rs"]
mod generated;
#[path = "../../paddle-kernels/tests/backends/host.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod host;
mod support;

/// What is printed for each, as rustc compiles it.
#[rustfmt::skip]
#[allow(clippy::module_inception, reason = "the names of the files")]
mod printed {
    pub(crate) mod cond;
    pub(crate) mod lenet;
    pub(crate) mod lstm_classifier;
    pub(crate) mod mlp;
    pub(crate) mod mobilenet_v1_x025;
    pub(crate) mod resnet18_w8;
    pub(crate) mod seqpool_lod;
    pub(crate) mod textcnn;
    pub(crate) mod transformer_block;
    pub(crate) mod while_loop;
}

use std::path::{Path, PathBuf};

use paddle::Cpu;
use paddle::core::convert::{load, load_params};
use paddle::core::ops::Program;
use paddle::core::passes::test_mode::test_mode;
use paddle::core::plan::Backend;
use paddle::core::wire::ProgramDesc;
use paddle::language::{Options, compile_all, decompile};
use paddle_kernels::reference::Reference;
use support::npz;
use support::runner::Runner;
use support::source::compiled;
use support::tensor::Tensor;

/// The folder of a model, if it is beside the repository.
fn fixture(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures").join(name);
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    }
    Some(path).filter(|path| path.is_dir())
}

fn saved(folder: &Path) -> (ProgramDesc, Program) {
    let desc = ProgramDesc::decode(&std::fs::read(folder.join("model.pdmodel")).unwrap()).unwrap();
    let program = load(&desc).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    (desc, program)
}

/// `of_rustc` is the program of what is kept.
fn check<B: Backend + Clone>(name: &str, of_rustc: &Program, backend: B) {
    let Some(path) = fixture(name) else { return };
    let (desc, program) = saved(&path);
    let source = decompile(&program, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printed").join(name).with_extension("rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(&kept, source).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), source, "run with UPDATE_GOLDEN=1");
    let mut again = compiled(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    assert_eq!(again.to_string(), of_rustc.to_string(), "{name}");
    test_mode(&mut again);
    let bytes = std::fs::read(path.join("model.pdiparams")).unwrap();
    // Each parameter is found by its name, and has its type.
    let parameters = load_params(&desc, &again, &bytes).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let parameters = parameters.iter().map(|(name, record)| (name.clone(), Tensor::from_record(record)));
    let mut runner = Runner::new(backend, &again);
    runner.set(&parameters.collect());
    let others = (0..).map(|k| format!("_alt{k}"));
    let others = others.take_while(|other| path.join(format!("inputs{other}.npz")).is_file());
    for of in std::iter::once(String::new()).chain(others) {
        let inputs = npz::read(&path.join(format!("inputs{of}.npz")));
        let inputs: Vec<Tensor> =
            again.inputs().iter().map(|&input| npz::with_offsets(&inputs, &again.var(input).name)).collect();
        let expected = npz::read(&path.join(format!("outputs{of}.npz")));
        let outputs = runner.run(&inputs);
        assert_eq!(outputs.len(), expected.keys().filter(|name| !name.contains('.')).count());
        for (k, output) in outputs.iter().enumerate() {
            let expected = npz::with_offsets(&expected, &format!("out{k}"));
            output.assert_close(&expected, 1e-4, 1e-5, &format!("{name}{of}, output {k}\n{source}"));
        }
    }
}

macro_rules! models {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let net = printed::$name::$name::predict();
            let program = net.program().expect("a network");
            check(stringify!($name), program, Reference::single());
            check(stringify!($name), program, Cpu::new().expect("a processor"));
        }
    )*};
}
models! {
    cond lenet lstm_classifier mlp mobilenet_v1_x025 resnet18_w8 seqpool_lod textcnn transformer_block while_loop
}

/// A variable that no iteration changes is none of the loop, and sizes that are known are numbers: the program that is
/// printed is another one, and computes the same.
#[test]
fn what_is_printed_otherwise_computes_the_same() {
    let source = "|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 2>, n: Tensor<i64>| {
        let (mut h, mut kept) = (maximum(x, y), minimum(x, y));
        let mut i = 0;
        while i < n {
            (h, kept) = (h * 0.5 + kept, kept);
            i += 1;
        }
        (h, label_smooth(softmax(kept)))
    }";
    let program = compile_all(source, &Options::new()).unwrap().only().unwrap().program;
    let again = compiled(&decompile(&program, "again").unwrap()).unwrap();
    let inputs = [
        Tensor::f32(&[3, 2], &[0.5, -1.0, 2.0, 0.0, 1.5, 1.0]),
        Tensor::f32(&[3, 2], &[1.5, -2.0, 0.25, 0.5, -1.5, 1.0]),
        Tensor::i64(&[], &[3]),
    ];
    let [one, other] =
        [program, again].map(|program| Runner::new(Reference::single(), &program).run(&inputs));
    for (one, other) in one.iter().zip(&other) {
        other.assert_close(one, 1e-6, 1e-7, "a result");
    }
}
