//! Networks on cards: they train as on the CPU but for rounding, and fail with the same errors.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

#[path = "../../paddle-kernels/tests/support/card.rs"]
mod card;

use paddle::core::plan::Backend;
use paddle::reader::{DataSet, Reader};
use paddle::{
    Adam, CardError, Device, DeviceError, Error, Load, Network, Options, Parameters, Rows, Sgd, Trainable,
    Trainer, device_of, infer, network,
};

/// The costs of steps on the card and on the CPU, and the parameters on both afterwards.
fn trains_alike<S: Trainable>(
    card: &Device,
    net: &Network<S>,
    rows: impl Rows<S> + Copy,
    steps: usize,
    tolerance: f32,
) {
    let mut there = Parameters::create_on(card.clone(), net, 3).unwrap();
    let mut here = Parameters::create_with_seed(net, 3).unwrap();
    let (mut on_card, mut on_cpu) =
        (Trainer::new(Adam::new(0.01)).seed(5), Trainer::new(Adam::new(0.01)).seed(5));
    for step in 0..steps {
        let found = on_card.step(net, &mut there, rows).unwrap().cost();
        let expected = on_cpu.step(net, &mut here, rows).unwrap().cost();
        let distance = (found - expected).abs() / expected.abs().max(1e-3);
        assert!(distance < tolerance, "step {step}: {found} on the card, {expected} on the CPU");
    }
    for name in here.names() {
        let (found, expected) = (there.get::<f32>(name).unwrap(), here.get::<f32>(name).unwrap());
        let distance = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(distance < 20.0 * tolerance, "`{name}` differs by {distance}");
    }
}

fn wave(i: usize) -> f32 {
    ((i * 7919 % 1000) as f32 / 500.0 - 1.0) * 1.5
}

fn layers_with_every_kind_of_activation(card: &Device) {
    let net = network!(|x: Tensor<f32, _, 6>, label: Tensor<i64, _, 1>| {
        let hidden = gelu(layer_norm(fc(x, 16)));
        let more = tanh(fc(hidden, 12)) * sigmoid(fc(hidden, 12));
        mean(softmax_with_cross_entropy(fc(more, 4), label))
    });
    let rows: Vec<_> =
        (0..37).map(|i| net.row([0, 1, 2, 3, 4, 5].map(|j| wave(6 * i + j)), (i % 4) as i64)).collect();
    trains_alike(card, &net, &rows, 12, 2e-4);
}

fn rows_branch_and_loop(card: &Device) {
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
        let mut state = fc(x, 4, act = tanh);
        let mut left = abs(y) * 2.0;
        while left > 0.5 {
            state = tanh(fc(state, 4));
            left = left - 0.7;
        }
        let answer = if y > 0.0 { fc(state, 1) } else { scale(fc(state, 1), 2.0) };
        mean(square(answer - y))
    });
    let row = |i| net.row([wave(3 * i), wave(3 * i + 1), wave(3 * i + 2)], wave(i));
    let rows: Vec<_> = (0..29).map(row).collect();
    trains_alike(card, &net, &rows, 8, 5e-4);
}

fn sentences_of_any_length(card: &Device) {
    let net = network!(|words: Seq<i64>, label: Tensor<i64, _, 1>| {
        let vectors = embedding(words, [50, 8]);
        let mut state = zeros(8);
        for word in vectors {
            state = tanh(fc(concat([word, state]), 8));
        }
        let most = sequence_pool(vectors, max);
        mean(softmax_with_cross_entropy(fc(concat([state, most]), 3), label))
    });
    let row = |i: usize| {
        let words: Vec<i64> = (0..i * 5 % 11).map(|j| ((i * 31 + j * 17) % 50) as i64).collect();
        net.row(words, (i % 3) as i64)
    };
    let rows: Vec<_> = (0..23).map(row).collect();
    trains_alike(card, &net, &rows, 8, 5e-4);
}

fn images(card: &Device) {
    let net = network!(|image: Tensor<f32, _, 1, 9, 9>, label: Tensor<i64, _, 1>| {
        let edges = relu(batch_norm(conv2d(image, 6, 3, padding = same, bias = false)));
        let halves = pool2d(edges, 2, kind = max);
        let shapes = dropout(relu(conv2d(halves, 8, 3, stride = 2)), 0.25);
        mean(softmax_with_cross_entropy(fc(shapes, 5), label))
    });
    let row = |i: usize| {
        let image: [[[f32; 9]; 9]; 1] = std::array::from_fn(|_| {
            std::array::from_fn(|y| std::array::from_fn(|x| wave(i * 81 + y * 9 + x)))
        });
        net.row(image, (i % 5) as i64)
    };
    let rows: Vec<_> = (0..11).map(row).collect();
    trains_alike(card, &net, &rows, 6, 1e-3);
}

fn what_a_card_has_learned_is_saved_and_runs_on_the_cpu(card: &Device) {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        let line = fc(x, 1);
        (mean(square(line - y)), line)
    });
    let rows: Vec<_> = (0..8).map(|i| net.row([wave(i), wave(i + 9)], wave(i) * 2.0)).collect();
    let mut there = Parameters::create_on(card.clone(), &net, 0).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    trainer
        .train(&net, &mut there, rows.clone().passes(20).batch(4), Options::default(), |_| Ok(()))
        .unwrap();
    let file = std::env::temp_dir().join(format!("paddle-card-{}.safetensors", std::process::id()));
    there.save(&file).unwrap();
    let mut here = Parameters::create(&net).unwrap();
    here.load(&file, Load::Strict).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(here.get::<f32>("line.w").unwrap(), there.get::<f32>("line.w").unwrap());
    let (found, expected) = (infer(&net, &there, &rows).unwrap(), infer(&net, &here, &rows).unwrap());
    let (found, expected) = (found.get::<f32>("line").unwrap(), expected.get::<f32>("line").unwrap());
    assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-5));
}

fn a_card_gives_the_same_bits_in_every_run(card: &Device) {
    let net = network!(|words: Seq<i64>, x: Tensor<f32, _, 4>, label: Tensor<i64, _, 1>| {
        let words = sequence_pool(embedding(words, [30, 8]), sum);
        let hidden = dropout(tanh(fc(concat([words, x]), 24)), 0.3);
        mean(softmax_with_cross_entropy(fc(hidden, 3), label))
    });
    let row = |i: usize| {
        let words: Vec<i64> = (0..i % 7).map(|j| ((i * 3 + j) % 30) as i64).collect();
        net.row(words, [0, 1, 2, 3].map(|j| wave(4 * i + j)), (i % 3) as i64)
    };
    let rows: Vec<_> = (0..40).map(row).collect();
    let run = || -> Vec<u32> {
        let mut parameters = Parameters::create_on(card.clone(), &net, 2).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).seed(4);
        for _ in 0..5 {
            trainer.step(&net, &mut parameters, &rows).unwrap();
        }
        let values = |name| parameters.get::<f32>(name).unwrap();
        parameters.names().flat_map(values).map(f32::to_bits).collect()
    };
    assert!(run() == run());
}

fn a_class_that_does_not_exist_is_the_error_of_the_cpu(card: &Device) {
    let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
        mean(softmax_with_cross_entropy(fc(x, 3), label))
    });
    let rows = [net.row([0.0, 1.0], 2), net.row([1.0, 0.0], 7), net.row([1.0, 0.0], 9)];
    let mut there = Parameters::create_on(card.clone(), &net, 0).unwrap();
    let mut here = Parameters::create(&net).unwrap();
    let found = Trainer::new(Sgd::new(0.1)).step(&net, &mut there, rows).unwrap_err().to_string();
    let expected = Trainer::new(Sgd::new(0.1)).step(&net, &mut here, rows).unwrap_err().to_string();
    assert!(found.contains("the class id of row 1 is 7"), "{found}");
    assert_eq!(found, expected);
    // Nothing has changed, and the next step is like any other.
    for name in here.names() {
        assert_eq!(there.get::<f32>(name).unwrap(), here.get::<f32>(name).unwrap());
    }
    let good = [net.row([0.0, 1.0], 2)];
    assert!(Trainer::new(Sgd::new(0.1)).step(&net, &mut there, good).unwrap().cost() > 0.0);
}

fn a_card_that_is_not_there_is_an_error_with_those_that_are(card: &Device) {
    let error = device_of(&format!("{}:99", card.name())).unwrap_err();
    let Error::Device(DeviceError::Card(CardError::Missing { number: 99, found, .. })) = &error else {
        panic!("{error}");
    };
    assert!(found.iter().all(|card| error.to_string().contains(&card.name)), "{error}");
    assert!(!found.is_empty());
}

/// Makes a test of each function, for the card of each backend.
macro_rules! on_every_card {
    ($($check:ident),* $(,)?) => {
        #[cfg(feature = "cuda")]
        mod by_cuda {
            $(#[test]
            fn $check() {
                if let Some(card) = crate::card::of("cuda") {
                    super::$check(card);
                }
            })*
        }

        #[cfg(feature = "wgpu")]
        mod by_wgpu {
            $(#[test]
            fn $check() {
                if let Some(card) = crate::card::of("wgpu") {
                    super::$check(card);
                }
            })*
        }
    };
}
on_every_card!(
    layers_with_every_kind_of_activation,
    rows_branch_and_loop,
    sentences_of_any_length,
    images,
    what_a_card_has_learned_is_saved_and_runs_on_the_cpu,
    a_card_gives_the_same_bits_in_every_run,
    a_class_that_does_not_exist_is_the_error_of_the_cpu,
    a_card_that_is_not_there_is_an_error_with_those_that_are,
);
