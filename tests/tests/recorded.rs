//! Trainings that the real PaddlePaddle 2.6.2 recorded, trained here: every cost, and all parameters at the end.
//!
//! Three of them are kept beside the repository. `oracle/trainings.py` records others, into the folder that
//! `PADDLE_TRAININGS` names.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array, IxDyn};
use paddle::updater::ByName;
use paddle::{Batch, Dynamic, Parameters, Recorded, Trainer};
use support::npz;
use support::tensor::{Tensor, Values};

type Arrays = BTreeMap<String, Tensor>;

fn array<T: Clone>(shape: &[usize], elements: &[T]) -> Array<T, IxDyn> {
    Array::from_shape_vec(IxDyn(shape), elements.to_vec()).unwrap()
}

fn feed(batch: &mut Batch<Dynamic>, name: &str, tensor: &Tensor) {
    match &tensor.values {
        Values::I64(elements) => batch.set(name, &array(&tensor.shape, elements)).unwrap(),
        Values::F32(elements) => batch.set(name, &array(&tensor.shape, elements)).unwrap(),
        other => panic!("`{name}` is {other:?}"),
    }
}

fn single(tensor: &Tensor) -> &[f32] {
    let Values::F32(elements) = &tensor.values else { panic!("it is no f32") };
    elements
}

/// A training, and what it has to be.
struct Expected {
    first: Arrays,
    fed: Arrays,
    /// The learning rate of each step, where it is not always the first one.
    rates: Option<Vec<f64>>,
    costs: Vec<f64>,
    last: Arrays,
}

/// Trains, and returns the largest distance of a cost, and of a parameter at the end, from what it has to be.
fn train(recorded: &Recorded, expected: &Expected) -> Result<(f64, f64), String> {
    let net = recorded.network();
    let mut parameters = Parameters::create(net).map_err(|error| error.to_string())?;
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    for name in &names {
        let first = &expected.first[name];
        parameters.set(name, &array(&first.shape, single(first))).map_err(|error| error.to_string())?;
    }
    let mut trainer: Trainer<ByName> = match expected.rates.clone() {
        Some(rates) => recorded.trainer_at(move |step: u64| rates[step as usize]),
        None => recorded.trainer(),
    };
    let mut worst = 0f64;
    for (step, &cost) in expected.costs.iter().enumerate() {
        let mut batch = Batch::new(net).map_err(|error| error.to_string())?;
        for (name, all) in &expected.fed {
            feed(&mut batch, name, &all.part(step));
        }
        let outcome = trainer.step(net, &mut parameters, &batch);
        let found = outcome.map_err(|error| format!("step {step}: {error}"))?.cost();
        let distance = (f64::from(found) - cost).abs() / cost.abs().max(1.0);
        worst = worst.max(distance);
        if distance > 1e-4 {
            return Err(format!("step {step} costs {found} instead of {cost}"));
        }
    }
    let mut furthest = 0f64;
    for name in &names {
        let found = parameters.get::<f32>(name).map_err(|error| error.to_string())?;
        let last = single(&expected.last[name]);
        let scale = last.iter().fold(1f64, |scale, &value| scale.max(f64::from(value.abs())));
        for (&found, &last) in found.iter().zip(last) {
            furthest = furthest.max(f64::from((found - last).abs()) / scale);
        }
        if !furthest.is_finite() || furthest > 1e-3 {
            return Err(format!("`{name}` is {furthest:.1e} from what it has to be"));
        }
    }
    Ok((worst, furthest))
}

/// What a folder of `oracle/trainings.py` holds.
fn of_folder(folder: &Path) -> Result<(f64, f64), String> {
    let [main, startup] = ["main", "startup"].map(|name| folder.join(format!("{name}.pdprogram")));
    let recorded = Recorded::load(main, Some(startup), &[]).map_err(|error| error.to_string())?;
    let read = |name: &str| npz::read(&folder.join(format!("{name}.npz")));
    let mut fed = read("data");
    let rates = fed.remove("rate").map(|rates| rates.values.numbers());
    let costs = read("costs")["costs"].values.numbers();
    let varies = rates.as_ref().is_some_and(|rates| rates.iter().any(|rate| *rate != rates[0]));
    train(
        &recorded,
        &Expected { first: read("init"), fed, rates: rates.filter(|_| varies), costs, last: read("final") },
    )
}

#[test]
fn trainings_of_a_folder() {
    let Some(folder) = std::env::var_os("PADDLE_TRAININGS") else {
        eprintln!("skipped: PADDLE_TRAININGS names no folder");
        return;
    };
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let folders: BTreeSet<PathBuf> = files.filter(|path| path.is_dir()).collect();
    let mut failed = Vec::new();
    for folder in &folders {
        let name = folder.file_name().unwrap().display();
        match of_folder(folder) {
            Ok((cost, parameter)) => {
                println!("{name:20} passed: costs {cost:.1e}, parameters {parameter:.1e}")
            }
            Err(why) => {
                println!("{name:20} FAILED: {why}");
                failed.push(name.to_string());
            }
        }
    }
    println!("{} of {} passed", folders.len() - failed.len(), folders.len());
    assert!(failed.is_empty(), "{failed:?}");
}

/// The three that are kept: costs, the rate of right answers in each step, and all parameters at the end.
#[test]
fn trainings_beside_the_repository() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures");
    if !fixtures.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    for (name, rate) in [("train_mlp_sgd", 0.5), ("train_lenet_adam", 0.02), ("train_lstm_momentum", 1.0)] {
        let folder = fixtures.join(name);
        let [main, startup] = ["main", "startup"].map(|name| folder.join(format!("{name}.pdprogram")));
        let recorded = Recorded::load(&main, Some(&startup), &["accuracy_0.tmp_2"]);
        let recorded = recorded.unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = recorded.rate().unwrap();
        assert!((found - rate).abs() < 1e-6, "{name}: {found}");
        let read = |file: &str| npz::read(&folder.join(format!("{file}.npz")));
        let costs = read("losses")["loss"].values.numbers();
        let expected = Expected {
            first: read("init_params"),
            fed: read("data"),
            rates: None,
            costs,
            last: read("final_params"),
        };
        let trained = train(&recorded, &expected);
        let (cost, parameter) = trained.unwrap_or_else(|error| panic!("{name}: {error}"));
        println!("{name}: costs {cost:.1e}, parameters {parameter:.1e}");
    }
}
