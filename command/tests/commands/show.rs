//! `paddle show`.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::support::{Folder, command, done, failed, fixtures, line, line_as_text};

#[test]
fn a_program_as_text() {
    let folder = Folder::new();
    let path = line(&folder);
    let text = done(format!("show {path}"));
    assert!(text.starts_with("program {\n  rows _\n  parameter line.b: f32[1]"), "{text}");
    assert!(text.contains("block 0 (x: f32[_, 2]) {\n    "), "{text}");
    // The folder has one model, and the extension may be left out.
    assert_eq!(done(format!("show {}", folder.path(""))), text);
    assert_eq!(done(format!("show {}", path.strip_suffix(".pdmodel").unwrap())), text);
    // What is shown is a model, too.
    let copy = folder.write("copy.txt", &text);
    assert_eq!(done(format!("show {copy}")), text);
}

#[test]
fn places_of_the_source() {
    let folder = Folder::new();
    let net = paddle::network!(|x: Tensor<f32, _, 2>| softmax(x));
    let wire = paddle::core::convert::to_wire(net.program().unwrap()).main.encode_to_vec();
    let path = folder.write("softmax.pdmodel", wire);
    let text = done(format!("show --places {path}"));
    assert!(text.contains("= softmax(x) [at command/tests/commands/show.rs:"), "{text}");
    assert!(!done(format!("show {path}")).contains("show.rs"));
}

#[test]
fn files_that_are_no_models() {
    let folder = Folder::new();
    let missing = folder.path("missing");
    let error = failed(format!("show {missing}"));
    assert_eq!(error, format!("error: {missing}: No such file or directory (os error 2)\n"));
    let error = failed(format!("show {}", folder.path("")));
    assert!(error.ends_with(": has no file `.pdmodel`, `.onnx`, `.json` or `__model__`\n"), "{error}");
    let path = line(&folder);
    let bytes = fs::read(&path).unwrap();
    let cut = folder.write("cut.pdmodel", &bytes[..bytes.len() / 2]);
    let error = failed(format!("show {cut}"));
    assert!(error.starts_with(&format!("error: {cut}: ")) && error.contains("byte"), "{error}");
    let error = failed(format!("show {}", folder.path("")));
    assert!(
        error.ends_with(": has 2 files `.pdmodel`, `.onnx`, `.json` or `__model__`; name one of them\n"),
        "{error}"
    );
    let error = failed(format!("show {}", folder.write("empty.pdmodel", "")));
    assert!(error.ends_with("the file is empty\n"), "{error}");
    let text = fs::read_to_string(line_as_text(&folder)).unwrap().replace("f32[_, 1]", "f32[_, 7]");
    let wrong = folder.write("wrong.txt", text);
    let error = failed(format!("show {wrong}"));
    assert!(error.starts_with(&format!("error: {wrong}: line ")) && error.contains("f32[_, 7]"), "{error}");
    assert!(failed("show").contains("Usage: paddle show"));
}

/// `paddle show model | head` ends without a message.
#[test]
fn a_reader_that_has_seen_enough() {
    let folder = Folder::new();
    // Longer than what a pipe holds.
    let text: String = (0..5_000).map(|at| format!("    y{at}: f32[_, 2] = tanh(x)\n")).collect();
    let text = format!("program {{\n  rows _\n  block 0 (x: f32[_, 2]) {{\n{text}    return y0\n  }}\n}}\n");
    let path = folder.write("long.txt", text);
    let mut child =
        command(&format!("show {path}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    for name in ["cond", "lenet", "mlp", "resnet18_w8", "seqpool_lod", "transformer_block", "while_loop"] {
        let text = done(format!("show {}", fixtures.join(name).display()));
        assert!(text.starts_with("program {") && text.ends_with("}\n"), "{text}");
    }
    // A training cannot be run, and all that is missing is listed.
    let error = failed(format!("show {}", fixtures.join("train_mlp_sgd/main.pdprogram").display()));
    assert!(error.contains("for 7 reasons:\n- block 0, operator 14 `reduce_mean_grad`"), "{error}");
}

/// A box for each input, operator and output; the operators of blocks stand between two boxes of their owner.
#[test]
fn a_program_as_a_graph() {
    let folder = Folder::new();
    let svg = done(format!("show {} --svg", line(&folder)));
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    let count = |svg: &str, what: &str| svg.matches(what).count();
    assert_eq!((count(&svg, "<rect "), count(&svg, "<polyline ")), (4, 3));
    for text in [">matmul_v2</text>", ">line.w</text>", ">f32[_, 2]</text>", ">price</text>"] {
        assert_eq!(count(&svg, text), 1, "{text}: {svg}");
    }
    // Branches, in a colour of their own, and characters that are tags in XML.
    let net = paddle::network!(|words: Seq<i64>, flag: Tensor<f32>| {
        let x = sequence_length(words);
        let y = if flag > 0.0 { x + x } else { x };
        y
    });
    let path = folder.write("branches.txt", net.program().unwrap().to_string());
    let svg = done(format!("show {path} --svg"));
    assert!(svg.contains(">Seq&lt;i64&gt;</text>") && !svg.contains("Seq<"), "{svg}");
    assert_eq!((count(&svg, ">if</text>"), count(&svg, ">end of if</text>")), (1, 1));
    // The addition takes a value from outside, and stands below the `if` nevertheless.
    assert_eq!((count(&svg, "fill=\"#e3f0ff\""), count(&svg, "<polyline ")), (1, 9), "{svg}");
    assert_eq!(done(format!("show {path} --svg")), svg);
    assert!(failed(format!("show {path} --svg --places")).contains("cannot be used with"));
    let empty = folder.write("empty.txt", "program { block 0 (x: f32[3]) { return x } }");
    assert_eq!(count(&done(format!("show {empty} --svg")), "<rect "), 2);
    let Some(fixtures) = fixtures() else { return };
    let svg = done(format!("show {} --svg", fixtures.join("while_loop").display()));
    assert_eq!((count(&svg, ">while</text>"), count(&svg, ">end of while</text>")), (1, 1));
}
