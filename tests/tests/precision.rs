//! Trainings and inference whose products are in bf16.

use paddle::attribute::network;
use paddle::{
    Adam, Batch, Cpu, InferOptions, Network, Options, Parameters, Precision, Sgd, Trainable, Trainer, infer,
    infer_with,
};

#[network]
mod nets {
    fn scores(x: Tensor<f32, _, 33>) -> Tensor<f32, _, 5> {
        let hidden = fc(x, 70, act = relu, param = "hidden");
        fc(layer_norm(hidden), 5, param = "scores")
    }

    pub fn cost(x: Tensor<f32, _, 33>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(scores(x), y))
    }

    pub fn classes(x: Tensor<f32, _, 33>) -> Tensor<f32, _, 5> {
        softmax(scores(x))
    }

    /// Convolutions of several kinds, with what is done to their results.
    pub fn of_images(x: Tensor<f32, _, 3, 12, 10>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let first = conv2d(x, 20, 3, padding = 1, act = relu);
        let second = conv2d(first, 33, 3, stride = 2, padding = 1, act = tanh) + 0.5;
        let third = conv2d(second, 8, 1);
        mean(softmax_with_cross_entropy(fc(global_pool2d(third, kind = avg), 5, param = "of_image"), y))
    }

    /// A recurrent layer, whose products have fewer rows from step to step.
    pub fn ragged(x: Seq<Tensor<f32, 12>>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let mixed = fc(x, 24, act = tanh);
        let last = sequence_pool(gru(mixed, 16), last);
        mean(square(fc(last, 1) - y))
    }
}

const STEPS: usize = 50;

fn half() -> Options {
    Options::default().precision(Precision::Bf16)
}

/// A number in [-1, 1) that is a function of `i`.
fn number(i: usize) -> f32 {
    (i * 7919 % 1009) as f32 / 504.5 - 1.0
}

fn numbers<const N: usize>(seed: usize) -> [f32; N] {
    std::array::from_fn(|j| number(N * seed + j))
}

fn rows(count: usize) -> Vec<nets::cost::Row> {
    (0..count).map(|i| nets::cost::Row { x: numbers(i), y: (i * i % 5) as i64 }).collect()
}

/// The costs of some steps, and the bits of the parameters behind them.
fn trained<S: Trainable>(
    net: &Network<S>,
    batch: &Batch<S>,
    threads: usize,
    options: &Options,
) -> (Vec<f32>, Vec<u32>) {
    let mut parameters = Parameters::create_on(Cpu::with_threads(threads).unwrap(), net, 7).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let mut step = || trainer.step_with(net, &mut parameters, batch, options).unwrap().cost();
    let costs = (0..STEPS).map(|_| step()).collect();
    (costs, bits(&parameters))
}

fn bits(parameters: &Parameters) -> Vec<u32> {
    let of =
        |name: &str| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    parameters.names().flat_map(of).collect()
}

fn learns_alike<S: Trainable>(net: &Network<S>, batch: &Batch<S>) {
    let (exact, _) = trained(net, batch, 1, &Options::default());
    let (rounded, expected) = trained(net, batch, 1, &half());
    assert!(exact[STEPS - 1] < 0.95 * exact[0], "it does not learn: {exact:?}");
    assert_ne!(exact, rounded, "nothing was rounded");
    for (exact, rounded) in exact.iter().zip(&rounded) {
        assert!((exact - rounded).abs() < 0.01 * exact, "{rounded}, not {exact}");
    }
    for threads in [2, 3, 7] {
        assert!(
            trained(net, batch, threads, &half()).1 == expected,
            "{threads} threads give other bits than one"
        );
    }
}

#[test]
fn trainings_learn_as_in_f32_and_have_the_same_bits_on_any_number_of_threads() {
    let net = nets::cost();
    learns_alike(&net, &net.batch(rows(129)).unwrap());
    let net = nets::ragged();
    let row = |i: usize| nets::ragged::Row {
        x: (0..i % 9 + 1).map(|j| numbers(i + 7 * j)).collect(),
        y: number(i),
    };
    learns_alike(&net, &net.batch((0..40).map(row)).unwrap());
    let net = nets::of_images();
    let row = |i: usize| nets::of_images::Row {
        x: numbers::<360>(i).map(|x| x / 4.0).as_chunks::<10>().0.as_chunks::<12>().0.try_into().unwrap(),
        y: (i * i % 5) as i64,
    };
    learns_alike(&net, &net.batch((0..33).map(row)).unwrap());
}

#[test]
fn a_training_that_is_resumed_has_the_bits_of_one_that_was_not_interrupted() {
    let net = nets::cost();
    let batch = net.batch(rows(40)).unwrap();
    let folder = std::env::temp_dir().join(format!("paddle-precision-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("half.safetensors");
    let (mut parameters, mut trainer) =
        (Parameters::create_with_seed(&net, 7).unwrap(), Trainer::new(Adam::new(0.01)));
    for _ in 0..5 {
        trainer.step_with(&net, &mut parameters, &batch, &half()).unwrap();
    }
    trainer.save_checkpoint(&net, &parameters, &path).unwrap();
    for _ in 0..5 {
        trainer.step_with(&net, &mut parameters, &batch, &half()).unwrap();
    }
    let (mut again, mut second) =
        (Parameters::create_with_seed(&net, 8).unwrap(), Trainer::new(Adam::new(0.01)));
    second.resume(&net, &mut again, &path).unwrap();
    for _ in 0..5 {
        second.step_with(&net, &mut again, &batch, &half()).unwrap();
    }
    assert!(bits(&again) == bits(&parameters));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn shards_add_up_to_the_batch_and_have_the_same_bits_on_any_number_of_threads() {
    let net = nets::cost();
    let batch = net.batch(rows(129)).unwrap();
    let (whole, _) = trained(&net, &batch, 1, &half());
    let (costs, expected) = trained(&net, &batch, 1, &half().shards(3));
    for (whole, cost) in whole.iter().zip(&costs) {
        assert!((whole - cost).abs() < 0.01 * whole, "{cost}, not {whole}");
    }
    for threads in [2, 3, 7] {
        assert!(trained(&net, &batch, threads, &half().shards(3)).1 == expected, "{threads} threads");
    }
}

/// What is packed of parameters follows their changes.
#[test]
fn inference_rounds_the_parameters_that_there_are() {
    let (net, classes) = (nets::cost(), nets::classes());
    let mut parameters = Parameters::create_with_seed((&net, &classes), 7).unwrap();
    let options = || InferOptions::default().precision(Precision::Bf16);
    let x = || vec![numbers::<33>(3), numbers(4)];
    let in_half = |parameters: &Parameters| {
        let found = infer_with(&classes, parameters, x(), options()).unwrap();
        found.at::<f32>(0).unwrap().iter().copied().collect::<Vec<f32>>()
    };
    let mut before = Vec::new();
    for step in 0..3 {
        let kept = bits(&parameters);
        let exact = infer(&classes, &parameters, x()).unwrap();
        let found = in_half(&parameters);
        assert_eq!(found, in_half(&parameters), "a second call gives something else");
        assert_ne!(found, before, "step {step} changes nothing");
        assert!(exact.at::<f32>(0).unwrap().iter().zip(&found).any(|(exact, found)| exact != found));
        for (exact, found) in exact.at::<f32>(0).unwrap().iter().zip(&found) {
            assert!((exact - found).abs() < 0.01, "{found}, not {exact}");
        }
        assert_eq!(bits(&parameters), kept, "the call has changed a parameter");
        before = found;
        let mut trainer = Trainer::new(Sgd::new(0.5));
        trainer.step_with(&net, &mut parameters, rows(20), &half()).unwrap();
    }
}
