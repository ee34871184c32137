//! Models in files as networks of a module: `include_model!`.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::path::{Path, PathBuf};

use ndarray::{Array, IxDyn};
use paddle::attribute::network;
use paddle::core::passes::test_mode::test_mode;
use paddle::core::program::VarId;
use paddle::language::{Options as Source, compile};
use paddle::{Adam, Batch, Cpu, Dynamic, Load, Network, Options, Parameters, Trainer, infer, parameters};
use support::feeding::{feed, fetched};
use support::npz;
use support::runner::Runner;
use support::tensor::{Tensor, Values};

/// A model that the real PaddlePaddle saved.
#[network]
pub mod small {
    include_model!("included/small.pdmodel");
}

/// Its trunk with a head of its own.
#[network]
pub mod cells {
    include_model!("included/small", name = trunk, outputs = ["flatten_0.tmp_0"]);

    fn classes(image: _) -> _ {
        fc(trunk(image), 2, param = "head")
    }

    pub fn cost(image: Tensor<f32, _, 1, 6, 6>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(classes(image), label))
    }

    pub fn likely(image: Tensor<f32, _, 1, 6, 6>) -> Tensor<f32, _, 2> {
        softmax(classes(image))
    }
}

/// A network of another module, which knows nothing of the file.
#[network]
pub mod surprise {
    use super::small::predict;

    pub fn of(image: Tensor<f32, _, 1, 6, 6>) -> Tensor<f32, _> {
        -log(max(predict(image), axis = 1))
    }
}

/// One in ONNX, of which each operator is in the file.
#[network]
pub mod of_onnx {
    include_model!("onnx/mlp/model.onnx");
}

fn included() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/included")
}

fn array(tensor: &Tensor) -> Array<f32, IxDyn> {
    let Values::F32(elements) = &tensor.values else { panic!("f32") };
    Array::from_shape_vec(IxDyn(&tensor.shape), elements.clone()).unwrap()
}

fn assert_near(found: &Array<f32, IxDyn>, expected: &Array<f32, IxDyn>) {
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-6 + 1e-5 * expected.abs(), "{found} is not {expected}");
    }
}

#[test]
fn it_computes_what_paddle_paddle_computes() {
    let (image, expected) = (saved("image"), saved("out0"));
    let net = small::predict();
    let mut parameters = parameters![small::predict, surprise::of].unwrap();
    assert_eq!(parameters.load_model(included(), Load::Strict).unwrap().loaded, 12);
    let rows: Vec<[[[f32; 6]; 6]; 1]> = image
        .outer_iter()
        .map(|row| [std::array::from_fn(|y| std::array::from_fn(|x| row[[0, y, x]]))])
        .collect();
    let found = infer(&net, &parameters, &rows).unwrap();
    assert_near(&found.at::<f32>(0).unwrap().to_owned().into_dyn(), &expected);
    let surprise = infer(&surprise::of(), &parameters, &rows).unwrap();
    for (surprise, row) in surprise.at::<f32>(0).unwrap().iter().zip(expected.outer_iter()) {
        let most = row.iter().copied().fold(0.0, f32::max);
        assert!((surprise + most.ln()).abs() < 1e-5, "{surprise} is not that of {most}");
    }
    // The file alone has the same values in the order of the names.
    let mut of_the_file = parameters![small::predict].unwrap();
    of_the_file.load_pdiparams(included().join("small.pdiparams")).unwrap();
    assert_eq!(
        of_the_file.get::<f32>(small::params::linear_0::w_0).unwrap(),
        parameters.get::<f32>(small::params::linear_0::w_0).unwrap()
    );
}

fn saved(name: &str) -> Array<f32, IxDyn> {
    array(&npz::read(&included().join("small.npz"))[name])
}

/// Pictures that are bright on the left, or on the right.
fn halves() -> Vec<cells::cost::Row> {
    let picture = |k: usize| {
        let bright = |x: usize| if (x < 3) == k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let image = [std::array::from_fn(|y| {
            std::array::from_fn(|x| bright(x) + ((k * 7 + y * 3 + x) % 5) as f32 * 0.1)
        })];
        cells::cost::Row { image, label: (k % 2) as i64 }
    };
    (0..16).map(picture).collect()
}

fn moved(before: &Parameters, after: &Parameters) -> Vec<String> {
    let differs = |name: &&str| before.get::<f32>(name).unwrap() != after.get::<f32>(name).unwrap();
    before.names().filter(differs).map(str::to_string).collect()
}

#[test]
fn a_head_is_trained_on_a_frozen_trunk_and_with_it() {
    let (cost, rows) = (cells::cost(), halves());
    let mut parameters = parameters![cells::cost, cells::likely].unwrap();
    let report = parameters.load_model(included(), Load::Intersect).unwrap();
    assert_eq!(report.missing, ["head.w", "head.b"]);
    assert_eq!(report.extra, ["linear_0.b_0", "linear_0.w_0"]);
    let before = parameters.copy().unwrap();
    let head_alone = Options::default().freeze_named("conv2d_*").freeze_named("batch_norm2d_*");
    let mut trainer = Trainer::new(Adam::new(0.05));
    let first = trainer.step_with(&cost, &mut parameters, &rows, &head_alone).unwrap().cost();
    assert_eq!(moved(&before, &parameters), ["head.w", "head.b"]);
    let mut last = first;
    for _ in 0..30 {
        last = trainer.step_with(&cost, &mut parameters, &rows, &head_alone).unwrap().cost();
    }
    assert!(last < 0.9 * first, "{first} {last}");
    // All of it: filters, factors and statistics move, and more is learnt.
    let before = parameters.copy().unwrap();
    let mut trainer = Trainer::new(Adam::new(0.05));
    for _ in 0..30 {
        trainer.step(&cost, &mut parameters, &rows).unwrap();
    }
    assert_eq!(moved(&before, &parameters).len(), parameters.len());
    let whole = trainer.step(&cost, &mut parameters, &rows).unwrap().cost();
    assert!(whole < 0.5 * last, "{last} {whole}");
}

#[test]
fn a_model_in_onnx() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx/mlp");
    let mut parameters = parameters![of_onnx::predict].unwrap();
    parameters.load_model(folder.join("model.onnx"), Load::Strict).unwrap();
    let net = of_onnx::predict();
    let inputs = npz::read(&folder.join("in3.npz"));
    let mut batch = Batch::new(&net).unwrap();
    for (name, tensor) in &inputs {
        feed(&mut batch, name, tensor).unwrap();
    }
    let outputs = infer(&net, &parameters, &batch).unwrap();
    let expected = &npz::read(&folder.join("out3.npz"))["out0"];
    fetched(&outputs, 0, expected).unwrap().assert_close(expected, 1e-5, 1e-6, "out0");
}

/// Each model beside the repository, included by the same front end when the test runs.
#[test]
fn models_of_paddle_paddle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures");
    if !root.is_dir() {
        return eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    }
    for name in [
        "cond",
        "lenet",
        "lstm_classifier",
        "mlp",
        "mobilenet_v1_x025",
        "resnet18_w8",
        "seqpool_lod",
        "textcnn",
        "transformer_block",
        "while_loop",
    ] {
        let folder = root.join(name);
        let (loaded, values) = Network::load(&folder).unwrap();
        let source = "pub mod model { include_model!(\"model\"); }";
        let included: Network<Dynamic> =
            compile(source, &Source::new().folder(&folder)).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        let mut parameters = Parameters::create(&included).unwrap();
        parameters.load_model(&folder, Load::Strict).unwrap();
        let inputs = npz::read(&folder.join("inputs.npz"));
        let [expected, found] = [(loaded, values), (included, parameters)].map(|(net, parameters)| {
            let mut program = net.program().unwrap().clone();
            test_mode(&mut program);
            let mut runner = Runner::new(Cpu::new().unwrap(), &program);
            let value = |name: &str| {
                let value = parameters.get::<f32>(name).unwrap();
                (name.to_string(), Tensor::f32(value.shape(), &value.iter().copied().collect::<Vec<_>>()))
            };
            runner.set(&parameters.names().map(value).collect());
            let name = |input: &VarId| npz::with_offsets(&inputs, &program.var(*input).name);
            runner.run(&program.inputs().iter().map(name).collect::<Vec<_>>())
        });
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.iter().zip(&found) {
            found.assert_close(expected, 1e-6, 1e-7, name);
        }
    }
}
