//! Inference: what is drawn, and calls on several threads.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use ndarray::ArrayD;
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::reader::Reader;
use paddle::{Cpu, InferOptions, Network, Parameters, Rows, Spec, infer, infer_with, network, test};

/// The first output of a call.
fn output<S: Spec>(net: &Network<S>, parameters: &Parameters, rows: impl Rows<S>) -> ArrayD<f32> {
    infer(net, parameters, rows).unwrap().at::<f32>(0).unwrap().to_owned()
}

fn seeded<S: Spec>(net: &Network<S>, parameters: &Parameters, rows: impl Rows<S>, seed: u64) -> ArrayD<f32> {
    let options = InferOptions::default().seed(seed);
    infer_with(net, parameters, rows, options).unwrap().at::<f32>(0).unwrap().to_owned()
}

const ROWS: [[f32; 2]; 3] = [[0.0; 2]; 3];

#[test]
fn each_call_draws_anew_and_a_program_that_is_run_again_draws_the_same() {
    let net = network!(|x: Tensor<f32, _, 2>| gaussian_random(x, 4));
    let other = network!(|x: Tensor<f32, _, 2>| uniform_random(x, 4));
    let calls = || {
        let parameters = Parameters::create((&net, &other)).unwrap();
        (0..4)
            .map(|_| {
                // What other networks draw, or the same one by a seed or in a test, changes nothing.
                output(&other, &parameters, ROWS);
                seeded(&net, &parameters, ROWS, 9);
                output(&net, &parameters, ROWS)
            })
            .collect::<Vec<_>>()
    };
    let first = calls();
    for (i, drawn) in first.iter().enumerate() {
        assert!(first[..i].iter().all(|before| before.iter().zip(drawn).all(|(a, b)| a != b)), "{first:?}");
    }
    assert_eq!(calls(), first);
}

#[test]
fn a_seed_draws_the_same_in_any_call_on_any_number_of_threads() {
    let net = network!(|x: Tensor<f32, _, 2>| gaussian_random(x, 16) * uniform_random(x, 16));
    let drawn = |threads, seed| {
        let parameters = Parameters::create_on(Cpu::with_threads(threads).unwrap(), &net, 0).unwrap();
        let many = vec![[0.0_f32; 2]; 3000];
        [0, 1].map(|_| seeded(&net, &parameters, &many, seed))
    };
    let [first, second] = drawn(1, 5);
    assert_eq!(first, second);
    assert_ne!(first, drawn(1, 6)[0]);
    for threads in [2, 7] {
        assert_eq!(drawn(threads, 5), [first.clone(), first.clone()], "{threads} threads");
    }
}

#[test]
fn nothing_is_dropped_where_a_network_is_used() {
    let net = network!(|x: Tensor<f32, _, 2>| dropout(x, 0.5));
    let parameters = Parameters::create(&net).unwrap();
    let many = vec![[1.0_f32; 2]; 100];
    let first = output(&net, &parameters, &many);
    assert!(first.iter().all(|&x| x == first[[0, 0]] && x > 0.0), "{first}");
    assert_eq!(output(&net, &parameters, &many), first);
}

#[test]
fn a_test_draws_for_each_batch_and_is_the_same_each_time() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(gaussian_random(x, 4)));
    let parameters = Parameters::create(&net).unwrap();
    let cost = |batches: usize| {
        let rows = vec![net.row([0.0; 2]); batches];
        test(&net, &parameters, rows.into_iter().batch(1)).unwrap().cost()
    };
    assert_eq!(cost(3), cost(3));
    assert_ne!(cost(1), cost(2), "all batches draw the same");
}

#[test]
fn taps_and_a_seed() {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let noise = tap(gaussian_random(x, 2), "noise");
        x + noise
    });
    let parameters = Parameters::create(&net).unwrap();
    let options = || InferOptions::default().taps(["noise"]).seed(3);
    let both = infer_with(&net, &parameters, [[1.0, 2.0]], options()).unwrap();
    let (sum, noise) = (both.at::<f32>(0).unwrap(), both.get::<f32>("noise").unwrap());
    assert_eq!(sum[[0, 1]], 2.0 + noise[[0, 1]]);
    assert_eq!(seeded(&net, &parameters, [[1.0, 2.0]], 3), sum);
    // Names alone, as an array or a slice.
    assert_eq!(infer_with(&net, &parameters, [[1.0, 2.0]], &["noise"]).unwrap().len(), 2);
    assert_eq!(infer_with(&net, &parameters, [[1.0, 2.0]], &["noise"][..]).unwrap().len(), 2);
}

#[paddle::attribute::network]
mod meeting {
    /// Its kernel waits until two of them run.
    #[operator(row_wise)]
    pub fn meet(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    /// Two calls of this have to run at the same time.
    pub fn met(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 3> {
        fc(meet(x), 3)
    }
}

static RUNNING: Mutex<usize> = Mutex::new(0);
static CAME: Condvar = Condvar::new();

impl Operator for meeting::meet {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f32>(0)?, output.get::<f32>()?);
        y.assign(&x);
        let mut running = RUNNING.lock().unwrap();
        *running += 1;
        CAME.notify_all();
        let (_alone, waited) =
            CAME.wait_timeout_while(running, Duration::from_secs(60), |running| *running < 2).unwrap();
        if waited.timed_out() { Err("the other call has not come".to_string()) } else { Ok(()) }
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?);
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op.rows(1, &[2])]
    }
}

#[test]
fn two_calls_run_at_the_same_time() {
    let net = meeting::met();
    let parameters = Parameters::create(&net).unwrap();
    let rows = [[1.0, 2.0]];
    let outputs: Vec<_> = thread::scope(|scope| {
        let calls = [0, 1].map(|_| scope.spawn(|| output(&net, &parameters, rows)));
        calls.map(|call| call.join().unwrap()).into()
    });
    assert_eq!(outputs[0], outputs[1]);
    // Later ones find two that came.
    assert_eq!(output(&net, &parameters, rows), outputs[0]);
}

/// Calls of several threads, of different sizes, beside readers of the parameters, on a team of one thread and of several.
#[test]
fn calls_side_by_side_give_what_single_ones_give() {
    let net = network!(|x: Tensor<f32, _, 8>, words: Seq<i64>| {
        let seen = lstm(embedding(words, [20, 8]), 8);
        let known = if sum(x, axis = 1) > 0.0 { fc(x, 8) } else { tanh(x) };
        softmax(fc(known + sequence_pool(seen, last) + gaussian_random(x, 8), 4))
    });
    for threads in [1, 3] {
        let parameters = Parameters::create_on(Cpu::with_threads(threads).unwrap(), &net, 3).unwrap();
        let rows = |seed: usize| -> Vec<_> {
            let number = |i: usize| ((seed * 31 + i * 17) % 13) as f32 - 6.0;
            (0..1 + seed % 7)
                .map(|i| {
                    let words = (0..(seed + i) % 5).map(|k| (k * 7 + seed) as i64 % 20).collect::<Vec<_>>();
                    net.row(std::array::from_fn(|k| number(i + k)), words)
                })
                .collect()
        };
        let expected: Vec<_> =
            (0..40).map(|seed| seeded(&net, &parameters, rows(seed), seed as u64)).collect();
        thread::scope(|scope| {
            for first in 0..4 {
                let (net, parameters, expected, rows) = (&net, &parameters, &expected, &rows);
                scope.spawn(move || {
                    for k in 0..expected.len() {
                        let seed = (k * (first + 1) + first) % expected.len();
                        assert_eq!(seeded(net, parameters, rows(seed), seed as u64), expected[seed]);
                        assert_eq!(parameters.names().count(), parameters.iter().count());
                        parameters.get::<f32>(parameters.names().next().unwrap()).unwrap();
                    }
                });
            }
        });
    }
}

/// An area under a curve counts over all batches: its calls change the counts, and take turns.
#[test]
fn calls_that_change_parameters_take_turns() {
    let net = network!(|x: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>| auc(x, label, num_thresholds = 9));
    let parameters = Parameters::create(&net).unwrap();
    let (threads, calls) = (4, 50);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..calls {
                    infer(&net, &parameters, [net.row(0.9, 1), net.row(0.1, 0)]).unwrap();
                }
            });
        }
    });
    let positives: Vec<_> = parameters.names().filter(|name| name.contains("positives")).collect();
    assert_eq!(parameters.get::<i64>(positives[0]).unwrap().sum(), threads * calls);
}

#[test]
fn filters_that_are_set_anew_count_in_the_next_call() {
    let net =
        network!(|x: Tensor<f32, _, 3, 5, 5>| conv2d(x, 8, 3, padding = 1, bias = false, param = "conv"));
    let mut parameters = Parameters::create(&net).unwrap();
    let images = [[[[0.5_f32; 5]; 5]; 3]];
    let first = output(&net, &parameters, images);
    assert_eq!(output(&net, &parameters, images), first, "of the same filters");
    let filters = parameters.get::<f32>("conv.w").unwrap().mapv(|weight| 2.0 * weight);
    parameters.set("conv.w", &filters).unwrap();
    assert_eq!(
        output(&net, &parameters, images),
        first.mapv(|value| 2.0 * value),
        "of filters twice as large"
    );
    // Other parameters have filters of their own, whatever was computed before.
    let others = Parameters::create_with_seed(&net, 7).unwrap();
    assert_ne!(output(&net, &others, images), first);
    assert_eq!(output(&net, &parameters, images), first.mapv(|value| 2.0 * value));
}
