//! Nothing is allocated in the steady state, on any thread.

mod networks;

use std::alloc::System;
use std::ops::Range;

use networks::awkward::{control, mlp, ragged};
use paddle::{Batch, Cpu, Network, Options, Parameters, Sgd, Trainable, Trainer, infer, network};
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::cpu::multiplier::Multiplier;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

/// Counts what all threads ask of the system.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Our kernels: `matrixmultiply`, which some machines have for products otherwise, allocates what it packs tiles into.
fn cpu() -> Cpu {
    Cpu::with_multiplier(3, Isa::from_environment().unwrap(), Multiplier::Own).unwrap()
}

/// How many allocations an action makes.
fn count(action: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    action();
    let change = region.change();
    change.allocations + change.reallocations
}

/// Trains on the batches, whole and in shards, and tells whether allocations were made in the first 32 of them only.
fn settles<S: Trainable>(net: &Network<S>, batches: &[Batch<S>]) -> bool {
    [1, 3].iter().all(|&shards| matches!(allocations(net, batches, shards), (1.., 0)))
}

/// How many allocations there were in the first 32 of the batches, and afterwards.
fn allocations<S: Trainable>(net: &Network<S>, batches: &[Batch<S>], shards: usize) -> (usize, usize) {
    let options = Options::default().shards(shards);
    let cpu = cpu();
    let mut parameters = Parameters::create_on(cpu, net, 0).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.01));
    let mut steps = |batches: &[Batch<S>]| {
        count(|| {
            for batch in batches {
                trainer.step_with(net, &mut parameters, batch, &options).unwrap();
            }
        })
    };
    (steps(&batches[..32]), steps(&batches[32..]))
}

/// 200 batches of 1 to 97 rows; the largest is among the first 32.
fn sizes() -> impl Iterator<Item = usize> {
    (0..200).map(|i| if i == 17 { 97 } else { 1 + (i * 41) % 96 })
}

/// One test, so that no other thread of the harness allocates meanwhile.
#[test]
fn nothing_is_allocated_in_the_steady_state() {
    filled_again();
    steps();
    loops();
    made_sequences();
    sequences_of_sequences();
    recurrent_layers();
    images();
    rows_of_tables();
    inference();
}

fn steps() {
    let net = mlp();
    let row = |i: usize| mlp::Row { x: [i as f32 / 97.0; 37], y: (i % 7) as i64 };
    let batch = |count: usize| net.batch((0..count).map(row)).unwrap();
    assert!(settles(&net, &sizes().map(batch).collect::<Vec<_>>()));

    // The largest batch also has the longest sequences.
    let net = ragged();
    let sequence = |i: usize, length: usize| vec![[i as f32 / 97.0; 5]; length];
    let row = |count: usize, i: usize| {
        let longest = if count == 97 { 12 } else { (count + i) % 12 };
        ragged::Row { a: sequence(i, longest), b: sequence(i + 1, longest) }
    };
    let batch = |count: usize| net.batch((0..count).map(|i| row(count, i))).unwrap();
    assert!(settles(&net, &sizes().map(batch).collect::<Vec<_>>()));

    // The largest batch also has the most rounds; how many rows take which branch differs from batch to batch.
    let net = control();
    let row = |count: usize, i: usize| control::Row {
        x: [i as f32 / 97.0; 13],
        switch: f32::from(u8::from((count * i) % 5 < 2)),
        rounds: if count == 97 { 6 } else { count as i64 % 7 },
    };
    let batch = |count: usize| net.batch((0..count).map(|i| row(count, i))).unwrap();
    assert!(settles(&net, &sizes().map(batch).collect::<Vec<_>>()));
}

/// The most rows, the most tokens, the longest sequence and the most iterations are in four batches, all of them early; later ones
/// come near to several of these at once.
fn loops() {
    let net = network!(|xs: Seq<Tensor<f32, 4>>, ys: Seq<Tensor<f32, 3>>, wanted: Tensor<f32, _>| {
        let mut h = zeros(8);
        let seen = for y in ys {
            // Attention over the other sequence, which grows with both lengths.
            let scores = sum(fc(xs, 8, bias = false) * sequence_expand(h, xs), axis = 1);
            let context = sequence_pool(xs * unsqueeze(sequence_softmax(scores), 1), sum);
            h = tanh(fc([y, h, context], 8));
            h
        };
        let mut left = wanted;
        let given = while left > 0.0 {
            left = left - 1.0;
            h = tanh(fc(h, 8, param = "again"));
            h
        };
        mean(sequence_pool(seen, sum) + sequence_pool(given, sum) + h)
    });
    let sequence = |length: usize| vec![[0.5; 4]; length];
    let batch = |at: usize| {
        let rows = match at {
            3 => 60,
            9 => 40,
            _ => 1 + (at * 41) % 60,
        };
        let length = |i: usize, salt: usize| match at {
            5 if i == 0 => 40,
            // Many tokens, without long sequences.
            9 => 20,
            _ if rows < 20 => (at * 7 + i * 13 + salt) % 40,
            _ => (at + i * 5 + salt) % 10,
        };
        let wanted = |i: usize| if at == 7 && i == 0 { 25.0 } else { ((at * 3 + i * 11) % 25) as f32 };
        let row = |i: usize| (sequence(length(i, 0)), vec![[1.0; 3]; length(i, 3)], wanted(i));
        net.batch((0..rows).map(row)).unwrap()
    };
    let batches: Vec<_> = (0..200).map(batch).collect();
    assert!(settles(&net, &batches));
}

/// Sequences that are made in every step, and in every iteration of a loop; what is kept of them depends on their values.
fn made_sequences() {
    let net = network!(|xs: Seq<Tensor<f32, 4>>, ys: Seq<Tensor<f32, 4>>, bound: Tensor<f32, _>| {
        let both = sequence_concat([xs, sequence_filter(ys, sum(ys, axis = 1) > 0.0)]);
        let length = sequence_length(both);
        let (mut h, mut at, mut sure) = (zeros(4), 0, 0.0);
        while at < length && sure < bound {
            let part = sequence_slice(both, at, minimum(length - at, 3));
            for x in part {
                let next = fc([x, h], 4, param = "read");
                h = tanh(next);
            }
            at += 3;
            sure += 1.0;
        }
        let states = for y in ys {
            if sum(y, axis = 1) < -1.0 {
                continue;
            }
            h = tanh(h + fc(y, 4, param = "again"));
            h
        };
        let placed = sequence_pad(sequence_slice(states, 0, minimum(sequence_length(states), 3)), 3);
        mean(square(h)) + mean(square(placed))
    });
    let sequence = |length: usize, salt: usize| -> Vec<[f32; 4]> {
        (0..length).map(|i| [((i * 7 + salt) % 11) as f32 / 5.0 - 1.0; 4]).collect()
    };
    let batch = |at: usize| {
        let rows = match at {
            3 => 60,
            9 | 11 => 40,
            _ => 1 + (at * 41) % 60,
        };
        let length = |i: usize, salt: usize| match at {
            5 if i == 0 => 40,
            9 => 20 * usize::from(salt == 0),
            11 => 20 * usize::from(salt != 0),
            _ if rows < 20 => (at * 7 + i * 13 + salt) % 40,
            _ => (at + i * 5 + salt) % 10,
        };
        let row = |i: usize| {
            let [xs, ys] = [0, 3].map(|salt| sequence(length(i, salt), at + i + salt));
            (xs, ys, ((at + i) % 9) as f32)
        };
        net.batch((0..rows).map(row)).unwrap()
    };
    assert!(settles(&net, &(0..200).map(batch).collect::<Vec<_>>()));
}

/// The most rows, the most sequences and the most of their tokens are in three batches.
fn sequences_of_sequences() {
    let net = network!(|text: Seq<Seq<Tensor<f32, 3>>>| {
        let mut h = zeros(4);
        let states = for sentence in text {
            let mut s = zeros(3);
            for word in sentence {
                let next = fc([word, s], 3);
                s = tanh(next);
            }
            let whole = fc([s, h], 4);
            h = tanh(whole);
            h
        };
        mean(square(sequence_pool(states, max)))
    });
    let batch = |at: usize| {
        let rows = if at == 3 { 40 } else { 1 + (at * 41) % 40 };
        let sentence = |i: usize, k: usize| match at {
            5 if i + k == 0 => vec![[0.5; 3]; 30],
            9 => vec![[0.5; 3]; 9],
            _ => vec![[0.25; 3]; (at + i * 5 + k) % 9],
        };
        let text = |i: usize| -> Vec<_> {
            let count = if at == 7 || at == 9 { 12 } else { (at * 3 + i * 7) % 12 };
            (0..count).map(|k| sentence(i, k)).collect()
        };
        net.batch((0..rows).map(text)).unwrap()
    };
    assert!(settles(&net, &(0..200).map(batch).collect::<Vec<_>>()));
}

/// A reader in both directions and layers, and a writer that attends to what was read; their lengths have nothing to do with each other.
fn recurrent_layers() {
    let net =
        network!(|read: Seq<Tensor<f32, 3>>, said: Seq<Tensor<f32, 2>>, wanted: Seq<Tensor<f32, 4>>| {
            let read = stacked_lstm(read, 3, 2, bidirectional = true, peepholes = true);
            let mut h = zeros(4);
            let losses = for (x, right) in (said, wanted) {
                let context = attention(h, read, 5);
                let unit = gru_unit(concat([x, context]), h, 4);
                h = unit;
                square(h - right)
            };
            mean(sequence_pool(losses, sum))
        });
    let batch = |at: usize| {
        let rows = if at == 3 { 40 } else { 1 + (at * 41) % 40 };
        let length = |i: usize, salt: usize| match at {
            5 if i == 0 => 30,
            // Many tokens, without long sequences.
            9 => 12,
            _ if rows < 10 => (at * 7 + i * 13 + salt) % 30,
            _ => (at + i * 5 + salt) % 7,
        };
        let row = |i: usize| {
            let said = length(i, 3);
            (vec![[0.5; 3]; length(i, 0)], vec![[1.0; 2]; said], vec![[0.1; 4]; said])
        };
        net.batch((0..rows).map(row)).unwrap()
    };
    let batches: Vec<_> = (0..200).map(batch).collect();
    assert!(settles(&net, &batches));
}

/// Convolutions, pooling, and batch norm, whose statistics a step changes.
fn images() {
    let net = network!(|x: Tensor<f32, _, 3, 8, 8>, y: Tensor<i64, _, 1>| {
        let h = relu(batch_norm(conv2d(x, 16, 3, padding = 1, bias = false)));
        let h = relu(
            batch_norm(conv2d(h, 16, 3, stride = 2, padding = 1, groups = 4)) + conv2d(h, 16, 1, stride = 2),
        );
        let h = pool2d(h, 2, kind = max);
        mean(softmax_with_cross_entropy(fc(h, 5), y))
    });
    let batch = |count: usize| {
        let rows = (0..count).map(|i| ([[[i as f32 / 97.0; 8]; 8]; 3], (i % 5) as i64));
        net.batch(rows).unwrap()
    };
    let batches: Vec<_> = sizes().take(64).map(|count| batch(count.min(24))).collect();
    // Statistics do not add up over shards, so batches are whole.
    assert!(matches!(allocations(&net, &batches, 1), (1.., 0)));
}

/// Tables of which a step looks up, and updates, a few rows.
fn rows_of_tables() {
    let net = network!(|user: Tensor<i64, _>, words: Seq<i64>, y: Tensor<f32, _>| {
        let user = embedding(user, [50, 6]);
        let words = sequence_pool(embedding(words, [70, 6]), sum);
        mean(square(sum(user * words, axis = 1) - y))
    });
    let batch = |count: usize| {
        let words =
            |i: usize| (0..if count == 97 { 9 } else { i % 9 }).map(move |k| ((i * 31 + k) % 70) as i64);
        let row = |i: usize| ((i * 17 % 50) as i64, words(i).collect::<Vec<_>>(), 1.0);
        net.batch((0..count).map(row)).unwrap()
    };
    assert!(settles(&net, &sizes().map(batch).collect::<Vec<_>>()));
}

/// Calls of `infer` whose outputs are dropped before the next call: of an array, of sequences, and of two networks in turn.
fn inference() {
    let classes = network!(|x: Tensor<f32, _, 3, 8, 8>| {
        let h = relu(batch_norm(conv2d(x, 16, 3, padding = 1, bias = false)));
        softmax(fc(h, 5, param = "head"))
    });
    let odd = network!(|xs: Seq<Tensor<f32, 4>>| {
        let found = sequence_filter(xs, sum(xs, axis = 1) > 0.0);
        (fc(found, 3, act = tanh, param = "found"), mean(sequence_pool(found, sum)))
    });
    let cpu = cpu();
    let parameters = Parameters::create_on(cpu, (&classes, &odd), 0).unwrap();
    let image = |i: usize| [[[i as f32 / 97.0; 8]; 8]; 3];
    let sequence = |i: usize| vec![[(i % 3) as f32 - 1.0; 4]; i % 11];
    let images: Vec<_> = sizes().map(|count| classes.batch((0..count.min(24)).map(image)).unwrap()).collect();
    let texts: Vec<_> = sizes().map(|count| odd.batch((0..count).map(sequence)).unwrap()).collect();
    let calls = |range: Range<usize>| {
        count(|| {
            for at in range {
                let outputs = infer(&classes, &parameters, &images[at]).unwrap();
                assert_eq!(outputs.at::<f32>(0).unwrap().shape()[1], 5);
                drop(outputs);
                let outputs = infer(&odd, &parameters, &texts[at]).unwrap();
                assert_eq!(outputs.at::<f32>(0).unwrap().shape()[1], 3);
            }
        })
    };
    assert!(matches!((calls(0..32), calls(32..200)), (1.., 0)));
}

/// A batch that is filled again keeps its memory.
fn filled_again() {
    let net = mlp();
    let rows: Vec<_> = (0..97).map(|i| mlp::Row { x: [i as f32; 37], y: 0 }).collect();
    let mut batch = net.batch(&rows).unwrap();
    assert_eq!(count(|| batch.fill(&rows[..50]).unwrap()), 0);
    assert_eq!(batch.rows(), Ok(50));
}
