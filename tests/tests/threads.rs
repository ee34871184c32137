//! The same bits, whatever the number of threads.

mod networks;

use networks::awkward::{control, mlp, ragged};
use paddle::{Cpu, Network, Parameters, Rows, Sgd, Trainable, Trainer, network};

/// A number in [-1, 1) that is a function of `i`.
fn number(i: usize) -> f32 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// Costs and parameters, as bits, after 20 steps on these batches.
fn trained<S: Trainable>(net: &Network<S>, batches: &[impl Rows<S>], threads: usize) -> Vec<u32> {
    let cpu = Cpu::with_threads(threads).unwrap();
    assert_eq!(cpu.threads(), threads);
    let mut parameters = Parameters::create_on(cpu, net, 7).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let mut bits = Vec::new();
    for batch in batches.iter().cycle().take(20) {
        bits.push(trainer.step(net, &mut parameters, batch).unwrap().cost().to_bits());
    }
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    for name in names {
        bits.extend(parameters.get::<f32>(&name).unwrap().iter().map(|x| x.to_bits()));
    }
    bits
}

fn same_bits<S: Trainable>(net: &Network<S>, batches: &[impl Rows<S>]) {
    let expected = trained(net, batches, 1);
    assert!(expected.iter().all(|&bits| f32::from_bits(bits).is_finite()));
    assert_ne!(expected[0], expected[19], "the parameters do not change the cost");
    for threads in [2, 3, 7] {
        assert!(trained(net, batches, threads) == expected, "{threads} threads give other bits than one");
    }
}

fn numbers<const N: usize>(seed: usize) -> [f32; N] {
    std::array::from_fn(|j| number(1000 * seed + j))
}

#[test]
fn a_multilayer_perceptron() {
    let row = |i: usize| mlp::Row { x: numbers(i), y: (i % 7) as i64 };
    let rows = |seed: usize, count: usize| (seed..seed + count).map(row).collect::<Vec<_>>();
    same_bits(&mlp(), &[rows(0, 129), rows(500, 1), rows(1000, 61)]);
}

/// Many sequences, of which threads take all heads; and few, of which each takes some. Both are longer than a tile.
#[test]
fn attention() {
    let net = network!(|x: Seq<Tensor<f32, 6>>| {
        let seen = x + sequence_attention(x, x, x, 3, causal = true);
        mean(square(sequence_pool(sequence_attention(seen, x, x, 2), average)))
    });
    let row =
        |seed: usize, length: usize| net.row((0..length).map(|j| numbers(seed + 7 * j)).collect::<Vec<_>>());
    let many = (0..40).map(|i| row(i, i * i % 150)).collect::<Vec<_>>();
    same_bits(&net, &[many, vec![row(500, 200), row(700, 3)]]);
}

#[test]
fn sequences() {
    let sequence = |seed: usize, length: usize| (0..length).map(|j| numbers(seed + 7 * j)).collect();
    let row = |i: usize| ragged::Row { a: sequence(i, i * i % 23), b: sequence(i + 900, i % 17) };
    let rows = |seed: usize, count: usize| (seed..seed + count).map(row).collect::<Vec<_>>();
    same_bits(&ragged(), &[rows(0, 129), rows(500, 1), rows(1000, 61)]);
}

#[test]
fn a_branch_per_row_and_a_loop() {
    // Some rows in each branch, then all of them in one.
    let rows = |seed: usize, count: usize, rounds: i64, high: fn(usize) -> bool| -> Vec<_> {
        let switch = |i| f32::from(u8::from(high(i)));
        (0..count).map(|i| control::Row { x: numbers(seed + i), switch: switch(i), rounds }).collect()
    };
    let mixed = rows(0, 131, 5, |i| i % 3 == 0);
    let all = rows(300, 67, 1, |_| true);
    let none = rows(600, 33, 0, |_| false);
    same_bits(&control(), &[mixed, all, none]);
}
