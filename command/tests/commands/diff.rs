//! `paddle diff`.

use std::fs;

use ndarray::array;
use paddle::{Parameters, network};

use crate::support::{Folder, done, failed, fixtures, line, line_as_text, paddle};

/// What is printed about models that differ.
#[track_caller]
fn differs(line: String) -> String {
    let ran = paddle(&line);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{line}\n{}", ran.out);
    ran.out
}

#[test]
fn names_of_values_and_initialisers_are_no_difference() {
    let folder = Folder::new();
    let (model, text) = (line(&folder), line_as_text(&folder));
    let program = fs::read_to_string(&text).unwrap();
    assert!(program.contains("uniform_random(") && program.contains("matmul_v2:"), "{program}");
    assert_eq!(done(format!("diff {model} {text}")), "");
    let renamed = folder.write(
        "renamed.txt",
        program.replace("matmul_v2: ", "product: ").replace("(matmul_v2,", "(product,"),
    );
    assert_eq!(done(format!("diff {renamed} {text}")), "");
}

#[test]
fn what_differs_is_shown_by_sections() {
    let folder = Folder::new();
    let text = line_as_text(&folder);
    let net = network!(|x: Tensor<f32, _, 3>| {
        let price = fc(x, 1, param = "line", act = tanh);
        price
    });
    let other = folder.write("other.txt", net.program().unwrap().to_string());
    let expected = "\
@ inputs
- x: f32[_, 2]
+ x: f32[_, 3]
@ parameters
  line.b: f32[1]
- line.w: f32[2, 1]
+ line.w: f32[3, 1]
@ operators
  value.0: f32[_, 1] = matmul_v2(x, line.w)
  value.1: f32[_, 1] = elementwise_add(value.0, line.b)
- return value.1
+ value.2: f32[_, 1] = tanh(value.1)
+ return value.2
";
    let found = differs(format!("diff {text} {other}"));
    // The return has the same key in both.
    assert_eq!(
        found,
        expected.replace("- return value.1\n", "").replace("+ return value.2\n", "  return value.1\n")
    );
}

/// If only the values differ that operators take, their numbers are compared.
#[test]
fn wiring() {
    let folder = Folder::new();
    let program = |operand: &str| {
        format!(
            "program {{ rows _ block 0 (x: f32[_, 3]) {{\n a: f32[_, 3] = tanh(x)\n b: f32[_, 3] = tanh(x)\n \
             c: f32[_, 3] = relu({operand})\n return c }} }}"
        )
    };
    let (first, second) = (folder.write("a.txt", program("a")), folder.write("b.txt", program("b")));
    let found = differs(format!("diff {first} {second}"));
    let shown = "- value.2: f32[_, 3] = relu(value.0)\n+ value.2: f32[_, 3] = relu(value.1)\n";
    assert!(found.starts_with("@ operators\n") && found.contains(shown), "{found}");
}

#[test]
fn values() {
    let folder = Folder::new();
    let other = Folder::new();
    let (a, b) = (line(&folder), line(&other));
    assert_eq!(done(format!("diff {a} {b} --values")), "");
    let (net, mut parameters) = paddle::Network::load(&b).unwrap();
    parameters.set("line.w", &array![[1.25f32], [f32::NAN]]).unwrap();
    net.save(&b, &parameters).unwrap();
    assert_eq!(done(format!("diff {a} {b}")), "");
    let found = differs(format!("diff {a} {b} --values"));
    assert_eq!(
        found,
        "values, with the largest difference of each parameter\n  inf  line.w  f32[2, 1]  element 1: 2 and NaN\n"
    );
    parameters.set("line.w", &array![[1.25f32], [2.0]]).unwrap();
    net.save(&b, &parameters).unwrap();
    let found = differs(format!("diff {a} {b} --values"));
    assert!(found.ends_with("  2.500e-1  line.w  f32[2, 1]  element 0: 1 and 1.25\n"), "{found}");
    assert_eq!(done(format!("diff {a} {b} --values --tolerance 0.25")), "");
    assert!(failed(format!("diff {a} {b} --tolerance 0.25")).contains("--values"));
}

#[test]
fn models_that_cannot_be_compared() {
    let folder = Folder::new();
    let path = line(&folder);
    assert!(failed(format!("diff {path} {}", folder.path("missing"))).contains("missing: No such file"));
    assert!(failed(format!("diff {path}")).contains("<SECOND>"));
    // Without values there is nothing to compare.
    let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "line"));
    let text = folder.write("bare.txt", net.program().unwrap().to_string());
    assert!(failed(format!("diff {text} {text} --values")).contains("it has 2 parameters, but neither"));
    assert_eq!(Parameters::create(&net).unwrap().len(), 2);
}

#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    let path = |name: &str| fixtures.join(name).display().to_string();
    assert_eq!(done(format!("diff {} {} --values", path("cond"), path("cond"))), "");
    let found = differs(format!("diff {} {}", path("mlp"), path("lenet")));
    assert!(found.contains("- x: f32[_, 784]\n+ image: f32[_, 1, 28, 28]\n"), "{found}");
}
