//! Asynchronous training: each batch is applied once, and nothing is computed with values that are too old.

use paddle::attribute::network;
use paddle::cluster::{Cluster, ClusterError};
use paddle::data::digits;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Clip, Ended, Error, Network, Options, Parameters, Sgd, Trainer};

use crate::{networks, ranking_batches, train};

#[network]
mod models {
    /// Its gradient is the mean of the rows, whatever the parameter is: so the parameter says which rows were applied, and how
    /// often.
    pub fn ledger(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        mean(fc(x, 1, bias = false, param = "sum"))
    }

    pub fn digit(x: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(fc(fc(x, 32, act = relu), 10), label))
    }
}

use self::models::{digit, ledger};

fn zeros(net: &Network<ledger::Spec>) -> Parameters {
    let mut parameters = Parameters::create(net).unwrap();
    parameters.set("sum.w", &ndarray::Array2::<f32>::zeros((4, 1))).unwrap();
    parameters
}

fn sums(parameters: &Parameters) -> Vec<f32> {
    parameters.get::<f32>("sum.w").unwrap().iter().map(|sum| -sum).collect()
}

#[test]
fn without_staleness_bits_are_those_of_one_machine() {
    let net = networks::ranking();
    let (batches, options) = (ranking_batches(&net), Options::default().shards(8));
    let alone = train(&net, &batches, Trainer::new(Adam::new(0.01)), &options);
    for servers in [1, 2, 3] {
        let cluster = Cluster::threads(3).servers(servers).asynchronous(0);
        assert!(train(&net, &batches, Trainer::new(Adam::new(0.01)).on(&cluster), &options) == alone);
    }
}

/// Batch `k` adds 2ᵏ, and its cost says what it was computed with: a digit for each batch that was applied by then.
#[test]
fn values_lack_no_more_steps_than_the_staleness_says() {
    const BATCHES: usize = 20;
    let net = ledger();
    for (staleness, trainers, servers) in [(0, 2, 1), (1, 3, 1), (3, 2, 2), (7, 4, 1)] {
        let cluster = Cluster::threads(trainers).servers(servers).asynchronous(staleness as u64);
        let mut parameters = zeros(&net);
        let rows: Vec<[f32; 4]> = (0..BATCHES).map(|k| [(1 << k) as f32, 0.0, 0.0, 0.0]).collect();
        let (mut begun, mut ahead, mut ended) = (0, 0, Vec::new());
        let mut trainer = Trainer::new(Sgd::new(1.0)).on(&cluster);
        let how = trainer.train(&net, &mut parameters, rows.iter().batch(1), Options::default(), |event| {
            match event.kind() {
                EventKind::BeginIteration { batch, .. } => begun = batch,
                EventKind::EndIteration { batch, cost, .. } => {
                    ahead = ahead.max(begun - batch);
                    ended.push((batch, cost));
                }
                EventKind::EndPass { .. } => assert_eq!(ended.len(), BATCHES),
                _ => {}
            }
            Ok(())
        });
        assert_eq!((how.unwrap(), trainer.steps(&net).unwrap()), (Ended::Finished, BATCHES as u64));
        // Events run ahead as far as they may, and come in the order of the batches.
        assert_eq!(ahead, staleness);
        for (k, &(batch, cost)) in ended.iter().enumerate() {
            let applied = (-cost / (1 << k) as f32) as u32;
            let needed = (1u32 << k.saturating_sub(staleness)) - 1;
            assert_eq!(batch, k);
            assert_eq!(applied & needed, needed, "batch {k} lacks steps: {applied:b}, staleness {staleness}");
            assert!(applied >> k & 1 == 0, "batch {k} was computed with itself");
        }
        assert_eq!(sums(&parameters)[0], ((1 << BATCHES) - 1) as f32);
    }
}

#[test]
fn a_network_learns_digits() {
    let net = digit();
    let rows: Vec<_> = digits::images().iter().map(|image| net.row(image.pixels, image.label)).collect();
    let cluster = Cluster::threads(3).servers(2).asynchronous(4);
    let mut parameters = Parameters::create_with_seed(&net, 1).unwrap();
    let mut costs = Vec::new();
    let reader = rows.iter().passes(6).shuffle(1).batch(32);
    let mut trainer = Trainer::new(Adam::new(0.003)).on(&cluster);
    let trained = trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { cost, .. } = event.kind() {
            costs.push(cost);
        }
        Ok(())
    });
    trained.unwrap();
    assert_eq!(trainer.steps(&net).unwrap(), 6 * rows.len().div_ceil(32) as u64);
    assert!(costs[0] > 0.8 && costs[5] < 0.25, "{costs:?}");
}

/// A stop in the middle of a pass, and checkpoints there: each batch counts once.
#[test]
fn a_training_that_goes_on_from_a_checkpoint_has_each_batch_once() {
    let net = ledger();
    let rows: Vec<[f32; 4]> =
        (0..30).map(|k| std::array::from_fn(|j| f32::from(u8::from(k % 4 == j)))).collect();
    let path = std::env::temp_dir().join(format!("paddle-asynchronous-{}.safetensors", std::process::id()));
    let options = Options::default().checkpoint(&path).checkpoint_every(7);
    let part = |resume: bool, stop: usize| {
        let mut parameters = zeros(&net);
        let cluster = Cluster::threads(3).servers(2).asynchronous(3);
        let mut trainer = Trainer::new(Sgd::new(1.0)).on(&cluster);
        if resume {
            trainer.resume(&net, &mut parameters, &path).unwrap();
        }
        let trained =
            trainer.train(&net, &mut parameters, rows.iter().passes(2).batch(1), options.clone(), |event| {
                // What is read here has all steps that have begun.
                if let EventKind::EndIteration { pass, batch, .. } = event.kind()
                    && 30 * pass + batch == stop
                {
                    let applied: f32 = sums(event.parameters()).iter().sum();
                    assert!(applied > stop as f32 && applied <= (stop + 4) as f32, "{applied}");
                    event.stop();
                }
                Ok(())
            });
        trained.unwrap();
        let all: f32 = sums(&parameters).iter().sum();
        assert_eq!(all, trainer.steps(&net).unwrap() as f32);
        sums(&parameters)
    };
    part(false, 17);
    part(true, 40);
    assert_eq!(part(true, 99), [16.0, 16.0, 14.0, 14.0]);
    for path in [&path, &paddle::checkpoint::previous(&path)] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_needs_all_servers_at_one_version_is_refused() {
    let net = networks::ranking();
    let cluster = Cluster::threads(2).servers(2).asynchronous(1);
    let mut trainer = Trainer::new(Sgd::new(0.1)).clip(Clip::GlobalNorm(1.0)).on(&cluster);
    let mut parameters = Parameters::create(&net).unwrap();
    let error = trainer.step(&net, &mut parameters, &ranking_batches(&net)[0]).unwrap_err();
    assert!(matches!(error, Error::Cluster(ClusterError::Asynchronous)), "{error}");
}

/// The step that fails ends the training with its place; the others count, and training goes on.
#[test]
fn a_cost_that_is_not_finite_ends_the_training_with_its_place() {
    let net = ledger();
    let mut rows = [[1.0f32, 0.0, 0.0, 0.0]; 12];
    rows[5] = [0.0, f32::INFINITY, 0.0, 0.0];
    let cluster = Cluster::threads(2).asynchronous(2);
    let mut parameters = zeros(&net);
    let mut trainer = Trainer::new(Sgd::new(1.0)).on(&cluster);
    let trained = trainer.train(&net, &mut parameters, rows.iter().batch(1), Options::default(), |_| Ok(()));
    let error = trained.unwrap_err().to_string();
    assert!(error.contains("batch 5"), "{error}");
    let steps = trainer.steps(&net).unwrap();
    assert!((6..=8).contains(&steps), "{steps}");
    let applied = sums(&parameters);
    assert_eq!(applied[0], steps as f32 - 1.0);
    let outcome = trainer.step(&net, &mut parameters, [[1.0, 0.0, 0.0, 0.0]]);
    assert!(outcome.is_err(), "infinity is in the parameter");
}
