//! Programs as source: what is printed compiles, and to the same program.

mod corpus;
mod hostile;
mod same;

use paddle_core::ops::Program;
use paddle_language::{Options, compile, decompile, networks_of};

/// The program of the source that is printed for a program.
fn again(name: &str, program: &Program) -> Result<(String, Program), String> {
    let text = decompile(program, name).map_err(|error| error.to_string())?;
    let mut options = Options::new();
    for symbol in program.symbols().iter().filter(|symbol| symbol.outside) {
        options = options.size(&symbol.name, 6);
    }
    let found = networks_of(&text, &options).map_err(|error| format!("{error}\n{text}"))?;
    let compiled = compile(&found[0].source, &options).and_then(|compiled| compiled.only());
    match compiled {
        Ok(compiled) => Ok((text, compiled.program)),
        Err(error) => Err(format!("{error}\n{text}")),
    }
}

/// Programs that are printed as others: their loops have variables that no iteration changes, they compute with sizes that are
/// numbers, which the compiler computes with, or they put values into zeros, to which the layer adds them.
const OTHERWISE: [&str; 6] = [
    "arrays_in_blocks.rs 0 network",
    "found_and_moved.rs 1 network",
    "spread_and_masked.rs 0 network",
    "table_of_losses.rs 0 chances",
    "recommender_system_cost.txt",
    "sentiment_attention.txt",
];

#[test]
fn what_is_printed_is_the_same_program() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, program) in corpus::programs() {
        count += 1;
        match again("module", &program) {
            Ok((text, other)) => {
                let same = same::same(&program, &other);
                if let Some(why) = same.err().filter(|_| !OTHERWISE.contains(&name.as_str())) {
                    wrong.push(format!("== {name}: {why}\n{text}\n{program}"));
                }
            }
            // An operator of a user's own has no layer.
            Err(error) if name.starts_with("fourier_features") && error.contains("`custom`") => {}
            Err(error) => wrong.push(format!("== {name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 200, "{count}");
}

/// `arange` gives i64. Numbers of other types that a model counts up are an array.
#[test]
fn numbers_of_a_known_count() {
    let source = "program {
  rows _
  block 0 (x: f32[_, 3]) {
    places: i64[3] = range(start=2, step=-2)
    fractions: f32[3] = range(start=1.0, step=2.0)
    wide: f32[3] = cast(places, dtype=f32)
    all: f32[_, 3] = elementwise_add(x, wide)
    y: f32[_, 3] = elementwise_mul(all, fractions)
    return y
  }
}
";
    let (text, _) = again("module", &paddle_core::text::parse(source).unwrap()).unwrap();
    assert!(text.contains("arange(3, start = 2, step = -2)") && text.contains("[1.0, 3.0, 5.0]"), "{text}");
    let many = source.replace("[3]", "[5000]").replace("[_, 3]", "[_, 5000]");
    let error = again("module", &paddle_core::text::parse(&many).unwrap()).unwrap_err();
    assert!(error.contains("`range`: no layer becomes it"), "{error}");
}

/// Layers that are written in the language are found again.
#[test]
fn layers_of_the_library() {
    let source = "|words: Seq<Tensor<f32, 4>>, x: Tensor<f32, _, 4>| {
        let both = bidirectional_lstm(words, 3);
        let back = gru(both, 5, reset_after = true, is_reverse = true);
        let unit = gru_unit(x, sequence_pool(back, first), 5, param = \"step\");
        let (h, c) = lstm_unit(x, unit, unit, 5, peepholes = true, param = \"memory\");
        let text = for word in words { log_softmax(word) };
        (lstm(text, 2, param = \"again\"), h * c)
    }";
    let program = compile(source, &Options::new()).unwrap().only().unwrap().program;
    let (text, other) = again("module", &program).unwrap();
    same::same(&program, &other).unwrap();
    for call in [
        "let both = bidirectional_lstm(words, 3);",
        "let back = gru(both, 5, reset_after = true, is_reverse = true);",
        "let unit = gru_unit(x, sequence_pool(back, first), 5, param = \"step\");",
        "= lstm_unit(x, unit, unit, 5, peepholes = true, param = \"memory\");",
        "log_softmax(word)",
        "lstm(text, 2, param = \"again\")",
    ] {
        assert!(text.contains(call), "{call}\n{text}");
    }
    assert_eq!(text.matches("for ").count(), 1, "{text}");
}

/// What is repeated is a function, of which numbers are arguments.
#[test]
fn repetitions() {
    let source = "|image: Tensor<f32, _, 3, 32, 32>| {
        let mut h = conv2d(image, 8, 3, padding = 1, param = \"first\");
        for (i, filters, stride) in [(0, 8, 1), (1, 16, 2), (2, 16, 1), (3, 32, 2)] {
            let a = conv2d(h, filters, 3, stride = stride, padding = 1, bias = false, param = \"conv{i}_0\");
            let a = batch_norm(a, act = relu, param = \"norm{i}_0\");
            let a = conv2d(a, filters, 3, padding = 1, param = \"conv{i}_1\");
            let b = conv2d(h, filters, 1, stride = stride, param = \"side{i}\");
            h = relu(a + b);
        }
        softmax(fc(global_pool2d(h), 10, param = \"classes\"))
    }";
    let program = compile(source, &Options::new()).unwrap().only().unwrap().program;
    let (text, other) = again("module", &program).unwrap();
    same::same(&program, &other).unwrap();
    let (function, network) = text.split_once("pub fn predict").unwrap();
    assert!(
        function.contains("    fn block1(x: _, filters: usize, stride: usize, n: usize) -> _ {"),
        "{text}"
    );
    assert!(function.contains("param = \"norm{n}_0\"") && function.contains("relu("), "{text}");
    assert_eq!((network.matches("block1(").count(), network.matches("conv2d(").count()), (1, 1), "{text}");
    let calls = "for (filters, stride, n) in [(8, 1, 0), (16, 2, 1), (16, 1, 2), (32, 2, 3)] {";
    assert!(network.contains(calls) && network.contains("h = block1(h, filters, stride, n);"), "{text}");
}

/// Sizes of PaddlePaddle's variables have names that the language does not have.
#[test]
fn sizes_of_other_names() {
    let text = "
program {
  rows _
  size \"ids[1]\"
  parameter words.w: f32[9, 4] = uniform_random(min=-0.5, max=0.5)
  block 0 (ids: i64[_, \"ids[1]\"]) {
    x: f32[_, \"ids[1]\", 4] = lookup_table_v2(ids, words.w)
    y: f32[_, \"ids[1]\", 2, 2] = reshape2(x, dims=[\"ids[1]\", 2, 2])
    z: f32[_, 2, \"ids[1]\", 2] = transpose2(y, perm=[0, 2, 1, 3])
    return z
  }
}
";
    let program = paddle_core::text::parse(text).unwrap();
    let (text, other) = again("module", &program).unwrap();
    for line in [
        "pub fn predict(ids: Tensor<i64, _, T>) -> Tensor<f32, _, 2, T, 2> {",
        "let y = reshape(x, [T, 2, 2]);",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(other.inputs().len(), 1);
}

/// An operator that changes a value gives nothing, and is not left out.
#[test]
fn what_changes_values() {
    let text = "
program {
  rows _
  parameter w: f32[2] = fill_constant(value=0.5)
  block 0 (x: f32[2], lr: f32[1]) {
    y: f32[2] = elementwise_add(x, w)
    sgd(w, x, lr)
    return y
  }
}
";
    let error = decompile(&paddle_core::text::parse(text).unwrap(), "module").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the language has nothing for block 0, operator 1 `sgd`: no layer becomes it"
    );
}

/// A number of rows, which the language has no name for, is what is left in a shape.
#[test]
fn rows_in_a_shape() {
    let source = "|x: Tensor<f32, _, 6>| { let all = reshape(all_rows(x), [-1, 3, 2]); sum(all, axis = 2) }";
    let program = compile(source, &Options::new()).unwrap().only().unwrap().program;
    let (text, other) = again("module", &program).unwrap();
    same::same(&program, &other).unwrap();
    assert!(text.contains("reshape(all_rows(x), [-1, 3, 2])"), "{text}");
}

/// What is read beside a layer of the library is no part of it, and what is read in a loop stands in front of it.
#[test]
fn what_is_read_elsewhere() {
    let source = "|x: Tensor<f32, _, 6>, n: Tensor<i64>| {
        let shifted = x - max(x, axis = -1, keep_dim = true);
        let scale = x * 0.5;
        let mut h = x;
        let mut i = 0;
        while i < n {
            h = h + scale;
            i += 1;
        }
        (h - log(sum(exp(shifted), axis = -1, keep_dim = true)), shifted - log(sum(exp(shifted), axis = -1, keep_dim = true)), shifted)
    }";
    let program = compile(source, &Options::new()).unwrap().only().unwrap().program;
    let (text, other) = again("module", &program).unwrap();
    same::same(&program, &other).unwrap();
    assert!(!text.contains("log_softmax"), "{text}");
    assert!(text.contains("let product1 = x * 0.5;"), "{text}");
}

/// What reads other values is no repetition.
#[test]
fn repetitions_of_other_values() {
    let source = "|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>| {
        let mut h = x;
        for i in 0..8 {
            let other = if i % 2 == 0 { h } else { y };
            let a = fc(h, 4, act = tanh, param = \"a{i}\");
            let b = fc(other, 4, act = tanh, param = \"b{i}\");
            h = relu(a * b) + relu(a - b);
        }
        h
    }";
    let program = compile(source, &Options::new()).unwrap().only().unwrap().program;
    let (text, other) = again("module", &program).unwrap();
    same::same(&program, &other).unwrap();
    assert!(text.contains("fn block1("), "{text}");
}
