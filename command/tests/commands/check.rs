//! `paddle check`.

use std::fs;
use std::path::Path;

use crate::support::{Folder, Ran, failed, fixtures, line, paddle};

const FILE: &str = "\
use paddle::attribute::network;

#[network]
mod line {
    pub fn price(x: Tensor<f32, _, 2>) -> _ {
        fc(x, 1, act = rely)
    }
}

fn main() {
    let double = paddle::network!(|x: Tensor<f32, _>| x * 2.0);
}
";

/// What is printed, with the exit code.
#[track_caller]
fn checked(line: String, code: i32) -> String {
    let Ran { code: found, out, err } = paddle(&line);
    assert_eq!((found, err.as_str()), (code, ""), "{line}\n{out}");
    out
}

#[test]
fn mistakes_as_rustc_prints_them() {
    let folder = Folder::new();
    let path = folder.write("line.rs", FILE);
    let expected = format!(
        "error: there is no activation `rely`; did you mean `relu`?\n \
         --> {path}:6:24\n  \
           |\n\
         6 |         fc(x, 1, act = rely)\n  \
           |                        ^^^^\n\
         \n\
         {path}: 1 network, 1 error, 0 warnings\n"
    );
    assert_eq!(checked(format!("check {path}"), 1), expected);
    let right = folder.write("right.rs", FILE.replace("rely", "relu"));
    assert_eq!(checked(format!("check {right}"), 0), format!("{right}: 2 networks, 0 errors, 0 warnings\n"));
    // The line is that of the file, with what stands around the network.
    let beside = folder.write("beside.rs", "fn f() { g(paddle::network!(|x: Tensor<f32, _>| x + y)); }");
    let found = checked(format!("check {beside}"), 1);
    assert!(found.contains("\n1 | fn f() { g(paddle::network!(|x: Tensor<f32, _>| x + y)); }\n"), "{found}");
    // One wrong file of several is enough.
    let both = checked(format!("check {path} {right}"), 1);
    assert!(both.starts_with(&expected) && both.ends_with(": 2 networks, 0 errors, 0 warnings\n"), "{both}");
}

/// What rustc is known to print for wrong models of the tests: the same text, place and drawing.
#[test]
fn wrong_models_of_the_other_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/compile_fail");
    for name in ["activation_of_a_call", "branch_shape", "recursion", "several"] {
        let expected = folder.join(name).with_extension("stderr");
        let Ok(expected) = fs::read_to_string(expected) else { panic!("there is no case `{name}`") };
        let source = folder.join(name).with_extension("rs");
        let found = checked(format!("check {}", source.display()), 1);
        let found = found.replace(&folder.display().to_string(), "tests/compile_fail");
        assert!(found.starts_with(expected.trim_end()), "{found}\n{expected}");
    }
}

#[test]
fn what_only_rustc_knows() {
    let folder = Folder::new();
    let path = folder.write(
        "wide.rs",
        "#[network] mod wide { pub fn f(x: Tensor<f32, _, crate::WIDTH>) -> _ { fc(x, 1) } }",
    );
    let found = checked(format!("check {path}"), 0);
    assert!(found.starts_with("warning: the value of `crate::WIDTH` is of the code around"), "{found}");
    assert!(found.contains("note: `--size NAME=VALUE` gives what only rustc knows"), "{found}");
    let found = checked(format!("check {path} --size crate::WIDTH=3"), 0);
    assert_eq!(found, format!("{path}: 1 network, 0 errors, 0 warnings\n"));
    let parts = folder.write(
        "parts.rs",
        "fn f() {} #[network] mod parts { pub fn twice(x: Tensor<f32, _>) -> _ { x + x } }",
    );
    let import =
        "#[network] mod a { use crate::parts::twice; pub fn f(x: Tensor<f32, _>) -> _ { twice(x) } }";
    let path = folder.write("import.rs", import);
    let found = checked(format!("check {path}"), 1);
    assert!(found.contains("note: `--source PATH=FILE` gives the file of a module"), "{found}");
    let found = checked(format!("check {path} --source crate::parts={parts}"), 0);
    assert_eq!(found, format!("{path}: 1 network, 0 errors, 0 warnings\n"));
    // Modules of one file find each other.
    let both = folder.write("both.rs", format!("{}\n{import}", fs::read_to_string(&parts).unwrap()));
    assert!(checked(format!("check {both}"), 0).contains("both.rs: 2 networks, 0 errors"));
    let path =
        folder.write("cfg.rs", "#[network] mod a { #[cfg(unix)] pub fn f(x: Tensor<f32, _>) -> _ { g(x) } }");
    assert!(checked(format!("check {path} --cfg unix"), 1).contains("`g`"));
    assert!(failed(format!("check {path} --size WIDTH")).contains("expected NAME=VALUE"));
    assert!(failed(format!("check {path} --size WIDTH=wide")).contains("expected a number of elements"));
    assert!(failed(format!("check {path} --source WIDTH")).contains("expected PATH=FILE"));
}

#[test]
fn sources_of_other_kinds() {
    let folder = Folder::new();
    let bare = folder.write("bare.rs", "|x: Tensor<f32, _, 2>| fc(x, 1)");
    assert!(checked(format!("check {bare} --bare"), 0).contains("1 network, 0 errors"));
    assert!(checked(format!("check {bare}"), 0).contains("0 networks, 0 errors"));
    let open = folder.write("open.rs", "fn f() {\n    g(");
    let found = checked(format!("check {open}"), 1);
    assert!(found.contains("does not end") && found.contains("open.rs:2:6"), "{found}");
    let error = failed(format!("check {}", folder.path("missing.rs")));
    assert!(error.contains("missing.rs: No such file"), "{error}");
    let binary = folder.write("binary.rs", [0xff, 0xfe]);
    assert!(failed(format!("check {binary}")).contains("valid UTF-8"));
}

#[test]
fn models() {
    let folder = Folder::new();
    let path = line(&folder);
    assert_eq!(
        checked(format!("check {path}"), 0),
        format!("{path}: 2 operators, 2 parameters, no problems\n")
    );
    let values = fs::read(folder.path("line.pdiparams")).unwrap();
    folder.write("line.pdiparams", &values[1..]);
    assert!(checked(format!("check {path}"), 1).contains("line.pdiparams: "));
    let text = folder
        .write("wrong.txt", "program { rows _ block 0 (x: f32[_, 3]) { y: f32[_] = tanh(x) return y } }");
    assert!(checked(format!("check {text}"), 1).contains("wrong.txt: line 1, column 43: `y` is f32[_] here"));
    assert!(failed(format!("check {}", folder.path("missing"))).contains("missing: No such file"));
    let Some(fixtures) = fixtures() else { return };
    let found = checked(format!("check {}", fixtures.join("train_mlp_sgd/main.pdprogram").display()), 1);
    assert!(found.contains("for 7 reasons:\n- block 0, operator 14 `reduce_mean_grad`"), "{found}");
    assert!(checked(format!("check {}", fixtures.join("resnet18_w8").display()), 0).contains("no problems"));
}
