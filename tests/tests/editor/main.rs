//! What an editor knows inside of a network, asked of rust-analyzer by its protocol. Where it is not installed
//! (`rustup component add rust-analyzer`), that is said, and nothing is tested.

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

#[test]
fn an_editor_knows_a_network() {
    let Some(mut editor) = Client::start("editor", SOURCE) else {
        // Not by `eprintln!`, which the test harness would keep to itself.
        let text =
            "\n*** SKIPPED: rust-analyzer is not installed: rustup component add rust-analyzer ***\n\n";
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
    assert!(signature.contains("fn fc(x: Var, size: Var)"), "{signature}");

    // A mistake while it is typed.
    editor.change(&SOURCE.replace("fc(h, 10)", "cf(h, 10)"));
    let mistakes = editor.mistakes();
    assert_eq!(mistakes, [(12, "there is no layer or `fn` `cf`; did you mean `fc`?".to_string())]);
}
