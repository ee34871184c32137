//! Batches that are cut into shards: what comes out is what the whole batch gives, and a function of the number of shards
//! alone.

mod refusals;

use std::collections::BTreeMap;

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{
    Adam, Clip, Cpu, Decay, Dynamic, Network, Options, Parameters, Rows, Sgd, Trainable, Trainer, Updater,
};
use paddle_kernels::reference::Reference;

/// Networks whose costs are sums or means over rows.
#[network]
pub mod networks {
    /// Linear regression, with the mean of the prediction.
    pub fn line(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let price = fc(x, 1);
        let average = mean(price);
        (mean(square(price - y)), average)
    }

    /// The same in double precision, with everything that may be done with a mean.
    pub fn double(x: Tensor<f64, _, 3>, y: Tensor<f64, _, 1>, weight: Tensor<f64>) -> Tensor<f64> {
        let price = fc(x, 2, param = "line");
        let by_column = mean(square(price - y), axis = 0);
        let pull = cast(sum(square(embedding([0, 1, 1], [4, 2], param = "table"))), f64);
        let products = transpose(matmul(price, x, transpose_x = true), [1, 0]);
        let first = sum(by_column * weight) / 3.0 - mean(reshape(by_column, [2, 1]) + pull) * 0.25;
        1.0 - (first + 0.5 * sum(products) / (weight + 2.0)) + weight
    }

    /// Draws, classes, and how many are right.
    pub fn classes(
        x: Tensor<f32, _, 7>,
        label: Tensor<i64, _, 1>,
    ) -> (Tensor<f32>, Tensor<f32>, Tensor<f32>) {
        let hidden = dropout(fc(x, 9, act = relu), 0.5);
        let noisy = hidden + 0.1 * gaussian_random(x, [9]);
        let logits = fc(noisy, 4);
        let right = accuracy(softmax(logits), label);
        let losses = softmax_with_cross_entropy(logits, label);
        let per_noise = sum(losses) / sum(square(noisy));
        (mean(losses), right, per_noise)
    }

    /// Statistics of rows and of tokens.
    pub fn normalised(x: Tensor<f32, _, 2>, tokens: Seq<Tensor<f32, 1>>) -> Tensor<f32> {
        let of_tokens = sequence_pool(batch_norm(tokens, momentum = 0.5, param = "tokens"), sum);
        mean(square(batch_norm(x, param = "rows") - 1.0)) + mean(square(of_tokens - 0.5))
    }

    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 4> {
        let word = embedding(words, [20, 4], param = "embedding");
        softmax(fc(sequence_pool(dropout(word, 0.25), average), 4, param = "semantic"))
    }

    /// Three branches with the same parameters.
    pub fn ranking(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let near = cross_entropy(semantic(a), semantic(q), soft_label = true);
        let far = cross_entropy(semantic(b), semantic(q), soft_label = true);
        mean(rank_loss(1.0, far, near))
    }

    /// Means over tokens, with and without rows of their own.
    pub fn tokens(words: Seq<Tensor<f32, 3>>) -> Tensor<f32> {
        let each = fc(words, 2, act = tanh);
        let shortened = sum(each, axis = -1, keep_dim = true);
        mean(square(each)) + 0.5 * mean(square(sequence_pool(shortened, sum)))
    }

    /// A branch for each row, with draws in one of them, and a loop of as many rounds as is fed.
    pub fn control(x: Tensor<f32, _, 5>, switch: Tensor<f32, _, 1>, rounds: Tensor<i64>) -> Tensor<f32> {
        let mut h = if switch > 0.5 {
            dropout(fc(x, 5, act = tanh, param = "yes"), 0.5)
        } else {
            fc(x, 5, param = "no")
        };
        let mut i = 0;
        while i < rounds {
            h = tanh(fc(h, 5, param = "round"));
            i += 1;
        }
        if rounds > 1 { mean(h) } else { sum(h) }
    }

    /// What dropout leaves of a row that tells its elements apart by bits.
    pub fn drawn(x: Tensor<f32, _, 3>) -> (Tensor<f32>, Tensor<f32>) {
        let left = sum(dropout(x, 0.5, mode = downgrade_in_infer));
        (mean(fc(x, 1)), left)
    }
}

use networks::{classes, control, double, drawn, line, normalised, ranking, tokens};

/// A number in [-1, 1) that is a function of `i`.
fn number(i: usize) -> f32 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

fn numbers<const N: usize>(seed: usize) -> [f32; N] {
    std::array::from_fn(|j| number(1000 * seed + j))
}

/// What is seen of a training.
#[derive(Clone, Debug, PartialEq)]
struct Trained {
    /// Cost and metrics of each step.
    outcomes: Vec<Vec<f64>>,
    parameters: BTreeMap<String, Vec<f64>>,
}

impl Trained {
    /// The bits, where NaN is itself.
    fn bits(&self) -> Vec<u64> {
        let numbers = self.outcomes.iter().chain(self.parameters.values());
        numbers.flatten().map(|x| x.to_bits()).collect()
    }
}

fn train<S: Trainable, U: Updater, B: Backend + Clone>(
    net: &Network<S>,
    batches: &[impl Rows<S>],
    mut trainer: Trainer<U, B>,
    backend: B,
    options: &Options,
) -> Trained {
    let mut parameters = Parameters::create_on(backend, net, 7).unwrap();
    let mut outcomes = Vec::new();
    for batch in batches.iter().cycle().take(2 * batches.len() + 1) {
        let outcome = trainer.step_with(net, &mut parameters, batch, options).unwrap();
        let metrics = outcome.metrics().iter().copied();
        outcomes.push(std::iter::once(outcome.cost()).chain(metrics).map(f64::from).collect());
    }
    let values = |name: &str| match parameters.get::<f32>(name) {
        Ok(values) => values.iter().copied().map(f64::from).collect(),
        Err(_) => parameters.get::<f64>(name).unwrap().iter().copied().collect(),
    };
    let parameters = parameters.names().map(|name| (name.to_string(), values(name))).collect();
    Trained { outcomes, parameters }
}

fn near(found: &[f64], expected: &[f64], within: f64) -> bool {
    let one = |(&x, &y): (&f64, &f64)| (x - y).abs() <= within * y.abs().max(1.0) || x.is_nan() && y.is_nan();
    found.len() == expected.len() && found.iter().zip(expected).all(one)
}

/// How a network is trained.
struct Way<F> {
    updater: F,
    clip: Option<Clip>,
    decay: Option<Decay>,
    /// How far what shards give may be from what the batch gives.
    within: f64,
}

impl<U: Updater, F: Fn() -> U> Way<F> {
    fn new(updater: F, within: f64) -> Self {
        Way { updater, clip: None, decay: None, within }
    }

    fn trainer<B: Backend + Clone>(&self) -> Trainer<U, B> {
        let mut trainer = Trainer::new((self.updater)());
        if let Some(clip) = self.clip {
            trainer = trainer.clip(clip);
        }
        if let Some(decay) = self.decay {
            trainer = trainer.decay(decay);
        }
        trainer
    }

    /// Shards give what the whole batch gives, but for rounding, on each backend, and the same bits on any number of
    /// threads.
    fn agrees<S: Trainable>(&self, net: &Network<S>, batches: &[impl Rows<S>], options: &Options) {
        let cpu = |threads| Cpu::with_threads(threads).unwrap();
        let trained = |shards, threads| {
            train(net, batches, self.trainer(), cpu(threads), &options.clone().shards(shards))
        };
        let whole = train(net, batches, self.trainer(), cpu(1), options);
        assert_eq!(trained(1, 2).bits(), whole.bits(), "one shard is the batch");
        assert!(whole.parameters.values().flatten().all(|x| x.is_finite()));
        for shards in [2, 3, 7] {
            let found = trained(shards, 1);
            self.compare(&found, &whole, &format!("{shards} shards"));
            for threads in [2, 3] {
                assert_eq!(
                    trained(shards, threads).bits(),
                    found.bits(),
                    "{shards} shards, {threads} threads"
                );
            }
        }
        // What was never written is garbage there.
        let on_reference =
            |options: &Options| train(net, batches, self.trainer(), Reference::double(), options);
        let found = on_reference(&options.clone().shards(3));
        self.compare(&found, &on_reference(options), "3 shards on the reference");
    }

    fn compare(&self, found: &Trained, expected: &Trained, what: &str) {
        for (step, (found, expected)) in found.outcomes.iter().zip(&expected.outcomes).enumerate() {
            assert!(near(found, expected, self.within), "{what}, step {step}: {found:?}, not {expected:?}");
        }
        for (name, expected) in &expected.parameters {
            let found = &found.parameters[name];
            assert!(near(found, expected, self.within), "{what}, `{name}`: {found:?}, not {expected:?}");
        }
    }
}

fn agree<S: Trainable>(net: &Network<S>, batches: &[impl Rows<S>]) {
    Way::new(|| Sgd::new(0.1), 1e-5).agrees(net, batches, &Options::default());
}

fn lines(seed: usize, count: usize) -> Vec<line::Row> {
    (seed..seed + count).map(|i| line::Row { x: numbers(i), y: number(i + 77) }).collect()
}

#[test]
fn a_line() {
    agree(&line(), &[lines(0, 10), lines(50, 1), lines(100, 14), lines(200, 5)]);
}

#[test]
fn everything_that_is_linear() {
    let rows = |seed: usize, count: usize| {
        let row = |i| double::Row { x: numbers(i).map(f64::from), y: number(i + 77).into(), weight: 0.75 };
        (seed..seed + count).map(row).collect::<Vec<_>>()
    };
    let batches = [rows(0, 10), rows(100, 15), rows(200, 5)];
    Way::new(|| Sgd::new(0.01), 1e-7).agrees(&double(), &batches, &Options::default());
}

fn of_classes(seed: usize, count: usize) -> Vec<classes::Row> {
    (seed..seed + count).map(|i| classes::Row { x: numbers(i), label: (i % 4) as i64 }).collect()
}

#[test]
fn draws_classes_and_quotients() {
    agree(&classes(), &[of_classes(0, 10), of_classes(50, 1), of_classes(100, 15), of_classes(200, 5)]);
}

#[test]
fn gradients_are_clipped_and_decay_once_their_sum_is_known() {
    let batches = [of_classes(0, 10), of_classes(100, 15), of_classes(200, 5)];
    // Smaller than the norm of any shard's gradient.
    let (clip, decay) = (Some(Clip::GlobalNorm(0.05)), Some(Decay::L2(0.1)));
    let way = Way { clip, decay, ..Way::new(|| Sgd::new(0.5), 1e-5) };
    way.agrees(&classes(), &batches, &Options::default());
    let way = Way { clip: Some(Clip::Value(0.01)), ..Way::new(|| Adam::new(0.01), 1e-4) };
    way.agrees(&classes(), &batches, &Options::default());
}

#[test]
fn what_is_frozen_stays() {
    let batches = [of_classes(0, 10), of_classes(100, 15)];
    let options = Options::default().freeze(networks::params::logits);
    Way::new(|| Adam::new(0.01), 1e-4).agrees(&classes(), &batches, &options);
}

#[test]
fn sequences_of_any_length() {
    let words =
        |seed: usize| -> Vec<i64> { (0..seed * seed % 5).map(|j| (seed * 7 + j * 3) as i64 % 20).collect() };
    let rows = |seed: usize, count: usize| {
        let row = |i: usize| ranking::Row { a: words(i), q: words(i + 31), b: words(i + 57) };
        (seed..seed + count).map(row).collect::<Vec<_>>()
    };
    let batches = [rows(0, 10), rows(100, 15), rows(200, 5)];
    agree(&ranking(), &batches);
    // What was not looked up in any shard stays as it is, states and all.
    let lazy = Way::new(|| Adam::new(0.01).lazy(), 1e-4);
    lazy.agrees(&ranking(), &batches, &Options::default());
    let cpu = || Cpu::with_threads(1).unwrap();
    let [lazy, plain] = [Adam::new(0.01).lazy(), Adam::new(0.01)].map(|updater| {
        let options = Options::default().shards(3);
        train(&ranking(), &batches, Trainer::new(updater), cpu(), &options).bits()
    });
    assert_ne!(lazy, plain);
    // The gradient of the whole table is clipped, and updates all of it.
    let clipped = Way { clip: Some(Clip::GlobalNorm(0.05)), ..Way::new(|| Adam::new(0.01).lazy(), 1e-4) };
    clipped.agrees(&ranking(), &batches, &Options::default());
    let rows = |seed: usize, count: usize| {
        let words = |i: usize| (0..i * i % 5).map(|j| numbers(i + 31 * j)).collect::<Vec<[f32; 3]>>();
        (seed..seed + count).map(words).collect::<Vec<_>>()
    };
    agree(&tokens(), &[rows(0, 10), rows(100, 15), rows(200, 5)]);
}

#[test]
fn branches_for_each_row_and_loops() {
    let rows = |seed: usize, count: usize, rounds: i64, high: fn(usize) -> bool| {
        let switch = |i| f32::from(u8::from(high(i)));
        let row = |i: usize| control::Row { x: numbers(seed + i), switch: switch(i), rounds };
        (0..count).map(row).collect::<Vec<_>>()
    };
    let mixed = rows(0, 13, 3, |i| i % 3 == 0);
    agree(
        &control(),
        &[mixed, rows(300, 9, 1, |i| i < 4), rows(600, 5, 0, |_| true), rows(90, 3, 2, |i| i > 1)],
    );
}

#[test]
fn rows_draw_what_they_draw_without_shards() {
    let net = drawn();
    // 21 bits, which single precision adds up exactly.
    let rows: Vec<_> = (0..7).map(|i| [0, 1, 2].map(|j| (1 << (3 * i + j)) as f32)).collect();
    let left = |shards| {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1)).seed(3);
        let options = Options::default().shards(shards);
        let step = |_| {
            let outcome = trainer.step_with(&net, &mut parameters, &rows, &options).unwrap();
            outcome.metric("left").unwrap()
        };
        (0..5).map(step).collect::<Vec<_>>()
    };
    let whole = left(1);
    assert!(whole.windows(2).all(|pair| pair[0] != pair[1]));
    for shards in [2, 3, 7, 20] {
        assert_eq!(left(shards), whole, "{shards} shards");
    }
}

#[test]
fn a_batch_without_rows_has_one_shard() {
    let net = classes();
    let empty: [classes::Row; 0] = [];
    let step = |shards| {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1)).decay(Decay::L2(0.1));
        let options = Options::default().shards(shards);
        let outcome = trainer.step_with(&net, &mut parameters, &empty[..], &options).unwrap();
        let (rows, cost, metrics) = (outcome.rows(), outcome.cost(), outcome.metrics().to_vec());
        (
            rows,
            cost,
            metrics.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            parameters.get::<f32>("logits.w").unwrap(),
        )
    };
    assert_eq!(step(5), step(1));
}

#[test]
fn a_shard_that_fails_leaves_nothing_behind() {
    let net = classes();
    let options = Options::default().shards(3);
    let good = of_classes(0, 9);
    let mut bad = of_classes(50, 9);
    bad[5].label = 4;
    let after = |batches: &[&[classes::Row]]| {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.1));
        let failed: Vec<_> = batches
            .iter()
            .map(|batch| {
                trainer.step_with(&net, &mut parameters, *batch, &options).err().map(|e| e.to_string())
            })
            .collect();
        (failed, parameters.get::<f32>("logits.w").unwrap())
    };
    let (failed, left) = after(&[&good, &bad]);
    assert!(failed[0].is_none() && failed[1].as_ref().is_some_and(|error| error.contains('4')), "{failed:?}");
    assert_eq!(after(&[&good]).1, left);
    // An infinity is found in the last shard, and those that got into sums in a step before are of no account.
    let net = line();
    let (mut infinite, good) = (lines(70, 9), lines(0, 9));
    infinite[7].x[1] = f32::INFINITY;
    let careful = options.clone().check_numbers();
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    let [w, b] = ["price.w", "price.b"].map(|name| parameters.get::<f32>(name).unwrap());
    let mut step = |batch: &[line::Row], options: &Options| {
        parameters.set("price.w", &w).unwrap();
        parameters.set("price.b", &b).unwrap();
        let is_fine = trainer.step_with(&net, &mut parameters, batch, options).is_ok();
        (is_fine, parameters.get::<f32>("price.w").unwrap())
    };
    let expected = step(&good, &careful);
    assert!(expected.0 && expected.1 != w);
    let (is_fine, spoilt) = step(&infinite, &options.clone().allow_nan());
    assert!(is_fine && spoilt.iter().any(|x| !x.is_finite()));
    assert_eq!(step(&good, &careful), expected);
    assert_eq!(step(&infinite, &careful), (false, w.clone()));
    assert_eq!(step(&good, &careful), expected);
}

#[test]
fn sums_are_not_kept_from_step_to_step() {
    let net = line();
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.1));
    trainer.step_with(&net, &mut parameters, lines(0, 5), &Options::default().shards(2)).unwrap();
    let in_shards: Vec<_> =
        trainer.states(&parameters).map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let mut other = Trainer::new(Adam::new(0.1));
    other.step(&net, &mut parameters, lines(0, 5)).unwrap();
    let whole: Vec<_> = other.states(&parameters).map(|(a, b)| (a.to_string(), b.to_string())).collect();
    assert!(!whole.is_empty());
    assert_eq!(in_shards, whole);
    assert!(trainer.state::<f32>(&parameters, "price.w", "SumOfGradients").is_err());
}

/// Moving statistics behind a step, from the means and variances of shards with these weights.
fn moved(momentum: f64, [mean, variance]: [f64; 2], shards: &[&[f64]]) -> [f64; 2] {
    let all: usize = shards.iter().map(|shard| shard.len()).sum();
    let average = |of: &dyn Fn(&[f64]) -> f64| {
        shards.iter().map(|shard| shard.len() as f64 / all as f64 * of(shard)).sum::<f64>()
    };
    let mean_of = |shard: &[f64]| shard.iter().sum::<f64>() / shard.len().max(1) as f64;
    let variance_of = |shard: &[f64]| {
        let mean = mean_of(shard);
        shard.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / shard.len().max(1) as f64
    };
    let now = [average(&mean_of), average(&variance_of)];
    [momentum * mean + (1.0 - momentum) * now[0], momentum * variance + (1.0 - momentum) * now[1]]
}

#[test]
fn statistics_move_once_a_step_by_the_mean_over_all_shards() {
    let net = normalised();
    let mut parameters = Parameters::create(&net).unwrap();
    // Neither clipping nor decay is for statistics, and the learning rate is not, either.
    let mut trainer = Trainer::new(Sgd::new(0.3)).clip(Clip::GlobalNorm(1e-3)).decay(Decay::L2(0.5));
    let options = Options::default().shards(2);
    let mut step = |parameters: &mut Parameters, rows: &[normalised::Row]| {
        trainer.step_with(&net, parameters, rows, &options).unwrap();
        ["rows.mean", "rows.variance", "tokens.mean", "tokens.variance"].map(|name| {
            let values = parameters.get::<f32>(name).unwrap();
            values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>()
        })
    };
    // Three rows are shards of two rows and of one. The tokens of the second are none.
    let row = |x: [f32; 2], tokens: &[f32]| net.row(x, tokens.to_vec());
    let rows = [row([1.0, 4.0], &[1.0, 2.0]), row([3.0, -2.0], &[6.0]), row([0.5, 10.0], &[])];
    let found = step(&mut parameters, &rows);
    let first = moved(0.9, [0.0, 1.0], &[&[1.0, 3.0], &[0.5]]);
    let second = moved(0.9, [0.0, 1.0], &[&[4.0, -2.0], &[10.0]]);
    let tokens = moved(0.5, [0.0, 1.0], &[&[1.0, 2.0, 6.0], &[]]);
    assert!(near(&found[0], &[first[0], second[0]], 1e-6), "{found:?}");
    assert!(near(&found[1], &[first[1], second[1]], 1e-6), "{found:?}");
    assert!(near(&found[2], &[tokens[0]], 1e-6) && near(&found[3], &[tokens[1]], 1e-6), "{found:?}");
    // Without any token, the statistics of tokens stay.
    let after = step(&mut parameters, &[row([1.0, 1.0], &[]), row([2.0, 2.0], &[])]);
    assert_eq!((&after[2], &after[3]), (&found[2], &found[3]));
    assert_ne!(after[0], found[0]);
}

#[test]
fn a_training_in_shards_goes_on_from_a_checkpoint() {
    let (net, options) = (line(), Options::default().shards(3));
    let path = std::env::temp_dir().join(format!("paddle-shards-{}.safetensors", std::process::id()));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.1));
    // States that come after sums of gradients, in the order of creation, are found all the same.
    trainer
        .step_with(&net, &mut parameters, lines(0, 5), &options.clone().freeze(networks::params::price::b))
        .unwrap();
    trainer.step_with(&net, &mut parameters, lines(9, 7), &options).unwrap();
    trainer.save_checkpoint(&net, &parameters, &path).unwrap();
    let mut resumed = (Parameters::create_with_seed(&net, 9).unwrap(), Trainer::new(Adam::new(0.1)));
    resumed.1.resume(&net, &mut resumed.0, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut costs = Vec::new();
    for (parameters, trainer) in [(&mut parameters, &mut trainer), (&mut resumed.0, &mut resumed.1)] {
        let cost = |batch| trainer.step_with(&net, parameters, batch, &options).unwrap().cost().to_bits();
        costs.push([lines(30, 8), lines(60, 2)].map(cost));
    }
    assert_eq!(costs[0], costs[1]);
    assert_eq!(parameters.get::<f32>("price.w").unwrap(), resumed.0.get::<f32>("price.w").unwrap());
}

#[test]
fn a_program_may_say_how_many_shards_there_are() {
    let mut program = line().program().unwrap().clone();
    let whole = Network::from_program(program.clone()).unwrap();
    program.set_shards(std::num::NonZero::new(3).unwrap());
    let told: Network<Dynamic<([f32; 3], f32)>> = Network::from_program(program).unwrap();
    let rows: Vec<_> = lines(0, 10).iter().map(|row| (row.x, row.y)).collect();
    let trained = |net: &Network<Dynamic<_>>, options: &Options| {
        let cpu = Cpu::with_threads(1).unwrap();
        train(net, std::slice::from_ref(&rows), Trainer::new(Sgd::new(0.1)), cpu, options).bits()
    };
    let default = Options::default();
    let (of_program, of_options) = (trained(&told, &default), trained(&whole, &default.clone().shards(3)));
    assert_eq!(of_program, of_options);
    assert_eq!(trained(&told, &default.clone().shards(1)), trained(&whole, &default));
    assert_ne!(of_program, trained(&whole, &default));
}
