//! Models in ONNX.

use std::path::Path;

use crate::support::{Folder, done, failed};

/// A model that PyTorch exported, and its inputs.
fn model(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/onnx/mlp").join(file);
    path.to_str().unwrap().to_string()
}

#[test]
fn a_model_is_shown_and_run() {
    let (onnx, folder) = (model("model.onnx"), Folder::new());
    assert!(done(format!("show {onnx}")).contains("out0: f32[_, 1]"));
    let info = done(format!("info {onnx}"));
    assert!(info.contains("values of the parameters") && info.contains("0.weight"), "{info}");
    // Its folder has one model.
    let without_name = Path::new(&onnx).parent().unwrap().display().to_string();
    let out = folder.path("out.npz");
    let inputs = model("in3.npz");
    done(format!("run {without_name} --input {inputs} -o {out}"));
    assert!(done(format!("diff {onnx} {without_name} --values")).is_empty());
}

#[test]
fn a_model_becomes_others() {
    let (onnx, folder) = (model("model.onnx"), Folder::new());
    for name in ["model.txt", "model.pdmodel"] {
        let other = folder.path(name);
        done(format!("convert {onnx} {other}"));
        done(format!("run {other} --input {}", model("in3.npz")));
    }
}

#[test]
fn what_is_no_model() {
    let folder = Folder::new();
    let path = folder.write("model.onnx", "no model");
    assert!(failed(format!("show {path}")).contains("this is not a `ModelProto`"));
}
