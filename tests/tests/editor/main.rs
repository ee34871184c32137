//! What an editor knows inside of a network, asked of rust-analyzer by its protocol. Where it is not installed
//! (`rustup component add rust-analyzer rust-src`), that is said, and nothing is tested.

mod client;

#[path = "../support/rustc.rs"]
#[allow(dead_code)]
mod rustc;

use std::io::Write;

use client::Client;

const SOURCE: &str = r#"use paddle::attribute::network;

#[network]
pub mod model {
    fn hidden(x: _) -> _ {
        fc(x, 16, act = relu)
    }

    pub fn cost(image: Tensor<f32, _, 784>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let h = hidden(image);
        let pooled = sequence_pool(sequence(reshape(h, [4, 4])), max);
        let logits = fc(h, 10);
        mean(softmax_with_cross_entropy(logits, label)) + mean(pooled)
    }
}

fn main() {
    let _ = model::cost();
    let _ = paddle::network!(|x: Tensor<f32, _, 4>| {
        let inner = fc(x, 8, act = tanh);
        softmax(inner)
    });
}
"#;

const TYPES: &str = r#"use paddle::network;

#[network::module]
pub mod model {
    fn hidden(x: _) -> _ {
        let inside = fc(x, 16);
        tanh(inside)
    }

    pub fn cost(image: Tensor<f32, _, 784>, words: Seq<i64>, long: Tensor<f32, _, T, 4>) -> Tensor<f32> {
        let vectors = embedding(words, [20, 8]);
        let mut state = zeros(8);
        for vector in vectors {
            state = tanh(state + vector);
        }
        let (last, pair) = (hidden(state), (image, 3));
        let cost = mean(hidden(pair.0, param = "image") + last) + mean(long);
        cost
    }
}

fn main() {
    let _ = network!(|x: Tensor<f32, _, 4>| {
        let inner = fc(x, 8);
        softmax(inner)
    });
}
"#;

#[test]
fn an_editor_knows_a_network() {
    let Some(mut editor) = Client::start("editor", SOURCE) else {
        // Not by `eprintln!`, which the test harness would keep to itself.
        let text = "\n*** SKIPPED: rust-analyzer is not installed: rustup component add rust-analyzer rust-src ***\n\n";
        std::io::stderr().lock().write_all(text.as_bytes()).unwrap();
        return;
    };

    // Names are completed by what is there, also where the line is half typed.
    for (typed, cursor, wanted) in [
        (SOURCE.replace("fc(h, 10)", "f"), "let logits = f", &["fc", "lstm", "h", "image", "hidden"][..]),
        (SOURCE.replace("fc(h, 10);", "f"), "let logits = f", &["fc", "lstm", "h", "image", "hidden"]),
        (SOURCE.replace("fc(h, 10)", "fc(i)"), "= fc(i", &["image", "h"]),
        (SOURCE.replace("fc(h, 10)", "fc(h, 10, a)"), "fc(h, 10, a", &["act", "axis", "param", "bias_init"]),
        (SOURCE.replace("act = relu", "act = re"), "act = re", &["relu", "tanh"]),
        (SOURCE.replace(", max)", ", la)"), ")), la", &["last", "average"]),
        (SOURCE.replace("act = tanh", "act = ta"), "act = ta", &["tanh"]),
        (SOURCE.replace("softmax(inner)", "softmax(inn)"), "softmax(inn", &["inner", "x"]),
        // Nothing is typed yet.
        (SOURCE.replace("fc(h, 10)", "fc(h, 10, act = )"), "10, act = ", &["relu", "tanh", "h"]),
        (SOURCE.replace("fc(h, 10)", "fc(h, 10, init = )"), "10, init = ", &["normal", "xavier"]),
        (SOURCE.replace("fc(h, 10)", "fc(h, 10, param = )"), "10, param = ", &["h", "image"]),
        (SOURCE.replace("act = tanh", "act = "), "fc(x, 8, act = ", &["tanh"]),
        (SOURCE.replace("fc(h, 10)", "fc()"), "let logits = fc(", &["h", "image"]),
        (SOURCE.replace("fc(h, 10)", "fc(h, )"), "= fc(h, ", &["h", "act", "axis"]),
        (SOURCE.replace("fc(h, 10)", "fc(h, 10, )"), "fc(h, 10, ", &["h", "act", "param"]),
        (
            SOURCE.replace("fc(h, 10);", "fc(h, 10);\n        "),
            "fc(h, 10);\n        ",
            &["fc", "lstm", "logits", "hidden"],
        ),
        (SOURCE.replace("fc(h, 10);", ""), "let logits = ", &["fc", "h", "hidden"]),
        (SOURCE.replace("softmax(inner)", "softmax()"), "softmax(", &["inner"]),
        (
            SOURCE.replace("        softmax(inner)\n", "        \n"),
            "act = tanh);\n        ",
            &["inner", "softmax"],
        ),
    ] {
        let found = editor.complete(&typed, cursor);
        for name in wanted {
            assert!(found.iter().any(|label| label == name), "`{name}` behind `{cursor}`: {found:?}");
        }
    }

    // What is under the mouse.
    editor.change(SOURCE);
    assert!(editor.hover("fc(h, 10)").contains("Fully connected"));
    assert!(editor.hover("relu)").contains("max(x, 0)"));
    assert!(editor.hover("act = relu").contains("What to apply to the result."));
    assert_eq!(
        editor.definition("logits, label"),
        SOURCE[..SOURCE.find("logits = fc").unwrap()].lines().count()
    );
    assert_eq!(
        editor.definition("hidden(image)"),
        SOURCE[..SOURCE.find("hidden(x: _)").unwrap()].lines().count()
    );
    let signature = editor.signature("fc(h, 10)", 3);
    assert!(signature.contains("fn fc(x: Tensor<f32, __, 16>, size: "), "{signature}");
    assert!(editor.hover("+ mean(pooled)").contains("The sum"));

    // What variables are.
    editor.change(TYPES);
    for (variable, ty) in [
        ("x: _", "Tensor<f32, __, Any>"),
        ("inside =", "Tensor<f32, __, 16>"),
        ("image:", "Tensor<f32, __, 784>"),
        ("words:", "Seq<i64>"),
        ("long:", "Tensor<f32, __, T, 4>"),
        ("vectors =", "Seq<Tensor<f32, 8>>"),
        ("state =", "Tensor<f32, 8>"),
        ("vector in", "Tensor<f32, __, 8>"),
        ("state)", "Tensor<f32, 8>"),
        ("last, pair", "Tensor<f32, __, 16>"),
        ("pair) =", "(Tensor<f32, __, 784>, i64)"),
        ("cost = mean", "Tensor<f32>"),
        ("inner =", "Tensor<f32, __, 8>"),
    ] {
        let found = editor.hover(variable);
        let found = found.lines().find(|line| line.contains(": ")).unwrap_or_default();
        assert!(found.ends_with(&format!(": {ty}")), "`{variable}` is `{found}`");
    }
    // One mistake takes the types of what depends on it, and no others.
    editor.change(&TYPES.replace("embedding(words, ", "embedding(word, "));
    assert!(editor.hover("vectors =").contains("let vectors: Var"));
    assert!(editor.hover("pair) =").contains("let pair: (Tensor<f32, __, 784>, i64)"));

    // A mistake while it is typed.
    editor.change(&SOURCE.replace("fc(h, 10)", "cf(h, 10)"));
    let mistakes = editor.mistakes();
    assert_eq!(mistakes, [(12, "there is no layer or `fn` `cf`; did you mean `fc`?".to_string())]);
}
