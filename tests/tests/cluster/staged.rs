//! Ranks as stages of a network: the bits of one machine, wherever it is cut.

use paddle::attribute::network;
use paddle::cluster::{Cluster, ClusterError};
use paddle::core::passes::stages::homes;
use paddle::reader::{DataSet, Reader};
use paddle::{
    Adam, Clip, Error, Momentum, Network, Options, Parameters, Rows, Trainable, Trainer, Updater, checkpoint,
};

use super::equals::in_ranks;
use super::networks::control;
use super::{control_batches, number};

#[network]
pub mod networks {
    /// Three devices: a table and tokens on the first, a loop and draws on the second, a branch and the cost on the third. The first
    /// value goes to the last device, too, and one product has a parameter of another device.
    pub fn tagger(
        words: Seq<i64>,
        x: Tensor<f32, _, 8>,
        label: Tensor<i64, _, 1>,
    ) -> (Tensor<f32>, Tensor<f32>) {
        let word = embedding(words, [90, 8], param = "table");
        let first = fc(x, 8, act = tanh, param = "shared");
        let tokens = to_device(word, 1);
        let mut h = to_device(first, 1);
        for token in tokens {
            h = tanh(fc(h, 8, param = "state") + token);
        }
        let h = dropout(h, 0.25) + sequence_pool(tokens, average);
        let last = to_device(h, 2);
        let mut branch = if label > 1 { fc(last, 8, param = "yes") } else { tanh(last) };
        branch = branch + first;
        let again = fc(branch, 8, act = tanh, param = "shared");
        let logits = fc(again, 4, param = "out");
        let right = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)) + 0.01 * mean(square(h)), right)
    }

    /// Values go to the second device and back again.
    pub fn returning(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let there = to_device(fc(x, 8, act = tanh), 1);
        let back = to_device(fc(there, 8, act = tanh), 0);
        mean(square(fc(back, 1) - y))
    }

    /// Eight products of equal work.
    pub fn deep(x: Tensor<f32, _, 32>, y: Tensor<f32, _, 32>) -> Tensor<f32> {
        let h = x;
        let h = tanh(fc(h, 32, param = "layer_0"));
        let h = tanh(fc(h, 32, param = "layer_1"));
        let h = tanh(fc(h, 32, param = "layer_2"));
        let h = tanh(fc(h, 32, param = "layer_3"));
        let h = tanh(fc(h, 32, param = "layer_4"));
        let h = tanh(fc(h, 32, param = "layer_5"));
        let h = tanh(fc(h, 32, param = "layer_6"));
        let h = tanh(fc(h, 32, param = "layer_7"));
        mean(square(h - square(y)))
    }

    /// A parameter of `tagger`, on another device.
    pub fn tied(x: Tensor<f32, _, 8>) -> Tensor<f32> {
        mean(square(fc(to_device(x, 1), 4, param = "out")))
    }

    /// One operator alone.
    pub fn sum_alone(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        mean(x)
    }

    /// Images, and statistics that move on both devices.
    pub fn images(x: Tensor<f32, _, 2, 4, 4>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let image = batch_norm(conv2d(x, 3, 3), act = relu);
        let image = to_device(image, 1);
        let image = batch_norm(conv2d(image, 3, 2), act = relu);
        mean(square(fc(flatten(image), 1, param = "of_images") - y))
    }
}

use networks::{deep, images, returning, sum_alone, tagger, tied};

fn float(k: usize) -> f32 {
    number(k) as f32 / (1u64 << 30) as f32 - 1.0
}

fn tagged(net: &Network<tagger::Spec>) -> Vec<Vec<tagger::Row>> {
    let row = |k: usize| {
        let words: Vec<i64> =
            (0..number(k) % 5).map(|at| (number(9 * k + at as usize) % 90) as i64).collect();
        net.row(words, std::array::from_fn(|j| float(8 * k + j)), (number(k) % 4) as i64)
    };
    [9, 8, 1, 12].iter().enumerate().map(|(b, &rows)| (0..rows).map(|k| row(100 * b + k)).collect()).collect()
}

fn returned(net: &Network<returning::Spec>) -> Vec<Vec<returning::Row>> {
    let row = |k: usize| net.row(std::array::from_fn(|j| float(6 * k + j)), float(k));
    [7, 5].iter().map(|&rows| (0..rows).map(row).collect()).collect()
}

fn imaged(net: &Network<images::Spec>) -> Vec<Vec<images::Row>> {
    let at = |k: usize, c: usize, y: usize, x: usize| float(97 * k + 16 * c + 4 * y + x);
    let image =
        |k: usize| std::array::from_fn(|c| std::array::from_fn(|y| std::array::from_fn(|x| at(k, c, y, x))));
    [7, 5].iter().map(|&rows| (0..rows).map(|k| net.row(image(k), float(k))).collect()).collect()
}

type Outcome = (Vec<u64>, Vec<(String, Vec<u32>)>);

/// All bits of a training with two passes over some batches.
fn train<S: Trainable, U: Updater>(
    net: &Network<S>,
    batches: &[impl Rows<S>],
    trainer: Trainer<U>,
    options: &Options,
) -> Outcome {
    let mut parameters = Parameters::create_with_seed(net, 7).unwrap();
    let mut trainer = trainer.seed(5);
    let mut outcomes = Vec::new();
    let reader = batches.iter().passes(2);
    let trained = trainer.train(net, &mut parameters, reader, options.clone(), |event| {
        if let paddle::event::EventKind::EndIteration { cost, metrics, .. } = event.kind() {
            outcomes.push(u64::from(cost.to_bits()));
            outcomes.extend(metrics.iter().map(|metric| u64::from(metric.to_bits())));
        }
        Ok(())
    });
    trained.unwrap();
    let bits = |name: &str| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect();
    (outcomes, parameters.names().map(|name| (name.to_string(), bits(name))).collect())
}

fn agrees<S: Trainable + Sync, U: Updater>(
    net: &Network<S>,
    batches: &[impl Rows<S> + Sync],
    trainer: impl Fn() -> Trainer<U> + Sync,
    (ranks, shards): (u32, usize),
) {
    let options = Options::default().shards(shards);
    let alone = train(net, batches, trainer(), &options);
    let all = in_ranks(ranks, |_, cluster| train(net, batches, trainer().on(&cluster.stages()), &options));
    for (rank, together) in all.into_iter().enumerate() {
        assert_eq!(together.0, alone.0, "costs and metrics, rank {rank} of {ranks}, {shards} shards");
        assert!(together.1 == alone.1, "parameters, rank {rank} of {ranks}, {shards} shards");
    }
}

#[test]
fn three_stages_with_tables_loops_draws_and_branches() {
    let net = tagger();
    let batches = tagged(&net);
    for shards in [2, 5, 8] {
        agrees(&net, &batches, || Trainer::new(Adam::new(0.01)), (3, shards));
    }
    // A fourth rank has nothing to do.
    agrees(&net, &batches, || Trainer::new(Momentum::new(0.1)), (4, 4));
    agrees(&net, &batches, || Trainer::new(Adam::new(0.01)).clip(Clip::GlobalNorm(0.05)), (3, 4));
}

#[test]
fn values_that_come_back() {
    let net = returning();
    agrees(&net, &returned(&net), || Trainer::new(Adam::new(0.01)), (2, 4));
}

#[test]
fn images_and_their_statistics() {
    let net = images();
    agrees(&net, &imaged(&net), || Trainer::new(Momentum::new(0.05)), (2, 3));
}

#[test]
fn each_stage_has_its_own_parameters_and_a_checkpoint_has_all() {
    let net = tagger();
    let rows: Vec<_> = tagged(&net).into_iter().flatten().collect();
    let path = std::env::temp_dir().join(format!("paddle-staged-{}.safetensors", std::process::id()));
    let options = Options::default().shards(4).checkpoint(&path).checkpoint_every(2);
    let train = |cluster: Option<Cluster>, resume: bool, until: u64| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).seed(5).on(cluster.as_ref());
        if resume {
            trainer.resume(&net, &mut parameters, &path).unwrap();
        }
        let mut steps = trainer.steps(&net).unwrap();
        let reader = rows.iter().passes(3).shuffle(3).batch(7);
        let ended = trainer.train(&net, &mut parameters, reader, options.clone(), |event| {
            steps += u64::from(matches!(event.kind(), paddle::event::EventKind::EndIteration { .. }));
            if steps == until {
                event.stop();
            }
            Ok(())
        });
        ended.unwrap();
        let names: Vec<_> = parameters.names().map(str::to_string).collect();
        names.iter().map(|name| parameters.get::<f32>(name).unwrap()).collect::<Vec<_>>()
    };
    let alone = train(None, false, 13);
    in_ranks(3, |_, cluster| train(Some(cluster.stages()), false, 5));
    train(None, true, 8);
    let all = in_ranks(3, |_, cluster| train(Some(cluster.stages()), true, 13));
    assert!(all.into_iter().all(|together| together == alone));
    for path in [&path, &checkpoint::previous(&path)] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_elsewhere_is_not_read_and_what_fails_fails_everywhere() {
    let net = tagger();
    let batches = tagged(&net);
    let mut wrong = batches[0].clone();
    *wrong.last_mut().unwrap() = net.row(vec![3], [0.0; 8], 9);
    let outcomes = in_ranks(3, |_, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster.stages());
        let options = Options::default().shards(4);
        let error = trainer.step_with(&net, &mut parameters, &wrong, &options).unwrap_err().to_string();
        let cost = trainer.step_with(&net, &mut parameters, &batches[0], &options).unwrap().cost();
        let unread = parameters.get::<f32>("out.w").unwrap_err().to_string();
        (error, cost, unread)
    });
    let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.01));
    let alone = trainer.step_with(&net, &mut parameters, &batches[0], &Options::default().shards(4)).unwrap();
    for (rank, (error, cost, unread)) in outcomes.into_iter().enumerate() {
        assert!(
            error.contains("class") && error.starts_with("rank 2: ") == (rank != 2),
            "rank {rank}: {error}"
        );
        assert_eq!(cost, alone.cost());
        assert!(unread.contains(&ClusterError::InStages.to_string()), "{unread}");
    }
}

#[test]
fn more_devices_than_ranks_are_refused() {
    let net = tagger();
    for outcome in in_ranks(2, |_, cluster| -> Result<f32, Error> {
        let mut parameters = Parameters::create(&net)?;
        let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster.stages());
        Ok(trainer.step_with(&net, &mut parameters, &tagged(&net)[0], &Options::default().shards(2))?.cost())
    }) {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("3 devices") && error.contains("2 ranks"), "{error}");
    }
}

#[test]
fn a_network_that_does_not_say_where_is_cut_into_parts_of_equal_work() {
    let net = control();
    let batches = control_batches(&net);
    for ranks in [2, 3, 4] {
        agrees(&net, &batches, || Trainer::new(Momentum::new(0.1)), (ranks, 5));
    }
    // Layers of equal work are shared out evenly, and a value that follows from inputs alone goes nowhere.
    let deep = deep();
    for (devices, most) in [(2, 4), (4, 2), (8, 1)] {
        let homes = homes(deep.program().unwrap(), devices).unwrap();
        for device in 0..devices {
            let layers = homes.iter().filter(|(name, home)| name.ends_with(".w") && **home == device).count();
            assert_eq!(layers, most, "device {device} of {devices}: {homes:?}");
        }
    }
}

#[test]
fn a_network_that_cannot_be_cut_says_so() {
    let error = homes(sum_alone().program().unwrap(), 2).unwrap_err().to_string();
    assert!(error.contains("to_device"), "{error}");
}

#[test]
fn networks_that_share_parameters_are_cut_alike() {
    let (first, second) = (tagger(), tied());
    for outcome in in_ranks(3, |_, cluster| -> Result<f32, Error> {
        let mut parameters = Parameters::create((&first, &second))?;
        let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster.stages());
        let options = Options::default().shards(2);
        trainer.step_with(&first, &mut parameters, &tagged(&first)[0], &options)?;
        let rows: Vec<_> = (0..4).map(|k| second.row(std::array::from_fn(|j| float(8 * k + j)))).collect();
        Ok(trainer.step_with(&second, &mut parameters, &rows, &options)?.cost())
    }) {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("is on device 2") && error.contains("on device 1 first"), "{error}");
    }
}
