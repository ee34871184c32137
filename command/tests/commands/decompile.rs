//! `paddle decompile`.

use std::fs;

use paddle::language::{Options, compile_all, networks_of};

use crate::support::{Folder, done, failed, fixtures, line, line_as_text};

#[test]
fn a_model_as_source() {
    let folder = Folder::new();
    let path = line(&folder);
    let source = done(format!("decompile {path}"));
    let expected = "\
use paddle::attribute::network;

#[network]
pub mod line {
    pub fn predict(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 1> {
        let price = fc(x, 1, param = \"line\");
        price
    }
}
";
    assert_eq!(source, expected);
    // Text is a model, too.
    assert_eq!(done(format!("decompile {}", line_as_text(&folder))), expected);
    let named = done(format!("decompile {path} --name of.prices"));
    assert!(named.contains("pub mod of_prices {"), "{named}");
}

#[test]
fn into_a_file() {
    let folder = Folder::new();
    let (path, out) = (line(&folder), folder.path("line.rs"));
    assert_eq!(done(format!("decompile {path} -o {out}")), "");
    assert_eq!(fs::read_to_string(&out).unwrap(), done(format!("decompile {path}")));
    let error = failed(format!("decompile {path} -o {}/line.rs", folder.path("missing")));
    assert!(error.starts_with("error: ") && error.contains("missing/line.rs: "), "{error}");
    let missing = folder.path("missing");
    assert!(failed(format!("decompile {missing}")).starts_with(&format!("error: {missing}: ")));
}

/// All that cannot be written is told at once.
#[test]
fn what_the_language_does_not_have() {
    let folder = Folder::new();
    let text = "
program {
  rows _
  parameter line-1: f32[2, 1] = fill_constant(value=0.5)
  block 0 (x: f32[_, 2]) {
    y: f32[_, 1] = matmul_v2(x, line-1)
    a: f32[_, 1] = tanh_grad(y, y) [forward at line.rs:3:7]
    b: f32[_, 1] = tanh_grad(y, y)
    z: f32[_, 1] = elementwise_add(a, b)
    return z
  }
}
";
    let path = folder.write("line.txt", text.replace("line-1", "\".line\""));
    let error = failed(format!("decompile {path}"));
    let expected = format!(
        "error: {path}: the language has nothing for 3 parts of the program:
- block 0, operator 1 `tanh_grad` (line.rs:3:7): no layer becomes it
- block 0, operator 2 `tanh_grad`: no layer becomes it
- `.line`: a name of a parameter is not empty, and begins with no `.`
"
    );
    assert_eq!(error, expected);
}

#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    let source = done(format!("decompile {} --name lenet", fixtures.join("lenet").display()));
    for line in [
        "pub fn predict(image: Tensor<f32, _, 1, 28, 28>) -> Tensor<f32, _, 10> {",
        "let fc1 = fc(pool2d(conv2, 2), 84, act = relu, param = [\"fc_0.w_0\", \"fc_0.b_0\"]);",
    ] {
        assert!(source.contains(line), "{source}");
    }
    let found = networks_of(&source, &Options::new()).unwrap();
    let compiled = compile_all(&found[0].source, &Options::new()).unwrap().only().unwrap();
    assert!(compiled.program.find("conv2d_1.b_0").is_some());
    // A condition that is computed twice is that of the loop, and two halves are one `if`.
    let source = done(format!("decompile {} --name counted", fixtures.join("while_loop").display()));
    assert!(source.contains("while state1 < n {"), "{source}");
    let source = done(format!("decompile {} --name chosen", fixtures.join("cond").display()));
    assert_eq!(source.matches("if ").count(), 1, "{source}");
}
