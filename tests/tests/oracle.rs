//! Programs of ours, exported, in the real PaddlePaddle 2.6.2, against our own executor.
//!
//! Runs with `PADDLE_ORACLE=1`, and `PADDLE_PYTHON` set to a Python interpreter that has `paddlepaddle==2.6.2` and
//! `numpy<2`; what is exported to ONNX, with `PADDLE_ONNX_PYTHON` set to one that has `onnxruntime`.

#[path = "oracle/cases.rs"]
mod cases;
#[path = "../../paddle-kernels/tests/backends/draw.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod draw;
#[path = "../../paddle-kernels/tests/backends/fed.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod fed;
#[path = "oracle/generated.rs"]
mod generated;
#[path = "../../paddle-kernels/tests/backends/host.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod host;
#[path = "oracle/in_onnx.rs"]
mod in_onnx;
#[path = "oracle/operators.rs"]
mod operators;
#[path = "oracle/process.rs"]
mod process;
mod support;

use paddle::Cpu;
use paddle::core::convert::{export, from_wire, legalise};
use paddle::core::passes::test_mode::test_mode;
use paddle::core::text;
use process::{Case, is_wanted, run, write};
use support::runner::Runner;
use support::tensor::Tensor;

/// Runs a program here and there on each batch, and compares every output.
fn check(name: &str, source: &str, batches: &[Vec<Tensor>]) {
    if !is_wanted() {
        return;
    }
    let program = text::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut inference = program.clone();
    test_mode(&mut inference);
    let mut runner = Runner::new(Cpu::new().expect("a processor"), &inference);
    let params = runner.parameters();
    let params = params.iter().map(|(name, tensor)| (name.clone(), tensor.to_record())).collect();
    let model = export(&program, &params).unwrap_or_else(|error| panic!("{name}: {error}"));
    let model = write(name, &model);
    let ours: Vec<Vec<Tensor>> = batches.iter().map(|batch| runner.run(batch)).collect();
    for api in ["executor", "predictor"] {
        let theirs = run(api, &[Case::new(model.clone(), batches)]);
        for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            let theirs = theirs.unwrap_or_else(|error| panic!("{name} in the {api}, batch {at}: {error}"));
            assert_eq!(theirs.len(), ours.len(), "{name}: outputs");
            for (k, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                theirs.assert_close(
                    ours,
                    1e-5,
                    1e-6,
                    &format!("{name} in the {api}, batch {at}, output {k}"),
                );
            }
        }
    }
}

/// Numbers that look random, between -1 and 1.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i * 37 + seed * 11) % 41) as f32 / 20.0 - 1.0).collect();
    Tensor::f32(shape, &values)
}

fn column(values: &[f32]) -> Tensor {
    Tensor::f32(&[values.len(), 1], values)
}

/// The rows of both branches; of one only; a single row.
#[test]
fn if_per_row() {
    let batch = |values: &[f32]| vec![column(values), Tensor::f32(&[], &[0.5]), column(values)];
    let batches = [
        batch(&[20.0, 30.0]),
        batch(&[10.0, 20.0, 30.0, 5.0]),
        batch(&[1.0, 2.0, 3.0]),
        batch(&[16.0]),
        batch(&[1.0]),
    ];
    check("if_per_row", include_str!("../../paddle-core/tests/golden/if_per_row.txt"), &batches);
}

/// A loop; loops in branches; branches in loops.
#[test]
fn loops() {
    let scalar = include_str!("../../paddle-core/tests/golden/while_scalar.txt");
    check("while_scalar", scalar, &[vec![numbers(&[3, 4], 1)], vec![numbers(&[1, 4], 2)]]);
    let if_in_while = include_str!("../../paddle-core/tests/golden/if_in_while.txt");
    let batch = |rows, limit| vec![numbers(&[rows, 4], rows), Tensor::f32(&[], &[limit])];
    check("if_in_while", if_in_while, &[batch(3, 2.0), batch(5, -100.0), batch(2, 0.0), batch(1, 6.0)]);
    let while_in_if = include_str!("../../paddle-core/tests/golden/while_in_if.txt");
    let batch = |rows, by: f32| {
        let scales: Vec<f32> = (0..rows).map(|i| if i % 2 == 0 { by } else { -by }).collect();
        vec![numbers(&[rows, 4], rows), column(&scales)]
    };
    check("while_in_if", while_in_if, &[batch(4, 1.0), batch(1, 1.0), batch(1, -1.0)]);
}

/// What is written for PaddlePaddle's `while` is read back and computes the same here. State is exchanged: what one
/// variable gets is what the other one was before.
#[test]
fn loops_are_read_back() {
    let source = "program {
  rows _
  parameter w: f32[2, 2] = uniform_random(min=-1.0, max=1.0)
  block 0 (x: f32[_, 2], y: f32[_, 2], n: i64[]) {
    zero: i64[] = fill_constant(value=0)
    i: i64[], a: f32[_, 2], b: f32[_, 2] = while(zero, x, y) {
      block 1 (i_1: i64[], a_1: f32[_, 2], b_1: f32[_, 2]) {
        less: bool[] = less_than(i_1, n)
        yield less
      }
      block 2 (i_2: i64[], a_2: f32[_, 2], b_2: f32[_, 2]) {
        next: i64[] = scale(i_2, bias=1.0)
        product: f32[_, 2] = matmul_v2(a_2, w)
        sum: f32[_, 2] = elementwise_add(product, b_2)
        yield next, b_2, sum
      }
    }
    return i, a, b
  }
}
";
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let again = legalise(&program).unwrap_or_else(|error| panic!("{error}"));
    let again = from_wire(&again, None).unwrap_or_else(|error| panic!("{error}"));
    let mut ours = Runner::new(Cpu::new().expect("a processor"), &program);
    let mut theirs = Runner::new(Cpu::new().expect("a processor"), &again);
    theirs.set(&ours.parameters());
    for steps in [0, 1, 4] {
        let batch = [numbers(&[3, 2], 1), numbers(&[3, 2], 2), Tensor::i64(&[], &[steps])];
        assert_eq!(theirs.run(&batch), ours.run(&batch), "{steps} iterations");
    }
}

/// A layer for each token; every way to make a row of them, beside rows; offsets where the first input has none;
/// attention and convolution.
#[test]
fn sequences() {
    let batch = |offsets: &[i64]| {
        let (tokens, rows) = (offsets[offsets.len() - 1] as usize, offsets.len() - 1);
        let x = numbers(&[tokens, 3], tokens).with_offsets(offsets);
        let z = numbers(&[tokens, 1], 3).with_offsets(offsets);
        vec![x, numbers(&[rows, 2], rows), Tensor::f32(&[], &[0.5]), z]
    };
    let batches = [batch(&[0, 2, 5]), batch(&[0, 3, 3, 4, 9]), batch(&[0, 1])];
    check("sequences", include_str!("oracle/sequences.txt"), &batches);
}

/// Every operator that a network is written with, and every form of control flow in another.
#[test]
fn everything() {
    let batch = |rows: usize, flag: f32, steps| {
        let labels: Vec<i64> = (0..rows as i64).map(|i| i % 3).collect();
        vec![
            numbers(&[rows, 3], rows),
            numbers(&[rows], rows + 5),
            Tensor::i64(&[rows], &labels),
            Tensor::f32(&[], &[flag]),
            Tensor::i64(&[1], &[steps]),
        ]
    };
    let batches = [batch(4, 1.0, 3), batch(7, -1.0, 0), batch(1, 1.0, 5), batch(1, -1.0, 1)];
    check("everything", include_str!("oracle/everything.txt"), &batches);
}

/// Ids below `bound`, as sequences, a column or a list.
fn ids(shape: &[usize], bound: usize, seed: usize) -> Tensor {
    let values: Vec<i64> =
        (0..shape.iter().product()).map(|i: usize| ((i * 7 + i * i + seed) % bound) as i64).collect();
    Tensor::i64(shape, &values)
}

/// The programs of the examples that run on sequences, or on some of the rows.
#[test]
fn examples() {
    let mixture = |rows: usize| {
        let sex: Vec<f32> = (0..rows).map(|i| 1.0 + (i % 2) as f32).collect();
        vec![numbers(&[rows, 9], rows), column(&sex), numbers(&[rows, 1], 3)]
    };
    check(
        "mixture",
        include_str!("../../examples/golden/mixture.txt"),
        &[mixture(5), mixture(2), mixture(1)],
    );
    let lengths: [&[i64]; 3] = [&[0, 4, 5, 12, 13], &[0, 1], &[0, 2, 4, 6]];
    let texts = |offsets: &[i64], bound, seed| {
        ids(&[offsets[offsets.len() - 1] as usize], bound, seed).with_offsets(offsets)
    };
    let sentiment = lengths.map(|offsets| vec![texts(offsets, 4, 1), ids(&[offsets.len() - 1, 1], 3, 2)]);
    check("sentiment", include_str!("../../examples/golden/sentiment_lstm.txt"), &sentiment);
    let inflect = lengths.map(|offsets| {
        let longer: Vec<i64> = offsets.iter().enumerate().map(|(k, end)| end + k as i64).collect();
        let form = ids(&[longer[longer.len() - 1] as usize, 1], 20, 3).with_offsets(&longer);
        vec![texts(offsets, 20, 1), texts(&longer, 20, 2), form]
    });
    check("inflect_cost", include_str!("../../examples/golden/inflect_cost.txt"), &inflect);
    let search = lengths.map(|offsets| vec![texts(offsets, 20, 1), ids(&[offsets.len() - 1], 2, 1)]);
    check("inflect_form", include_str!("../../examples/golden/inflect_form.txt"), &search);
}
