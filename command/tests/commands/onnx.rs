//! Models in ONNX.

use std::fs;
use std::path::Path;

use paddle::core::wire::onnx::{ModelProto, StringStringEntryProto};

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

/// What initialisers have stands in a file beside the model, as exporters write large models.
#[test]
fn a_model_with_a_file_beside_it() {
    let folder = Folder::new();
    let mut proto = ModelProto::decode(&fs::read(model("model.onnx")).unwrap()).unwrap();
    let mut data = Vec::new();
    for tensor in &mut proto.graph.initializer {
        let elements = tensor.raw_data.take().expect("PyTorch writes bytes");
        let entry = |key: &str, value: String| StringStringEntryProto {
            key: Some(key.into()),
            value: Some(value),
            ..Default::default()
        };
        tensor.external_data = vec![
            entry("location", "model.data".into()),
            entry("offset", data.len().to_string()),
            entry("length", elements.len().to_string()),
        ];
        tensor.data_location = Some(1);
        data.extend(elements);
    }
    let path = folder.write("model.onnx", proto.encode_to_vec());
    assert!(failed(format!("show {path}")).contains("model.data: cannot be read"));
    folder.write("model.data", data);
    let whole = model("model.onnx");
    assert_eq!(done(format!("show {path}")), done(format!("show {whole}")));
    assert!(done(format!("info {path} --batch 2")).contains("0.weight"));
    assert!(done(format!("diff {whole} {path} --values")).is_empty());
    let source =
        folder.write("of_file.rs", "#[network]\npub mod of_file { include_model!(\"model.onnx\"); }\n");
    done(format!("check {source}"));
}
