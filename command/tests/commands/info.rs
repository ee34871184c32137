//! `paddle info`.

use paddle::network;
use serde_json::{Value, json};

use crate::support::{Folder, done, failed, fixtures, line, line_as_text};

#[test]
fn what_a_model_takes_gives_and_has() {
    let folder = Folder::new();
    let path = line(&folder);
    let text = done(format!("info {path}"));
    let expected = format!(
        "program: {path}\n\
         values of the parameters: {}\n\
         \n\
         inputs\n  x  f32[_, 2]\n\
         \n\
         outputs\n  price  f32[_, 1]\n\
         \n\
         parameters: 2, of 3 elements in 12 B\n  4 B  line.b  f32[1]\n  8 B  line.w  f32[2, 1]\n\
         \n\
         operators: 2\n  1  elementwise_add\n  1  matmul_v2\n",
        folder.path("line.pdiparams")
    );
    assert_eq!(text, expected);
}

#[test]
fn what_a_batch_costs() {
    let folder = Folder::new();
    let value = |line: String| -> Value { serde_json::from_str(&done(line)).unwrap() };
    let found = value(format!("info {} --batch 8 --json", line_as_text(&folder)));
    // 8 rows of 2 products, and a bias.
    let (all, groups) = (&found["cost"]["all"], &found["cost"]["groups"]);
    assert_eq!((&all["operations"], &found["cost"]["rows"]), (&json!(8 * 5), &json!(8)));
    assert_eq!(groups["matmul_v2 + elementwise_add"]["launches"], json!(1));
    let text = done(format!("info {} --batch 1", folder.path("line.txt")));
    assert!(text.contains("\na batch of 1 row on the CPU\n"), "{text}");
    // Sequences have the length that was asked for: an addition for each token.
    let net = network!(|words: Seq<Tensor<f32, 4>>| {
        let sum = sequence_pool(words, sum);
        sum
    });
    let path = folder.write("pool.txt", net.program().unwrap().to_string());
    let operations = |length: u64| {
        let found = value(format!("info {path} --batch 2 --length {length} --json"));
        found["cost"]["all"]["operations"].as_u64().unwrap()
    };
    assert_eq!(operations(10), 10 * operations(1));
    // So do sequences of sequences, at both levels.
    let net = network!(|text: Seq<Seq<Tensor<f32, 4>>>| {
        let twice = text * 2.0;
        twice
    });
    let path = folder.write("nested.txt", net.program().unwrap().to_string());
    let found = value(format!("info {path} --batch 2 --length 10 --json"));
    assert_eq!(found["cost"]["all"]["operations"], json!(2 * 10 * 10 * 4));
}

#[test]
fn machines_read_json() {
    let folder = Folder::new();
    let net = network!(|words: Seq<i64>, x: Tensor<f32, _, 2, T>| (sequence_length(words), mean(x)));
    let path = folder.write("two.txt", net.program().unwrap().to_string());
    let found: Value = serde_json::from_str(&done(format!("info {path} --json"))).unwrap();
    let words = json!({
        "name": "words", "dtype": "i64", "batched": true, "levels": 1, "dims": [], "type": "Seq<i64>",
    });
    assert_eq!(found["inputs"][0], words);
    assert_eq!(found["inputs"][1]["dims"], json!([2, null]));
    assert_eq!(found["outputs"][1]["batched"], json!(false));
    assert_eq!(found["parameters"], json!({ "count": 0, "elements": 0, "bytes": 0, "all": [] }));
    assert_eq!(found["values"], Value::Null);
}

#[test]
fn arguments_that_do_not_fit() {
    let folder = Folder::new();
    let path = line(&folder);
    assert!(failed(format!("info {path} --batch 0")).contains("0 is not in 1.."));
    assert!(failed(format!("info {path} --length 3")).contains("--batch <ROWS>"));
    std::fs::remove_file(folder.path("line.pdiparams")).unwrap();
    assert!(done(format!("info {path}")).contains("parameters: 2, of 3 elements"));
    let error = failed(format!("info {path} --batch 1"));
    assert!(
        error.contains("it has 2 parameters, but neither") && error.contains("--parameters FILE"),
        "{error}"
    );
}

#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    for (name, elements) in [("lenet", 37_106), ("mlp", 52_650), ("textcnn", 4_451), ("while_loop", 16)] {
        let line = format!("info {} --batch 3 --length 4 --json", fixtures.join(name).display());
        let found: Value = serde_json::from_str(&done(line)).unwrap();
        assert_eq!(found["parameters"]["elements"], json!(elements), "{name}");
        assert!(found["cost"]["all"]["operations"].as_u64().unwrap() > 0, "{name}");
    }
}
