//! Models in ONNX: small ones that are built here, and those of a folder with ONNX's own tests, or with what `oracle/torch_models`
//! exports.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use paddle::core::ops::{Program, Reduce, ReduceKind, Unary, UnaryKind};
use paddle::core::program::Site;
use paddle::core::wire::onnx::{ElementType, GraphProto, ModelProto, TensorProto};
use paddle::{Adam, Batch, Dynamic, Error, Network, Parameters, Trainer, infer, load_onnx};
use support::feeding::{feed, fetched};
use support::npz;
use support::source::Again;
use support::tensor::{Tensor, Values};

/// What becomes of a model and its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// All outputs are right.
    Passed,
    /// All outputs are right, if inputs that say what operators do are in the model, as they are in those of exporters.
    PassedWithConstants,
    /// It is refused, with an error that says why.
    Unsupported,
    /// It panics, or an output is wrong.
    Wrong,
}

/// Runs a model; `Err` is why it does not run, or `Ok` with what is wrong with its outputs.
fn run(
    model: &[u8],
    inputs: &[(String, Tensor)],
    expected: &[Tensor],
    tolerance: [f64; 2],
) -> Result<Result<f64, String>, String> {
    let (net, parameters) = load_onnx(model).map_err(|error| error.to_string())?;
    compare((&net, &parameters, |name| name.to_string()), inputs, expected, tolerance)
}

/// Runs a network, whose inputs may have other names than those of the model.
fn compare(
    (net, parameters, name): (&Network<Dynamic>, &Parameters, impl Fn(&str) -> String),
    inputs: &[(String, Tensor)],
    expected: &[Tensor],
    tolerance: [f64; 2],
) -> Result<Result<f64, String>, String> {
    let mut batch = Batch::new(net).map_err(|error| error.to_string())?;
    let names: BTreeSet<String> = net.inputs().unwrap().iter().map(|input| input.name.clone()).collect();
    let named = inputs.iter().map(|(of_model, tensor)| (name(of_model), tensor));
    for (name, tensor) in named.filter(|(name, _)| names.contains(name)) {
        feed(&mut batch, &name, tensor).map_err(|error| error.to_string())?;
    }
    let outputs = infer(net, parameters, &batch).map_err(|error| error.to_string())?;
    let mut worst = 0f64;
    for (k, expected) in expected.iter().enumerate() {
        let found = match fetched(&outputs, k, expected) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        match found.compare(expected, tolerance[0], tolerance[1]) {
            Ok(error) => worst = worst.max(error),
            Err(why) => return Ok(Err(format!("output {k}: {why}"))),
        }
    }
    Ok(Ok(worst))
}

/// Runs a model without a panic.
fn tried(
    model: &[u8],
    inputs: &[(String, Tensor)],
    expected: &[Tensor],
    tolerance: [f64; 2],
) -> (Outcome, String) {
    match catch_unwind(AssertUnwindSafe(|| run(model, inputs, expected, tolerance))) {
        Ok(Ok(Ok(_))) => (Outcome::Passed, String::new()),
        Ok(Ok(Err(why))) => (Outcome::Wrong, why),
        Ok(Err(why)) => (Outcome::Unsupported, why),
        Err(_) => (Outcome::Wrong, "it panics".to_string()),
    }
}

/// A tensor of ONNX; `None` if its elements are of a type that no test compares.
fn tensor(proto: &TensorProto) -> Option<Tensor> {
    let element = proto.element_type()?;
    let kind = element.kind().filter(|_| element != ElementType::Bfloat16)?;
    let data = proto.elements(kind).ok()?;
    let shape = proto.dims.iter().map(|&dim| dim as usize).collect();
    Some(Tensor { shape, values: Values::from_bytes(kind, &data), offsets: Vec::new() })
}

/// The tensors of a data set, in order; `None` if one is no tensor of numbers.
fn tensors(folder: &Path, prefix: &str) -> Option<Vec<TensorProto>> {
    let mut all = Vec::new();
    while let Ok(bytes) = fs::read(folder.join(format!("{prefix}_{}.pb", all.len()))) {
        let proto = TensorProto::decode(&bytes).ok()?;
        tensor(&proto)?;
        all.push(proto);
    }
    Some(all)
}

/// One of ONNX's own tests: a model, and data sets of inputs and outputs.
fn check(folder: &Path) -> (Outcome, String) {
    let unsupported = |why: &str| (Outcome::Unsupported, why.to_string());
    let bytes = fs::read(folder.join("model.onnx")).unwrap();
    let Ok(model) = ModelProto::decode(&bytes) else { return unsupported("it is no model") };
    if model.graph.node.iter().any(|node| node.op_type.starts_with("Random")) {
        return unsupported("it is random");
    }
    let initial: BTreeSet<&String> =
        model.graph.initializer.iter().filter_map(|tensor| tensor.name.as_ref()).collect();
    let fed: Vec<&String> =
        model.graph.input.iter().map(|input| &input.name).filter(|name| !initial.contains(name)).collect();
    let mut worst = (Outcome::Passed, String::new());
    for set in (0..).map(|set| folder.join(format!("test_data_set_{set}"))).take_while(|set| set.is_dir()) {
        let (Some(inputs), Some(outputs)) = (tensors(&set, "input"), tensors(&set, "output")) else {
            return unsupported("its data are no tensors of numbers");
        };
        let is_half = |tensor: &TensorProto| tensor.element_type() == Some(ElementType::Float16);
        let tolerance = if inputs.iter().chain(&outputs).any(is_half) { [2e-3, 1e-3] } else { [1e-3, 1e-6] };
        let named: Vec<(String, Tensor)> =
            fed.iter().map(|name| name.to_string()).zip(inputs.iter().filter_map(tensor)).collect();
        let expected: Vec<Tensor> = outputs.iter().filter_map(tensor).collect();
        let mut found = tried(&bytes, &named, &expected, tolerance);
        let is_whole = |tensor: &TensorProto| {
            let whole = [ElementType::Int64, ElementType::Int32, ElementType::Bool];
            tensor.element_type().is_some_and(|element| whole.contains(&element))
        };
        for all in [false, true] {
            if found.0 != Outcome::Unsupported {
                break;
            }
            // Messages that follow each other are merged.
            let constants = inputs
                .iter()
                .zip(&fed)
                .enumerate()
                .filter(|(k, (tensor, _))| *k > 0 && all || is_whole(tensor));
            let initializer = constants
                .map(|(_, (tensor, name))| TensorProto { name: Some(name.to_string()), ..tensor.clone() });
            let graph = GraphProto { initializer: initializer.collect(), ..Default::default() };
            let more = ModelProto { graph, ..Default::default() }.encode_to_vec();
            let (outcome, why) = tried(&[&bytes[..], &more].concat(), &named, &expected, tolerance);
            match outcome {
                Outcome::Passed => found = (Outcome::PassedWithConstants, why),
                Outcome::Wrong => found = (Outcome::Wrong, why),
                _ => {}
            }
        }
        worst = worst.max(found);
    }
    worst
}

/// Tests whose results are not saturated, as ONNX says they are, but wrap around. What onnxruntime gives is saturated, too.
const WRAPPED: [&str; 2] = ["test_qlinearmatmul_2D_int8", "test_qlinearmatmul_3D_int8"];

/// ONNX's own tests, in the folder `PADDLE_ONNX`, which is `onnx/backend/test/data` of its package: a table of what becomes of them.
#[test]
fn backend_tests_of_a_folder() {
    let Some(folder) = std::env::var_os("PADDLE_ONNX").map(PathBuf::from) else {
        eprintln!("skipped: PADDLE_ONNX names no folder");
        return;
    };
    let only = std::env::var("PADDLE_ONNX_ONLY").unwrap_or_default();
    std::panic::set_hook(Box::new(|_| {}));
    let mut wrong = Vec::new();
    for kind in ["node", "simple", "pytorch-operator", "pytorch-converted"] {
        let Ok(files) = fs::read_dir(folder.join(kind)) else { continue };
        let cases: BTreeSet<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.join("model.onnx").is_file()) {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            if !name.contains(&only) {
                continue;
            }
            let (outcome, why) = check(case);
            *counts.entry(outcome).or_default() += 1;
            if !why.is_empty() {
                println!("{kind}/{name}: {outcome:?}: {why}");
            }
            if outcome == Outcome::Wrong && !WRAPPED.iter().any(|wrapped| name.starts_with(wrapped)) {
                wrong.push(format!("{kind}/{name}: {why}"));
            }
        }
        println!("{kind}: {counts:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Models that `oracle/torch_models` exported, in the folder `PADDLE_ONNX_MODELS`.
#[test]
fn models_of_a_folder() {
    let Some(folder) = std::env::var_os("PADDLE_ONNX_MODELS").map(PathBuf::from) else {
        eprintln!("skipped: PADDLE_ONNX_MODELS names no folder");
        return;
    };
    of_folder(&folder, &[1, 3]);
}

/// Small models: layers with normalisation, a recurrent one, images and looked-up vectors, which PyTorch exported, and loops and
/// branches, with the outputs of ONNX's reference.
#[test]
fn small_models() {
    of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx"), &[3]);
}

/// Runs all models of a folder on batches of these numbers of rows.
fn of_folder(folder: &Path, batches: &[usize]) {
    let models: BTreeSet<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for folder in models.iter().filter(|path| path.join("model.onnx").is_file()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(folder.join("model.onnx")).unwrap();
        let mut why = None;
        let mut worst = 0f64;
        let again = load_onnx(&bytes).ok().map(|(net, parameters)| Again::of(&net, &parameters));
        if let Some(Err(lacks)) = &again {
            println!("{name} is not written as source: {lacks}");
        }
        let again = match again.and_then(Result::ok) {
            Some(Err(error)) => {
                why = Some(format!("as source: {error}"));
                None
            }
            again => again.and_then(Result::ok),
        };
        for rows in batches {
            let inputs: Vec<(String, Tensor)> =
                npz::read(&folder.join(format!("in{rows}.npz"))).into_iter().collect();
            let outputs = npz::read(&folder.join(format!("out{rows}.npz")));
            let expected: Vec<Tensor> =
                (0..outputs.len()).map(|k| outputs[&format!("out{k}")].clone()).collect();
            match run(&bytes, &inputs, &expected, [1e-3, 1e-5]) {
                Ok(Ok(error)) => worst = worst.max(error),
                Ok(Err(wrong)) => why = Some(format!("batch of {rows}: WRONG: {wrong}")),
                Err(error) => why = Some(format!("batch of {rows}: {error}")),
            }
            let Some(again) = again.as_ref().filter(|_| why.is_none()) else { continue };
            let of_source = (&again.net, &again.parameters, |name: &str| again.input(name).to_string());
            match compare(of_source, &inputs, &expected, [1e-3, 1e-5]) {
                Ok(Ok(error)) => worst = worst.max(error),
                Ok(Err(error)) | Err(error) => {
                    why = Some(format!("batch of {rows}, as source: {error}\n{}", again.source));
                }
            }
        }
        match why {
            None => {
                passed += 1;
                println!("{name:28} passed, {worst:.1e}");
            }
            Some(why) => {
                println!("{name:28} FAILED: {why}");
                failed.push(name);
            }
        }
    }
    println!("{passed} of {} passed", passed + failed.len());
    assert!(failed.is_empty(), "{failed:?}");
}

/// A loaded network gets a cost and is trained: its weights and the statistics of its normalisation change, and it learns.
#[test]
fn a_loaded_network_is_trained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx/mlp");
    // Its folder has one model, whose name may lack its extension.
    assert_eq!(Network::<Dynamic>::file_of(&folder).unwrap(), folder.join("model.onnx"));
    let (net, mut parameters) = Network::load(folder.join("model")).unwrap();
    let mut program = net.program().unwrap().clone();
    let (out, site) = (program.outputs()[0], Site::default());
    let squares = program.append_op(Program::GLOBAL, Unary::of(UnaryKind::Square), &[out], site).unwrap();
    let mean = Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false };
    let cost = program.append_op(Program::GLOBAL, mean, &squares, site).unwrap();
    program.set_outputs(&cost).unwrap();
    let training = Network::<Dynamic>::from_program(program).unwrap();
    let mut batch = Batch::new(&training).unwrap();
    for (name, tensor) in npz::read(&folder.join("in3.npz")) {
        feed(&mut batch, &name, &tensor).unwrap();
    }
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    let values = |parameters: &Parameters| -> Vec<Vec<f32>> {
        names.iter().map(|name| parameters.get::<f32>(name).unwrap().iter().copied().collect()).collect()
    };
    let before = values(&parameters);
    let mut trainer = Trainer::new(Adam::new(0.05));
    let costs: Vec<f32> =
        (0..30).map(|_| trainer.step(&training, &mut parameters, &batch).unwrap().cost()).collect();
    assert!(costs[29] < 0.1 * costs[0], "{costs:?}");
    let stay: Vec<&String> = names
        .iter()
        .zip(before.iter().zip(values(&parameters)))
        .filter(|(_, (a, b))| *a == b)
        .map(|(name, _)| name)
        .collect();
    assert!(stay.is_empty(), "{stay:?}");
}

/// Bytes that are no model are an error with a place.
#[test]
fn bytes_that_are_no_model() {
    assert!(matches!(load_onnx(b"no model"), Err(Error::Wire(_))));
}
