//! Layers that draw numbers for each row: the same ones for a seed, whatever the threads and whichever rows a block runs on.

use ndarray::{ArrayD, Axis, Slice};
use paddle::{Cpu, InferOptions, Network, Parameters, Sgd, Spec, Trainer, infer, infer_with, network};

/// What a network without parameters draws for so many rows.
fn drawn<S: Spec>(net: &Network<S>, rows: usize) -> ArrayD<f32>
where
    Vec<[f32; 2]>: paddle::Rows<S>,
{
    let parameters = Parameters::create(net).unwrap();
    infer(net, &parameters, vec![[0.5_f32; 2]; rows]).unwrap().at::<f32>(0).unwrap().to_owned()
}

#[test]
fn numbers_have_their_distribution() {
    let normal =
        drawn(&network!(|x: Tensor<f32, _, 2>| gaussian_random(x, [4, 4], mean = 3.0, std = 0.5)), 1000);
    assert_eq!(normal.shape(), [1000, 4, 4]);
    assert!((normal.mean().unwrap() - 3.0).abs() < 0.02 && (normal.std(0.0) - 0.5).abs() < 0.02);
    let uniform = drawn(&network!(|x: Tensor<f32, _, 2>| uniform_random(x, 8, max = 3.0)), 1000);
    assert!((uniform.mean().unwrap() - 1.0).abs() < 0.05);
    assert!(uniform.iter().all(|&x| (-1.0..3.0).contains(&x)));
    let whole = drawn(&network!(|x: Tensor<f32, _, 2>| cast(randint(x, 4, 5, low = 2), f32)), 1000);
    assert!([2.0, 3.0, 4.0].iter().all(|n| whole.iter().filter(|x| *x == n).count() > 1200));
    let hits = drawn(&network!(|x: Tensor<f32, _, 2>| bernoulli(x * 0.5)), 2000);
    assert!((hits.mean().unwrap() - 0.25).abs() < 0.03 && hits.iter().all(|&x| x == 0.0 || x == 1.0));
}

/// A row's numbers are its own: rows behind it change nothing, nor does a condition that leaves others out.
#[test]
fn a_row_draws_by_its_number() {
    let net = network!(|x: Tensor<f32, _, 2>| gaussian_random(x, 3));
    let (few, many) = (drawn(&net, 5), drawn(&net, 700));
    assert_eq!(few, many.slice_axis(Axis(0), Slice::from(..5)));
    assert_ne!(few.index_axis(Axis(0), 0), few.index_axis(Axis(0), 1));

    let branches = network!(|x: Tensor<f32, _, 2>, chosen: Tensor<bool, _>| {
        if chosen { uniform_random(x, 3) } else { slice(x, [1], [0], [1]) * [0.0, 0.0, 0.0] }
    });
    let parameters = Parameters::create(&branches).unwrap();
    let run = |chosen: [bool; 4]| {
        let rows = chosen.map(|chosen| branches.row([0.5; 2], chosen));
        let seed = InferOptions::default().seed(1);
        infer_with(&branches, &parameters, rows, seed).unwrap().at::<f32>(0).unwrap().to_owned()
    };
    let (all, some) = (run([true; 4]), run([false, true, false, true]));
    for row in [1, 3] {
        assert_eq!(all.index_axis(Axis(0), row), some.index_axis(Axis(0), row));
    }
    assert!(some.index_axis(Axis(0), 0).iter().all(|&x| x == 0.0));
    assert!(all.iter().all(|&x| x != 0.0));
}

/// The cost of each of some steps, as bits: a sum of noise.
fn costs(threads: usize, seed: u64) -> Vec<u32> {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let near = gaussian_random(x, 16);
        let far = gaussian_random(x, 16);
        let mut walk = near;
        let mut i = 0;
        while i < 3 {
            walk += uniform_random(x, 16);
            i += 1;
        }
        sum(fc(walk * far, 1, init = constant(1.0)))
    });
    let mut parameters = Parameters::create_on(Cpu::with_threads(threads).unwrap(), &net, 7).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.0)).seed(seed);
    (0..3)
        .map(|_| trainer.step(&net, &mut parameters, vec![[1.0; 2]; 300]).unwrap().cost().to_bits())
        .collect()
}

#[test]
fn a_seed_draws_the_same_on_any_number_of_threads() {
    let expected = costs(1, 5);
    assert!(expected[0] != expected[1] && expected[1] != expected[2], "each step draws others");
    assert_ne!(costs(1, 6), expected);
    for threads in [2, 3, 7] {
        assert_eq!(costs(threads, 5), expected, "{threads} threads");
    }
}

/// Two layers, and the iterations of a loop, draw numbers of their own.
#[test]
fn no_two_draws_are_one() {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let first = gaussian_random(x, 4);
        let second = gaussian_random(x, 4);
        let (mut last, mut before, mut i) = (first, first, 0);
        while i < 2 {
            before = last;
            last = gaussian_random(x, 4);
            i += 1;
        }
        (first, second, before, last)
    });
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [[0.0; 2]; 3]).unwrap();
    let all: Vec<ArrayD<f32>> = (0..4).map(|k| outputs.at::<f32>(k).unwrap().to_owned()).collect();
    for (i, a) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|b| a.iter().zip(b).all(|(a, b)| a != b)), "{all:?}");
    }
}
