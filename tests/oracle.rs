//! Programs of ours, exported, in the real PaddlePaddle 2.6.2, against our own executor.
//!
//! Runs with `PADDLE_ORACLE=1`, and `PADDLE_PYTHON` set to a Python interpreter that has `paddlepaddle==2.6.2` and
//! `numpy<2`.

#[path = "oracle/operators.rs"]
mod operators;
mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use paddle::Cpu;
use paddle::core::convert::{Export, export, from_wire, legalise};
use paddle::core::text;
use support::runner::Runner;
use support::tensor::{Tensor, Values};

/// Runs a program here and there on each batch, and compares every output.
fn check(name: &str, source: &str, batches: &[Vec<Tensor>]) {
    if std::env::var("PADDLE_ORACLE").as_deref() != Ok("1") {
        eprintln!("skipped: PADDLE_ORACLE is not 1");
        return;
    }
    let program = text::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut runner = Runner::new(Cpu::new().expect("a processor"), &program);
    let params = runner.parameters();
    let params = params.iter().map(|(name, tensor)| (name.clone(), tensor.to_record())).collect();
    let model = export(&program, &params).unwrap_or_else(|error| panic!("{name}: {error}"));
    let model = write(name, &model);
    let ours: Vec<Vec<Tensor>> = batches.iter().map(|batch| runner.run(batch)).collect();
    for api in ["executor", "predictor"] {
        let theirs = oracle(api, &[(model.clone(), batches.to_vec())]);
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

/// Writes the files of a model, and returns their name without the ending.
fn write(name: &str, model: &Export) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    std::fs::create_dir_all(&directory).expect("it can be made");
    let prefix = directory.join(name);
    std::fs::write(prefix.with_extension("pdmodel"), &model.model).expect("it can be written");
    if !model.params.is_empty() {
        std::fs::write(prefix.with_extension("pdiparams"), &model.params).expect("it can be written");
    }
    prefix
}

/// What PaddlePaddle computes for each batch of each model, or why it does not.
fn oracle(api: &str, models: &[(PathBuf, Vec<Vec<Tensor>>)]) -> Vec<Result<Vec<Tensor>, String>> {
    let python =
        std::env::var_os("PADDLE_PYTHON").expect("PADDLE_PYTHON is the interpreter with PaddlePaddle");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/run.py");
    let mut child = Command::new(python)
        .args([script.as_os_str(), api.as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let mut input = String::new();
    for (prefix, batches) in models {
        input += &format!("model {}\n", prefix.display());
        for batch in batches {
            input.extend(batch.iter().map(|tensor| show(tensor) + "\n"));
            input.push('\n');
        }
    }
    // The script writes while it reads on.
    let mut stdin = child.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the script ends");
    writer.join().expect("it does not panic").expect("the script reads");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{api}: {}\n{err}", output.status);
    let (mut found, mut batch) = (Vec::new(), Ok(Vec::new()));
    for line in out.lines() {
        match (line, line.strip_prefix("error "), &mut batch) {
            ("", ..) => found.push(std::mem::replace(&mut batch, Ok(Vec::new()))),
            (_, Some(error), _) => batch = Err(error.to_string()),
            (_, None, Ok(outputs)) => outputs.push(parse(line)),
            (_, None, Err(_)) => {}
        }
    }
    let expected: usize = models.iter().map(|(_, batches)| batches.len()).sum();
    assert_eq!(found.len(), expected, "every batch has an answer\n{err}");
    found
}

fn show(tensor: &Tensor) -> String {
    let (kind, values): (&str, Vec<String>) = match &tensor.values {
        Values::Bool(values) => ("bool", values.iter().map(|&value| u8::from(value).to_string()).collect()),
        Values::I32(values) => ("int32", values.iter().map(i32::to_string).collect()),
        Values::I64(values) => ("int64", values.iter().map(i64::to_string).collect()),
        Values::F32(values) => ("float32", values.iter().map(f32::to_string).collect()),
        Values::F64(values) => ("float64", values.iter().map(f64::to_string).collect()),
    };
    let dims: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
    let mut dims = if dims.is_empty() { "-".to_string() } else { dims.join(",") };
    if let Some(offsets) = &tensor.offsets {
        let offsets: Vec<String> = offsets.iter().map(i64::to_string).collect();
        dims += &format!("@{}", offsets.join(","));
    }
    [kind, &dims].into_iter().chain(values.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn parse(line: &str) -> Tensor {
    let mut words = line.split(' ');
    let (kind, dims) = (words.next().expect("a type"), words.next().expect("dimensions"));
    let (dims, offsets) = dims.split_once('@').map_or((dims, None), |(dims, offsets)| (dims, Some(offsets)));
    let shape = dims.split(',').filter(|dim| *dim != "-").map(|dim| dim.parse().expect("a size")).collect();
    let offsets =
        offsets.map(|offsets| offsets.split(',').map(|at| at.parse().expect("an offset")).collect());
    fn all<T: std::str::FromStr>(words: std::str::Split<'_, char>) -> Vec<T> {
        words.map(|word| word.parse().unwrap_or_else(|_| panic!("`{word}` is not a value"))).collect()
    }
    let values = match kind {
        "bool" => Values::Bool(all::<u8>(words).into_iter().map(|value| value != 0).collect()),
        "int32" => Values::I32(all(words)),
        "int64" => Values::I64(all(words)),
        "float32" => Values::F32(all(words)),
        "float64" => Values::F64(all(words)),
        other => panic!("elements of type {other}"),
    };
    Tensor { shape, values, offsets }
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
    check("if_per_row", include_str!("../paddle-core/tests/golden/if_per_row.txt"), &batches);
}

/// A loop; loops in branches; branches in loops.
#[test]
fn loops() {
    let scalar = include_str!("../paddle-core/tests/golden/while_scalar.txt");
    check("while_scalar", scalar, &[vec![numbers(&[3, 4], 1)], vec![numbers(&[1, 4], 2)]]);
    let if_in_while = include_str!("../paddle-core/tests/golden/if_in_while.txt");
    let batch = |rows, limit| vec![numbers(&[rows, 4], rows), Tensor::f32(&[], &[limit])];
    check("if_in_while", if_in_while, &[batch(3, 2.0), batch(5, -100.0), batch(2, 0.0), batch(1, 6.0)]);
    let while_in_if = include_str!("../paddle-core/tests/golden/while_in_if.txt");
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
