//! The real PaddlePaddle, in a process of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use paddle::core::convert::Export;

use crate::support::tensor::{Tensor, Values};

/// Whether the tests are to ask it.
pub(crate) fn is_wanted() -> bool {
    let is_wanted = std::env::var("PADDLE_ORACLE").as_deref() == Ok("1");
    if !is_wanted {
        eprintln!("skipped: PADDLE_ORACLE is not 1");
    }
    is_wanted
}

/// An exported model, and what it is fed.
pub(crate) struct Case {
    /// As the script reads it.
    text: String,
    batches: usize,
}

impl Case {
    /// The model in these files.
    pub(crate) fn new(prefix: PathBuf, batches: &[Vec<Tensor>]) -> Case {
        let mut text = format!("model {}\n", prefix.display());
        for batch in batches {
            for tensor in batch {
                text += &show(tensor);
                text.push('\n');
            }
            text.push('\n');
        }
        Case { text, batches: batches.len() }
    }
}

/// Writes the files of a model, and returns their name without the ending.
pub(crate) fn write(name: &str, model: &Export) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    std::fs::create_dir_all(&directory).expect("it can be made");
    let prefix = directory.join(name);
    std::fs::write(prefix.with_extension("pdmodel"), &model.model).expect("it can be written");
    if !model.params.is_empty() {
        std::fs::write(prefix.with_extension("pdiparams"), &model.params).expect("it can be written");
    }
    prefix
}

/// The interpreters with PaddlePaddle: those that `PADDLE_PYTHON` names, separated as in `PATH`. The first has 2.6.2.
pub(crate) fn interpreters() -> Vec<PathBuf> {
    let names =
        std::env::var_os("PADDLE_PYTHON").expect("PADDLE_PYTHON is the interpreter with PaddlePaddle");
    std::env::split_paths(&names).collect()
}

/// What PaddlePaddle 2.6.2 computes for each batch of each model, or why it does not.
pub(crate) fn run(api: &str, cases: &[Case]) -> Vec<Result<Vec<Tensor>, String>> {
    run_in(&interpreters()[0], api, cases)
}

/// What the PaddlePaddle of an interpreter computes for each batch of each model, or why it does not.
pub(crate) fn run_in(python: &Path, api: &str, cases: &[Case]) -> Vec<Result<Vec<Tensor>, String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/run.py");
    let mut child = Command::new(python)
        .args([script.as_os_str(), api.as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let input: String = cases.iter().map(|case| case.text.as_str()).collect();
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
    let expected: usize = cases.iter().map(|case| case.batches).sum();
    assert_eq!(found.len(), expected, "every batch has an answer\n{err}");
    found
}

/// A tensor with the offsets of its sequences, the outer ones first.
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
    for offsets in &tensor.offsets {
        let offsets: Vec<String> = offsets.iter().map(i64::to_string).collect();
        dims += &format!("@{}", offsets.join(","));
    }
    [kind, &dims].into_iter().chain(values.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn parse(line: &str) -> Tensor {
    let mut words = line.split(' ');
    let (kind, dims) = (words.next().expect("a type"), words.next().expect("dimensions"));
    let offsets = dims.split('@').skip(1);
    let shape = dims
        .split('@')
        .next()
        .unwrap_or(dims)
        .split(',')
        .filter(|dim| *dim != "-")
        .map(|dim| dim.parse().expect("a size"))
        .collect();
    let offsets =
        offsets.map(|offsets| offsets.split(',').map(|at| at.parse().expect("an offset")).collect());
    let offsets = offsets.collect();
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
