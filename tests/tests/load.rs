//! A model that PaddlePaddle saved, loaded and run as a user does it. The files are kept beside the repository.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array, Axis, IxDyn};
use paddle::core::convert::legalise;
use paddle::core::ops::{Program, Reduce, ReduceKind, Unary, UnaryKind};
use paddle::core::passes::test_mode::test_mode;
use paddle::core::program::Site;
use paddle::core::wire::{
    BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType,
    parameter_names, read_params, write_params,
};
use paddle::{
    Adam, Batch, Dynamic, Error, Network, Options, Parameters, Trainer, infer, load_inference_model, network,
};
use support::feeding::{feed, fetched};
use support::npz;
use support::source::Again;
use support::tensor::{Tensor, Values};

fn fixture() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures/mlp");
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    }
    path.is_dir().then_some(path)
}

fn array(tensor: &Tensor) -> Array<f32, IxDyn> {
    let Values::F32(elements) = &tensor.values else { panic!("the fixture is of f32") };
    Array::from_shape_vec(IxDyn(&tensor.shape), elements.clone()).unwrap()
}

#[test]
fn a_model_and_its_parameters() {
    let Some(path) = fixture() else { return };
    let [model, params] = ["model.pdmodel", "model.pdiparams"].map(|name| fs::read(path.join(name)).unwrap());
    let (net, parameters) = load_inference_model(&model, &params).unwrap();
    let mut batch = Batch::new(&net).unwrap();
    for (name, tensor) in npz::read(&path.join("inputs.npz")) {
        batch.set(&name, &array(&tensor)).unwrap();
    }
    let outputs = infer(&net, &parameters, &batch).unwrap();
    let expected = array(&npz::read(&path.join("outputs.npz"))["out0"]);
    let found = outputs.at::<f32>(0).unwrap();
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5 + 1e-4 * expected.abs(), "{found} is not {expected}");
    }
}

/// Every beginning of the files, and one byte too many, is an error.
#[test]
fn files_that_are_cut_off() {
    let Some(path) = fixture() else { return };
    let [model, params] = ["model.pdmodel", "model.pdiparams"].map(|name| fs::read(path.join(name)).unwrap());
    assert!((1..model.len()).step_by(7).all(|end| load_inference_model(&model[..end], &params).is_err()));
    assert!((0..params.len()).step_by(997).all(|end| load_inference_model(&model, &params[..end]).is_err()));
    let longer = [&params[..], &[0]].concat();
    assert!(matches!(load_inference_model(&model, &longer), Err(Error::Convert(_))));
}

/// The largest error of a model's outputs over its batches, or why it cannot be run.
fn check(folder: &Path) -> Result<f64, String> {
    let (net, parameters) = Network::load(folder).map_err(|error| error.to_string())?;
    if let (Some(exports), Some(name)) = (std::env::var_os("PADDLE_EXPORTS"), folder.file_name()) {
        let exported = Path::new(&exports).join(name);
        fs::create_dir_all(&exported).unwrap();
        for file in ["model", "model.onnx"] {
            if let Err(error) = net.save(exported.join(file), &parameters) {
                println!("{} is not exported as {file}: {error}", name.display());
            }
        }
    }
    let worst = compare(folder, &net, &parameters, |name| name.to_string())?;
    match Again::of(&net, &parameters) {
        Err(lacks) => {
            println!("{} is not written as source: {lacks}", folder.display());
            Ok(worst)
        }
        Ok(again) => {
            let again = again.map_err(|why| format!("as source: {why}"))?;
            let error = compare(folder, &again.net, &again.parameters, |name| again.input(name).to_string());
            Ok(worst.max(error.map_err(|why| format!("as source: {why}\n{}", again.source))?))
        }
    }
}

/// The largest error of a network's outputs over the batches of a model. The network calls inputs otherwise.
fn compare(
    folder: &Path,
    net: &Network<Dynamic>,
    parameters: &Parameters,
    renamed: impl Fn(&str) -> String,
) -> Result<f64, String> {
    let mut worst = 0f64;
    for batch in ["1", "3", "32"] {
        let inputs = npz::read(&folder.join(format!("in{batch}.npz")));
        let mut fed = Batch::new(net).map_err(|error| error.to_string())?;
        for (name, tensor) in &inputs {
            feed(&mut fed, &renamed(name), tensor).map_err(|error| format!("batch of {batch}: {error}"))?;
        }
        let outputs = infer(net, parameters, &fed).map_err(|error| format!("batch of {batch}: {error}"))?;
        for (k, name) in outputs.names().enumerate() {
            let expected = &npz::read(&folder.join(format!("out{batch}.npz")))[&format!("out{k}")];
            let found = fetched(&outputs, k, expected)?;
            let error = found.compare(expected, 1e-4, 1e-5);
            worst = worst.max(error.map_err(|why| format!("batch of {batch}: `{name}`: {why}"))?);
        }
    }
    Ok(worst)
}

/// Models of `oracle/saved_models`, saved by the real PaddlePaddle with what it gives: a loop appends words until all rows have an end;
/// elements are repeated as often as a run computes. Version 3.3.1 saved some as JSON: such a loop, a cell that writes into arrays,
/// casts to narrow types, and values that are written into parts of others.
#[test]
fn models_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved");
    let exact = [
        "words_until_a_break",
        "repeated_as_computed",
        "json/words_until_a_break",
        "json/float_types",
        "json/api_assigned",
    ];
    for name in exact {
        assert_eq!(check(&folder.join(name)), Ok(0.0), "{name}");
    }
    let error = check(&folder.join("json/own_cell")).unwrap();
    assert!(error < 1e-6, "{error}");
}

/// Models of `oracle/saved_models` whose source has numbers of rows, numbers for each row, none that are finite, inputs without rows,
/// sizes that are divided, or a condition that is a value of its loop and is not computed as in front of it.
#[test]
fn models_that_are_written_as_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved");
    for name in [
        "until_it_converges",
        "json/api_ranges",
        "json/gpt_dynamic",
        "json/graph_attention",
        "json/graph_convolution",
        "json/gru_cell_loop",
    ] {
        let error = check(&folder.join(name)).unwrap();
        assert!(error < 1e-5, "{name}: {error}");
        let (net, parameters) = Network::load(folder.join(name)).unwrap();
        assert!(Again::of(&net, &parameters).is_ok(), "{name}");
    }
}

/// Models that `oracle/saved_models` wrote with the real PaddlePaddle, in the folder `PADDLE_MODELS`: a table of what
/// becomes of each. They are exported to the folder `PADDLE_EXPORTS`, if there is one, for `oracle/exported_models.py`.
#[test]
fn models_of_a_folder() {
    let Some(folder) = std::env::var_os("PADDLE_MODELS") else {
        eprintln!("skipped: PADDLE_MODELS names no folder");
        return;
    };
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let models: BTreeSet<PathBuf> = files.filter(|path| path.is_dir()).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for model in &models {
        let name = model.file_name().unwrap().display();
        match check(model) {
            Ok(worst) => {
                passed += 1;
                println!("{name:28} passed, {worst:.1e}");
            }
            Err(why) => {
                println!("{name:28} FAILED: {why}");
                failed.push(name.to_string());
            }
        }
    }
    println!("{passed} of {} passed", models.len());
    assert!(failed.is_empty(), "{failed:?}");
}

/// Everything that is not supported is listed at once: an operator that is not known here, one within a branch behind it,
/// a form of a known operator, and a type.
#[test]
fn all_that_is_not_supported() {
    let op = |name: &str, input: &str, output: &str| {
        OpDesc::new(name).with_input("X", [input]).with_output("Out", [output])
    };
    let var = |name: &str, kind: VarKind| {
        let tensor = TensorDesc { data_type: kind.into(), dims: vec![-1, 4], ..Default::default() };
        let lod_tensor = Some(LodTensorDesc { tensor, ..Default::default() });
        let ty = VarType { r#type: VarKind::LodTensor.into(), lod_tensor, ..Default::default() };
        VarDesc { name: name.to_string(), r#type: ty, ..Default::default() }
    };
    let fed = |name: &str, col| op("feed", "feed", name).with_attr(OpAttr::int("col", col));
    let branch = OpDesc::new("conditional_block")
        .with_input("Cond", ["b"])
        .with_output("Out", ["e"])
        .with_attr(OpAttr::bool("is_scalar_condition", true))
        .with_attr(OpAttr::block("sub_block", 1));
    let names = ["x", "a", "b", "c", "d", "e"];
    let outer = BlockDesc {
        parent_idx: -1,
        vars: names
            .map(|name| var(name, VarKind::Fp32))
            .into_iter()
            .chain([var("z", VarKind::Complex64)])
            .collect(),
        ops: vec![
            fed("x", 0),
            fed("z", 1),
            op("psroi_pool", "x", "a"),
            op("relu", "a", "b"),
            branch,
            op("maxout", "x", "c").with_attr(OpAttr::int("groups", 3)),
            op("relu", "z", "d"),
            op("fetch", "e", "fetch").with_attr(OpAttr::int("col", 0)),
        ],
        ..Default::default()
    };
    let inner = BlockDesc { idx: 1, ops: vec![op("fusion_lstm", "x", "e")], ..Default::default() };
    let program = ProgramDesc { blocks: vec![outer, inner], ..Default::default() }.encode_to_vec();
    let Err(Error::Unsupported(unsupported)) = load_inference_model(&program, b"") else {
        panic!("it is not supported")
    };
    assert_eq!(
        unsupported.to_string(),
        "the program cannot be run, for 4 reasons:\n\
         - variable `z`: its elements are COMPLEX64; supported are BOOL, INT8, INT16, INT32, INT64, UINT8, FP16, BF16, FP32 and FP64\n\
         - block 0, operator 2 `psroi_pool`: there is no such operator here\n\
         - block 1, operator 0 `fusion_lstm`: there is no such operator here\n\
         - block 0, operator 5 `maxout`: this form of it is not supported: X is f32[_, 4], groups = 3"
    );
}

/// A loaded network gets a cost and is trained: normalisation moves its statistics, what is frozen by its name stays, and
/// inference sees both.
#[test]
fn a_loaded_network_is_trained() {
    let saved = network!(|x: Tensor<f32, _, 2, 4, 4>| {
        let maps = batch_norm(conv2d(x, 3, 3, param = "filters"), param = "norm");
        fc(maps, 1, param = "head")
    });
    let folder = std::env::temp_dir().join(format!("paddle-trained-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut inference = saved.program().unwrap().clone();
    test_mode(&mut inference);
    let model = legalise(&inference).unwrap().encode_to_vec();
    fs::write(folder.join("saved.pdmodel"), model).unwrap();
    Parameters::create(&saved).unwrap().save_pdiparams(folder.join("saved.pdiparams")).unwrap();
    let (net, mut parameters) = Network::load(&folder).unwrap();
    fs::remove_dir_all(&folder).unwrap();

    let mut program = net.program().unwrap().clone();
    let out = program.outputs()[0];
    let site = Site::default();
    let squares = program.append_op(Program::GLOBAL, Unary::of(UnaryKind::Square), &[out], site).unwrap();
    let mean = Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false };
    let cost = program.append_op(Program::GLOBAL, mean, &squares, site).unwrap();
    program.set_outputs(&cost).unwrap();
    let training = Network::<Dynamic>::from_program(program).unwrap();

    let x = Array::from_shape_fn(IxDyn(&[3, 2, 4, 4]), |at| ((at[0] * 7 + at[2] * 3 + at[3]) % 5) as f32);
    let answer = |parameters: &Parameters| {
        let batch = Batch::new(&net).unwrap().with("x", &x).unwrap();
        infer(&net, parameters, &batch).unwrap().at::<f32>(0).unwrap().to_owned()
    };
    let values = |parameters: &Parameters| -> Vec<(String, Vec<f32>)> {
        let names: Vec<String> = parameters.names().map(str::to_string).collect();
        let of = |name: String| {
            let values = parameters.get::<f32>(&name).unwrap().iter().copied().collect();
            (name, values)
        };
        names.into_iter().map(of).collect()
    };
    let (before, first) = (values(&parameters), answer(&parameters));
    let mut trainer = Trainer::new(Adam::new(0.01));
    let options = Options::default().freeze_named("filters.*").freeze_named("*d.b");
    let batch = Batch::new(&training).unwrap().with("x", &x).unwrap();
    trainer.step_with(&training, &mut parameters, &batch, &options).unwrap();
    let stays: Vec<String> = before
        .iter()
        .zip(values(&parameters))
        .filter(|(before, after)| before.1 == after.1)
        .map(|(before, _)| before.0.clone())
        .collect();
    assert_eq!(stays, ["filters.w", "filters.b", "head.b"]);
    assert_ne!(answer(&parameters), first);
    // In inference a row does not depend on the others: the statistics are those that were kept.
    let one = x.slice_axis(Axis(0), (0..1).into()).to_owned();
    let alone = Batch::new(&net).unwrap().with("x", &one).unwrap();
    let alone = infer(&net, &parameters, &alone).unwrap();
    let together = answer(&parameters);
    assert!((alone.at::<f32>(0).unwrap()[[0, 0]] - together[[0, 0]]).abs() < 1e-5);
    let error = trainer.step_with(&training, &mut parameters, &batch, &options.freeze_named("filter.*"));
    assert!(matches!(error, Err(Error::Parameter(_))), "{error:?}");
}

/// The file `__model__`, as PaddlePaddle called models before it had extensions: values in `__params__`, or in a file for each
/// parameter. A path means the same to whoever reads models.
#[test]
fn models_without_names_of_their_own() {
    let folder = std::env::temp_dir().join(format!("paddle-nameless-{}", std::process::id()));
    fs::create_dir_all(folder.join("scope")).unwrap();
    let saved = network!(|x: Tensor<f32, _, 3>| {
        let out = fc(relu(fc(x, 4, param = ["scope/first.w", "b"])), 2, param = "last");
        out
    });
    let values = Parameters::create(&saved).unwrap();
    saved.save(folder.join("model.pdmodel"), &values).unwrap();
    fs::rename(folder.join("model.pdmodel"), folder.join("__model__")).unwrap();
    fs::rename(folder.join("model.pdiparams"), folder.join("__params__")).unwrap();
    let found = |path: &Path| {
        let (net, parameters) = Network::load(path)?;
        let x = Array::from_shape_fn(IxDyn(&[2, 3]), |at| (at[0] * 3 + at[1]) as f32 - 2.0);
        let batch = Batch::new(&net)?.with("x", &x)?;
        Ok::<_, Error>(infer(&net, &parameters, &batch)?.at::<f32>(0)?.to_owned())
    };
    let expected = found(&folder).unwrap();
    assert_eq!(found(&folder.join("__model__")).unwrap(), expected);
    assert_eq!(Network::<Dynamic>::file_of(&folder).unwrap(), folder.join("__model__"));

    let desc = ProgramDesc::decode(&fs::read(folder.join("__model__")).unwrap()).unwrap();
    let names = parameter_names(&desc);
    let records = read_params(&fs::read(folder.join("__params__")).unwrap(), &names).unwrap();
    fs::remove_file(folder.join("__params__")).unwrap();
    for (name, record) in &records {
        let one = [(name.clone(), record.clone())].into();
        fs::write(folder.join(name), write_params(&one).unwrap()).unwrap();
    }
    assert!(folder.join("scope/first.w").is_file(), "{names:?}");
    assert_eq!(found(&folder).unwrap(), expected);
    #[cfg(unix)]
    {
        // Folders of models may have links alone, as those of caches do.
        let links = folder.join("links");
        fs::create_dir(&links).unwrap();
        for name in ["__model__", "scope", "b", "last.w", "last.b"] {
            std::os::unix::fs::symlink(folder.join(name), links.join(name)).unwrap();
        }
        assert_eq!(found(&links).unwrap(), expected);
    }

    // A file that ends early is named, and so is one that is not there.
    let whole = fs::read(folder.join("last.w")).unwrap();
    fs::write(folder.join("last.w"), &whole[..whole.len() - 1]).unwrap();
    let Err(Error::File(error)) = found(&folder) else { panic!("a file has ended") };
    assert_eq!(error.path, folder.join("last.w"));
    fs::remove_file(folder.join("last.w")).unwrap();
    let Err(Error::File(error)) = found(&folder) else { panic!("a file is missing") };
    assert_eq!(error.path, folder.join("last.w"));
    // Names of parameters are paths within the folder.
    let mut outside = desc.clone();
    for var in outside.blocks.iter_mut().flat_map(|block| &mut block.vars).filter(|var| var.name == "b") {
        var.name = "../b".into();
    }
    fs::write(folder.join("__model__"), outside.encode_to_vec()).unwrap();
    let Err(Error::File(error)) = found(&folder) else { panic!("it leads out of the folder") };
    assert!(error.to_string().contains("`../b`"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

/// A path means a program as JSON if nothing else is called so: in a folder the one with values beside it.
#[test]
fn programs_as_json() {
    let folder = std::env::temp_dir().join(format!("paddle-json-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved/json/words_until_a_break");
    for name in ["model.json", "model.pdiparams"] {
        fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    fs::write(folder.join("config.json"), "{}").unwrap();
    for path in [folder.clone(), folder.join("model"), folder.join("model.json")] {
        Network::<Dynamic>::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let [model, values] = ["model.json", "model.pdiparams"].map(|name| fs::read(folder.join(name)).unwrap());
    load_inference_model(&model, &values).unwrap();
    let Err(error) = Network::<Dynamic>::load(folder.join("config")) else { panic!("it is no program") };
    assert!(error.to_string().ends_with("config.json: this is no program of PaddlePaddle's as JSON, or a damaged one: its `base_code` does not say `pir`"), "{error}");
    fs::remove_file(folder.join("model.pdiparams")).unwrap();
    let Err(error) = Network::<Dynamic>::load(&folder) else { panic!("there are two") };
    assert!(error.to_string().contains("has 2 files"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}
