//! Training on a cluster: whatever computes a step, its bits are those of one machine with as many shards.

mod asynchronous;
mod cards;
mod clipping;
mod equals;
mod programs;
mod staged;
mod tables;

use std::collections::BTreeMap;

use paddle::attribute::network;
use paddle::cluster::{Cluster, ClusterError};
use paddle::core::plan::Backend;
use paddle::event::EventKind;
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Error, Momentum, Network, Options, Parameters, Rows, Sgd, Trainable, Trainer, Updater};

/// Networks whose costs are sums or means over rows.
#[network]
pub mod networks {
    /// A table that is only looked up, and products with parameters that are large enough to be cut.
    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 96> {
        let word = embedding(words, [700, 32], param = "embedding");
        l2_normalize(fc(sequence_pool(dropout(word, 0.25), average), 96, param = "semantic"))
    }

    pub fn ranking(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let (a, q, b) = (semantic(a), semantic(q), semantic(b));
        let hidden = fc(q, 200, act = tanh, param = "hidden");
        let (near, far) = (sum(a * q, axis = 1), sum(b * q, axis = 1));
        mean(rank_loss(1.0, 10.0 * near, 10.0 * far)) + 0.01 * mean(square(hidden))
    }

    /// A branch for each row, draws, a loop, and a metric that is a quotient.
    pub fn control(x: Tensor<f32, _, 7>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let mut h = if label > 1 {
            dropout(fc(x, 9, act = tanh, param = "yes"), 0.5)
        } else {
            fc(x, 9, param = "no")
        };
        for _i in 0..3 {
            h = tanh(fc(h, 9, param = "round"));
        }
        let logits = fc(h, 4, param = "out");
        let right = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), right)
    }

    /// Three layers, each of which is sent by itself.
    pub fn deep(x: Tensor<f32, _, 4>) -> (Tensor<f32>, Tensor<f32>) {
        let h = fc(fc(fc(x, 300, act = tanh), 300, act = tanh), 300, act = tanh);
        (mean(square(h - 0.5)), mean(h))
    }

    /// Parameters of few long rows, and of one long axis.
    pub fn wide(x: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(square(fc(x, 50_000, param = "wide") - 1.0))
    }

    /// Statistics that move by all rows of a batch, and by all tokens.
    pub fn normalised(x: Tensor<f32, _, 2, 4, 4>, words: Seq<Tensor<f32, 3>>) -> Tensor<f32> {
        let image = batch_norm(conv2d(x, 3, 3, param = "filter"), act = relu, param = "of_images");
        let tokens = sequence_pool(batch_norm(fc(words, 5), momentum = 0.5, param = "of_tokens"), sum);
        mean(square(fc(flatten(image), 1) - 1.0)) + 0.1 * mean(square(tokens))
    }
}

/// A network with an operator of its own.
#[network]
pub mod own {
    #[operator(row_wise, gradient = of_same)]
    pub fn same(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    fn of_same(grad: _) -> _ {
        grad
    }

    pub fn with_own(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(same(fc(x, 2))))
    }
}

impl Operator for own::same {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f32>()?.assign(&inputs.get::<f32>(0)?);
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?);
        Ok(())
    }

    fn samples(&self, _: Sample) -> Vec<Sample> {
        Vec::new()
    }
}

use equals::in_ranks;
use networks::{control, normalised, ranking};

/// A number that is a function of `i`.
fn number(i: usize) -> u64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

fn words(seed: usize) -> Vec<i64> {
    (0..number(seed) % 6).map(|k| (number(seed * 31 + k as usize) % 700) as i64).collect()
}

fn ranking_batches(net: &Network<ranking::Spec>) -> Vec<Vec<ranking::Row>> {
    let sizes = [11, 3, 8];
    let row = |k: usize| net.row(words(3 * k), words(3 * k + 1), words(3 * k + 2));
    sizes.iter().enumerate().map(|(b, &rows)| (0..rows).map(|k| row(100 * b + k)).collect()).collect()
}

fn control_batches(net: &Network<control::Spec>) -> Vec<Vec<control::Row>> {
    let row = |k: usize| {
        let x = std::array::from_fn(|j| number(7 * k + j) as f32 / (1u64 << 30) as f32 - 1.0);
        net.row(x, (number(k) % 4) as i64)
    };
    [9, 8, 1, 16].iter().enumerate().map(|(b, &rows)| (0..rows).map(|k| row(100 * b + k)).collect()).collect()
}

fn normalised_batches(net: &Network<normalised::Spec>) -> Vec<Vec<normalised::Row>> {
    let float = |k: usize| number(k) as f32 / (1u64 << 30) as f32 - 1.0;
    let row = |k: usize| {
        let words = (0..number(k) % 4).map(|t| std::array::from_fn(|j| float(50 * k + 3 * t as usize + j)));
        let at = |c: usize, y: usize, x: usize| float(97 * k + 16 * c + 4 * y + x);
        let image = std::array::from_fn(|c| std::array::from_fn(|y| std::array::from_fn(|x| at(c, y, x))));
        net.row(image, words.collect::<Vec<[f32; 3]>>())
    };
    [9, 8, 1, 12].iter().enumerate().map(|(b, &rows)| (0..rows).map(|k| row(100 * b + k)).collect()).collect()
}

/// All bits of a training: costs, metrics, parameters and states.
fn train<S: Trainable, U: Updater>(
    net: &Network<S>,
    batches: &[impl Rows<S>],
    trainer: Trainer<U>,
    options: &Options,
) -> Bits {
    train_from(Parameters::create_with_seed(net, 7).unwrap(), net, batches, trainer, options)
}

/// The bits of costs and metrics, and those of each parameter.
type Bits = (Vec<u64>, BTreeMap<String, Vec<u32>>);

/// The same, with parameters that are anywhere.
fn train_from<S: Trainable, U: Updater, B: Backend + Clone>(
    mut parameters: Parameters<B>,
    net: &Network<S>,
    batches: &[impl Rows<S>],
    trainer: Trainer<U, B>,
    options: &Options,
) -> Bits {
    let mut trainer = trainer.seed(5);
    let mut outcomes = Vec::new();
    for batch in batches.iter().cycle().take(2 * batches.len()) {
        let outcome = trainer.step_with(net, &mut parameters, batch, options).unwrap();
        let metrics = outcome.metrics().iter().map(|metric| u64::from(metric.to_bits()));
        outcomes.extend(std::iter::once(u64::from(outcome.cost().to_bits())).chain(metrics));
    }
    let names: Vec<_> = parameters.names().map(str::to_string).collect();
    let bits =
        |name: &String| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    (outcomes, names.iter().map(|name| (name.clone(), bits(name))).collect())
}

/// Trains alone, on clusters of all shapes, and in ranks that are equals.
fn agrees<S: Trainable + Sync, U: Updater>(
    net: &Network<S>,
    batches: &[impl Rows<S> + Sync],
    updater: impl Fn() -> U + Sync,
    options: &Options,
) {
    let alone = train(net, batches, Trainer::new(updater()), options);
    for trainers in [1, 2, 3, 4, 8] {
        for servers in [1, 2, 3] {
            let cluster = Cluster::threads(trainers).servers(servers);
            let together = train(net, batches, Trainer::new(updater()).on(&cluster), options);
            assert_eq!(together.0, alone.0, "costs and metrics, {trainers} trainers, {servers} servers");
            assert!(together.1 == alone.1, "parameters, {trainers} trainers, {servers} servers");
        }
    }
    for ranks in [1, 2, 3, 4, 8] {
        let on = |_, cluster| train(net, batches, Trainer::new(updater()).on(&cluster), options);
        for (rank, together) in in_ranks(ranks, on).iter().enumerate() {
            assert_eq!(together.0, alone.0, "costs and metrics, rank {rank} of {ranks}");
            assert!(together.1 == alone.1, "parameters, rank {rank} of {ranks}");
        }
    }
}

#[test]
fn a_table_and_pieces_of_products() {
    let net = ranking();
    agrees(&net, &ranking_batches(&net), || Adam::new(0.01), &Options::default().shards(8));
    agrees(&net, &ranking_batches(&net), || Sgd::new(0.1), &Options::default().shards(5));
}

/// Rows that no shard has looked up stay as they are, on whichever machine they are.
#[test]
fn a_table_that_is_updated_lazily() {
    let net = ranking();
    let (batches, options) = (ranking_batches(&net), Options::default().shards(6));
    let alone = |updater| train(&net, &batches, Trainer::new(updater), &options);
    assert_ne!(alone(Adam::new(0.01).lazy()), alone(Adam::new(0.01)));
    agrees(&net, &batches, || Adam::new(0.01).lazy(), &options);
}

#[test]
fn branches_loops_and_metrics() {
    let net = control();
    agrees(&net, &control_batches(&net), || Momentum::new(0.1), &Options::default().shards(8));
}

#[test]
fn layers_that_are_sent_while_others_are_computed() {
    let row = |k: usize| std::array::from_fn::<_, 4, _>(|j| (number(4 * k + j) % 9) as f32 / 9.0);
    let batches = [(0..9).map(row).collect::<Vec<_>>(), (20..22).map(row).collect()];
    agrees(&networks::deep(), &batches, || Momentum::new(0.1), &Options::default().shards(5));
}

#[test]
fn statistics_move_by_sums_over_all_shards() {
    let net = normalised();
    agrees(&net, &normalised_batches(&net), || Momentum::new(0.05), &Options::default().shards(8));
}

#[test]
fn a_training_goes_on_from_a_checkpoint_on_any_other_cluster() {
    let net = normalised();
    let rows: Vec<_> = normalised_batches(&net).into_iter().flatten().collect();
    let path = std::env::temp_dir().join(format!("paddle-cluster-{}.safetensors", std::process::id()));
    let options = Options::default().shards(4).checkpoint(&path);
    // Steps until `steps` are done, and what the parameters are then.
    let train = |cluster: Option<Cluster>, resume: bool, steps: u64| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).seed(5).on(cluster.as_ref());
        if resume {
            trainer.resume(&net, &mut parameters, &path).unwrap();
        }
        let reader = rows.iter().passes(3).shuffle(3).batch(7);
        let mut done = trainer.steps(&net).unwrap();
        let ended = trainer.train(&net, &mut parameters, reader, options.clone(), |event| {
            done += u64::from(matches!(event.kind(), EventKind::EndIteration { .. }));
            if done == steps {
                event.stop();
            }
            Ok(())
        });
        ended.unwrap();
        assert_eq!(trainer.steps(&net).unwrap(), steps);
        let names: Vec<_> = parameters.names().map(str::to_string).collect();
        names.iter().map(|name| parameters.get::<f32>(name).unwrap()).collect::<Vec<_>>()
    };
    let alone = train(None, false, 15);
    train(Some(Cluster::threads(2)), false, 4);
    train(Some(Cluster::threads(3).servers(2)), true, 7);
    train(None, true, 11);
    let together = train(Some(Cluster::threads(1).servers(3)), true, 15);
    assert!(alone == together);
    for path in [&path, &paddle::checkpoint::previous(&path)] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_number_that_is_not_finite_is_found_where_it_is_computed() {
    let net = control();
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.set("out.b", &ndarray::Array1::from_elem(4, f32::INFINITY)).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1)).on(&Cluster::threads(2));
    let options = Options::default().shards(2).check_numbers();
    let error = trainer
        .step_with(&net, &mut parameters, &control_batches(&net)[0], &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("tests/cluster/main.rs:") && error.contains("inf"), "{error}");
}

#[test]
fn operators_of_the_users_own() {
    let net = own::with_own();
    let batches = [vec![[1.0f32, 2.0], [-1.0, 0.5], [0.25, 3.0]], vec![[2.0, -1.0]]];
    agrees(&net, &batches, || Adam::new(0.1), &Options::default().shards(2));
}

#[test]
fn what_is_newer_elsewhere_is_neither_lost_nor_saved() {
    let net = control();
    let batches = control_batches(&net);
    let options = Options::default().shards(4);
    let cluster = Cluster::threads(2);
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.1)).on(&cluster);
    trainer.step_with(&net, &mut parameters, &batches[0], &options).unwrap();
    let behind = |error: Error| assert!(matches!(error, Error::Cluster(ClusterError::Behind)), "{error}");
    behind(trainer.state::<f32>(&parameters, "out.b", "Moment1").unwrap_err());
    behind(trainer.save_checkpoint(&net, &parameters, std::env::temp_dir().join("never")).unwrap_err());
    // A value that is set before the others are fetched stays.
    let ones = ndarray::Array1::<f32>::ones(4);
    parameters.set("out.b", &ones).unwrap();
    assert_eq!(parameters.get::<f32>("out.b").unwrap(), ones.into_dyn());
    let stepped = trainer.step_with(&net, &mut parameters, &batches[0], &options);
    assert!(matches!(stepped, Err(Error::Cluster(ClusterError::Changed { .. }))));
}
