//! Averages of parameters, the best ones, and the search for a learning rate.

use std::fs;
use std::path::PathBuf;

use ndarray::ArrayD;
use paddle::best::{Best, KeepBest};
use paddle::cluster::Cluster;
use paddle::core::plan::MemoryKind;
use paddle::event::EventKind;
use paddle::files::{self, FileFault, Notes};
use paddle::reader::{DataSet, Reader};
use paddle::updater::Averaged;
use paddle::{
    Adam, AdamW, Error, Load, Momentum, Options, ParameterError, Parameters, Sgd, Trainer, Updater,
    checkpoint, network, test,
};

/// A path of its own for each test, where nothing is.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// The values of all parameters.
fn values(parameters: &Parameters) -> Vec<ArrayD<f32>> {
    parameters.names().map(|name| parameters.get::<f32>(name).unwrap()).collect()
}

macro_rules! model {
    () => {
        network!(|ids: Seq<i64>, y: Tensor<f32, _, 1>| {
            let words = embedding(ids, [9, 4]);
            let hidden = batch_norm(fc(sequence_pool(words, average), 3, act = tanh));
            mean(square(fc(hidden, 1) - y))
        })
    };
}

fn rows() -> Vec<(Vec<i64>, f32)> {
    (0..12_i64).map(|k| (vec![k % 9, (k * 5) % 9], (k % 3) as f32)).collect()
}

/// Steps with and without averages, and the averages that follow from what the parameters were after each step.
fn check_averages<U: Updater + Clone>(updater: U, options: &Options) {
    let (net, rows, decay) = (model!(), rows(), 0.8);
    let (mut parameters, mut plain) = (Parameters::create(&net).unwrap(), Parameters::create(&net).unwrap());
    let (mut trainer, mut without) =
        (Trainer::new(Averaged::new(updater.clone(), decay)), Trainer::new(updater));
    let (mut sums, mut weight) = (Vec::<ArrayD<f64>>::new(), 0.0);
    for batch in rows.chunks(3).cycle().take(9) {
        trainer.step_with(&net, &mut parameters, batch, options).unwrap();
        without.step_with(&net, &mut plain, batch, options).unwrap();
        let now = values(&parameters);
        assert_eq!(now, values(&plain));
        let now = now.iter().map(|value| value.mapv(f64::from) * (1.0 - decay));
        sums = if sums.is_empty() {
            now.collect()
        } else {
            sums.iter().zip(now).map(|(sum, now)| sum * decay + now).collect()
        };
        weight = weight * decay + 1.0 - decay;
    }
    let averages = trainer.averages(&parameters).unwrap();
    let statistics = |name: &str| name.ends_with(".mean") || name.ends_with(".variance");
    assert_eq!(parameters.names().filter(|name| statistics(name)).count(), 2, "{parameters:?}");
    let mut moved = 0;
    for ((name, found), sum) in parameters.names().zip(values(&averages)).zip(sums) {
        if statistics(name) {
            assert_eq!(found, parameters.get::<f32>(name).unwrap());
            continue;
        }
        let far = found.iter().zip(&sum).map(|(&found, sum)| (f64::from(found) - sum / weight).abs());
        assert!(far.fold(0.0, f64::max) < 1e-6, "{name}: {found} {}", sum / weight);
        moved += usize::from(found != parameters.get::<f32>(name).unwrap());
    }
    assert!(moved >= 4, "{parameters:?}");
}

#[test]
fn averages_are_those_of_all_steps() {
    check_averages(Sgd::new(0.1), &Options::default());
    check_averages(AdamW::new(0.01), &Options::default());
    check_averages(Adam::new(0.01), &Options::default().shards(2));
    check_averages(Momentum::new(0.1), &Options::default().shards(3));
}

/// Servers keep the averages of what they hold, with the bits of one machine.
#[test]
fn averages_of_a_cluster_are_those_of_one_machine() {
    let (net, rows) = (model!(), rows());
    let train = |cluster: Option<&Cluster>| {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Averaged::new(Adam::new(0.01), 0.9)).on(cluster);
        let reader = rows.iter().cloned().passes(2).batch(4);
        let mut none = true;
        trainer
            .train(&net, &mut parameters, reader, Options::default().shards(2), |event| {
                none &= event.averages().is_err();
                Ok(())
            })
            .unwrap();
        (values(&trainer.averages(&parameters).unwrap()), none)
    };
    let (alone, none) = train(None);
    assert!(!none);
    let cluster = Cluster::threads(2).servers(2);
    let (on_cluster, none) = train(Some(&cluster));
    // While it trains, the sums are on the servers.
    assert!(none);
    assert_eq!(alone, on_cluster);
}

/// Gradients are accumulated by shards: activations take the memory of one, and the step is that of the whole batch.
#[test]
fn a_large_batch_in_shards_takes_the_memory_of_a_shard() {
    let net = network!(|x: Tensor<f32, _, 64>, y: Tensor<f32, _, 1>| {
        let hidden = fc(fc(x, 64, act = tanh), 64, act = tanh);
        mean(square(fc(hidden, 1) - y))
    });
    let batch = net.batch((0..512).map(|k| net.row([(k % 7) as f32 / 7.0; 64], (k % 5) as f32))).unwrap();
    let measured = |shards: usize| {
        let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.05)));
        let options = Options::default().shards(shards);
        let profile = trainer.profile(&net, &mut parameters, [&batch; 3], &options).unwrap();
        let bytes = |kind| profile.plans().iter().map(|plan| plan.memory.bytes(kind)).sum::<usize>();
        (bytes(MemoryKind::Arena) + bytes(MemoryKind::Tape), values(&parameters))
    };
    let ((whole, once), (eighth, in_parts)) = (measured(1), measured(8));
    assert!(eighth * 4 < whole, "{eighth} {whole}");
    for (once, in_parts) in once.iter().zip(&in_parts) {
        assert!(once.iter().zip(in_parts).all(|(a, b)| (a - b).abs() < 1e-5), "{once} {in_parts}");
    }
}

#[test]
fn averages_are_in_checkpoints_and_seen_by_handlers() {
    let (net, rows, path) = (model!(), rows(), file("averages.checkpoint"));
    let trainer = || Trainer::new(Averaged::new(Adam::new(0.01), 0.9));
    let train = |trainer: &mut Trainer<_>, parameters: &mut Parameters, passes, path: &PathBuf| {
        let mut costs = Vec::new();
        let options = Options::default().checkpoint(path);
        let reader = rows.iter().cloned().passes(passes).batch(5);
        trainer
            .train(&net, parameters, reader, options, |event| {
                if let EventKind::EndPass { .. } = event.kind() {
                    let tested = test(&net, &event.averages()?, rows.iter().cloned().batch(12))?;
                    costs.push((tested.cost(), event.test(&net, rows.iter().cloned().batch(12))?.cost()));
                }
                Ok(())
            })
            .unwrap();
        assert!(costs.iter().all(|(average, present)| average != present), "{costs:?}");
        costs
    };
    let other = file("whole.checkpoint");
    let (mut whole, mut of_whole) = (Parameters::create(&net).unwrap(), trainer());
    let costs = train(&mut of_whole, &mut whole, 4, &other);
    let (mut parts, mut first, mut second) = (Parameters::create(&net).unwrap(), trainer(), trainer());
    train(&mut first, &mut parts, 2, &path);
    second.resume(&net, &mut parts, &path).unwrap();
    assert_eq!(train(&mut second, &mut parts, 4, &path), costs[2..]);
    let [of_whole, of_parts] = [of_whole.averages(&whole).unwrap(), second.averages(&parts).unwrap()]
        .map(|averages| values(&averages));
    assert_eq!(of_whole, of_parts);
    for path in [path, other] {
        fs::remove_file(checkpoint::previous(&path)).unwrap();
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn averages_that_are_not_there_are_an_error() {
    let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    for _ in 0..2 {
        let averages = trainer.averages(&parameters);
        assert!(matches!(averages, Err(Error::Parameter(ParameterError::NoAverages))), "{averages:?}");
        trainer.step(&net, &mut parameters, [1.0]).unwrap();
    }
    let mut trainer = Trainer::new(Averaged::new(Sgd::new(0.1), 1.0));
    let error = trainer.step(&net, &mut parameters, [1.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`decay` of `Averaged::new` is 1, but has to be at least 0 and less than 1"
    );
}

#[test]
fn the_best_parameters_are_kept_and_found_again() {
    let net = network!(|x: Tensor<f32, _, 1>| mean(fc(x, 1, bias = false, param = "line")));
    let (mut parameters, path) = (Parameters::create(&net).unwrap(), file("best.safetensors"));
    let mut set = |value: f32| {
        parameters.set("line.w", &ndarray::array![[value]]).unwrap();
        parameters.copy().unwrap()
    };
    let mut keep = KeepBest::resume(Best::highest(), &path).unwrap().note("classes", &["a", "b"]);
    let seen: Vec<_> = [0.5, 0.25, f32::NAN, 0.75]
        .into_iter()
        .enumerate()
        .map(|(pass, accuracy)| keep.see(pass, accuracy, &set(accuracy)).unwrap())
        .collect();
    assert_eq!(seen, [true, false, false, true]);

    // Another process goes on.
    let mut keep = KeepBest::resume(Best::highest(), &path).unwrap();
    assert_eq!((keep.best().at(), keep.best().value()), (Some(3), Some(0.75)));
    assert!(!keep.see(4, 0.7, &set(0.7)).unwrap());
    let mut restored = set(0.0);
    keep.restore(&mut restored).unwrap();
    assert_eq!(restored.get::<f32>("line.w").unwrap()[[0, 0]], 0.75);
    assert_eq!(files::note::<Vec<String>>(&path, "classes").unwrap(), ["a", "b"]);
    assert!(checkpoint::verify(&path).unwrap().is_intact());

    // A value that cannot be written does not count.
    let mut nowhere = KeepBest::new(Best::lowest(), path.join("deeper"));
    assert!(nowhere.see(0, 1.0, &restored).is_err());
    assert_eq!(nowhere.best().value(), None);

    let fault = |error: Error| match error {
        Error::File(error) => error.fault,
        error => panic!("{error}"),
    };
    restored.save(&path).unwrap();
    assert!(matches!(fault(KeepBest::resume(Best::lowest(), &path).unwrap_err()), FileFault::Note { .. }));
    let bad = restored
        .save_with(&path, &Notes::default().with("map", &std::collections::BTreeMap::from([([1], 2)])));
    assert!(matches!(fault(bad.unwrap_err()), FileFault::Note { .. }));
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(KeepBest::resume(Best::lowest(), &path).is_err());
    assert!(restored.load(&path, Load::Strict).is_err());
    fs::remove_file(path).unwrap();
}

#[test]
fn a_search_finds_rates_that_train_and_changes_nothing() {
    let net = model!();
    let (parameters, trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.0)));
    let before = values(&parameters);
    let rows = rows();
    let reader = || rows.iter().cloned().passes(1_000).batch(4);
    let search =
        trainer.find_rate(&net, &parameters, reader(), &Options::default(), 1e-4..100.0, 120).unwrap();
    assert_eq!(values(&parameters), before);
    assert_eq!(trainer.steps(&net).unwrap(), 0);
    let (steepest, least) = (search.steepest().unwrap(), search.least().unwrap());
    assert!(1e-3 < steepest && steepest < least && least < 30.0, "{steepest} {least} {search:?}");
    assert!(search.points().windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!((search.points()[0].0 - 1e-4).abs() < 1e-12);
    let again =
        trainer.find_rate(&net, &parameters, reader(), &Options::default(), 1e-4..100.0, 120).unwrap();
    assert_eq!(search, again);

    // It ends with the reader, and needs a range and a batch.
    let short = trainer
        .find_rate(&net, &parameters, reader().take_data(7), &Options::default(), 1e-4..1.0, 100)
        .unwrap();
    assert_eq!(short.points().len(), 7);
    let none =
        trainer.find_rate(&net, &parameters, reader().take_data(0), &Options::default(), 1e-4..1.0, 100);
    assert!(matches!(none, Err(Error::NoBatch(_))));
    for range in [0.0..1.0, 1.0..1.0, 1.0..f64::INFINITY, f64::NAN..1.0] {
        let wrong = trainer.find_rate(&net, &parameters, reader(), &Options::default(), range, 100);
        assert!(matches!(wrong, Err(Error::Setting(_))));
    }
}
