//! `paddle convert`.

use std::fs;

use ndarray::array;
use ndarray_npy::write_npy;
use paddle::network;

use crate::support::{Folder, done, failed, fixtures, line};

#[test]
fn a_model_becomes_text_and_a_model_again() {
    let folder = Folder::new();
    let (model, other) = (line(&folder), Folder::new());
    let (text, again) = (other.path("line.txt"), other.path("again.pdmodel"));
    assert_eq!(done(format!("convert {model} {text}")), "");
    assert_eq!(fs::read_to_string(&text).unwrap(), done(format!("show {model}")));
    done(format!("convert {text} {again}"));
    for path in [&text, &again] {
        assert_eq!(done(format!("diff {model} {path} --values")), "");
    }
    let x = folder.path("x.npy");
    write_npy(&x, &array![[1.0f32, 1.0]]).unwrap();
    for path in [&model, &text, &again] {
        assert_eq!(done(format!("run {path} -i x={x}")), "price: f32[1, 1]\n  [3.5]\n");
    }
}

#[test]
fn parameters_alone() {
    let folder = Folder::new();
    let (model, other) = (line(&folder), Folder::new());
    let (tensors, params) = (other.path("line.safetensors"), other.path("line.pdiparams"));
    done(format!("convert {model} {tensors}"));
    done(format!("convert {model} {params} --parameters {tensors}"));
    assert_eq!(fs::read(folder.path("line.pdiparams")).unwrap(), fs::read(params).unwrap());
    assert!(fs::metadata(other.path("line.pdmodel")).is_err());
}

#[test]
fn programs_alone() {
    let folder = Folder::new();
    let model = line(&folder);
    fs::remove_file(folder.path("line.pdiparams")).unwrap();
    let (text, again) = (folder.path("program.txt"), folder.path("again.pdmodel"));
    assert!(failed(format!("convert {model} {text}")).contains("it has 2 parameters, but neither"));
    done(format!("convert {model} {text} --program-only"));
    done(format!("convert {text} {again} --program-only"));
    assert_eq!(done(format!("diff {model} {again}")), "");
    for name in ["program.safetensors", "again.pdiparams"] {
        assert!(fs::metadata(folder.path(name)).is_err(), "{name}");
    }
    let out = folder.path("out.safetensors");
    assert!(failed(format!("convert {model} {out} --program-only")).contains("`--program-only` wants none"));
}

/// What PaddlePaddle lacks can be kept in our own operators.
#[test]
fn what_paddlepaddle_lacks() {
    let folder = Folder::new();
    let net = network!(|words: Seq<Tensor<f32, 2>>| {
        let products = sequence_products(words, words, sequence_pairs(words, words));
        products
    });
    let text = folder.write("pairs.txt", net.program().unwrap().to_string());
    let model = folder.path("pairs.pdmodel");
    let error = failed(format!("convert {text} {model}"));
    assert!(
        error.contains("`sequence_product` cannot be exported: PaddlePaddle has no pairs of tokens"),
        "{error}"
    );
    assert!(fs::metadata(&model).is_err());
    done(format!("convert {text} {model} --own"));
    assert_eq!(done(format!("diff {text} {model}")), "");
}

#[test]
fn a_model_in_onnx_computes_the_same() {
    let folder = Folder::new();
    let (model, onnx) = (line(&folder), folder.path("line.onnx"));
    assert_eq!(done(format!("convert {model} {onnx}")), "");
    let x = folder.path("x.npy");
    write_npy(&x, &array![[1.0f32, 1.0]]).unwrap();
    assert_eq!(done(format!("run {onnx} -i x={x}")), "price: f32[1, 1]\n  [3.5]\n");
    for how in ["--own", "--program-only"] {
        let error = failed(format!("convert {model} {onnx} {how}"));
        assert!(error.contains("has operators of ONNX, and values of parameters"), "{error}");
    }
}

#[test]
fn files_that_cannot_be_written() {
    let folder = Folder::new();
    let model = line(&folder);
    let error = failed(format!("convert {model} {}", folder.path("line.h5")));
    assert!(
        error.ends_with("expected the extension .pdmodel, .onnx, .txt, .safetensors or .pdiparams\n"),
        "{error}"
    );
    let before = fs::read(&model).unwrap();
    assert!(failed(format!("convert {model} {model}")).contains("the model itself would be overwritten"));
    assert_eq!(fs::read(&model).unwrap(), before);
    for name in ["no/line.pdmodel", "no/line.txt", "no/line.safetensors"] {
        let error = failed(format!("convert {model} {}", folder.path(name)));
        assert!(error.contains("no/line") && error.contains("No such file"), "{error}");
    }
    assert!(failed(format!("convert {model}")).contains("<OUT>"));
}

#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    let folder = Folder::new();
    for name in ["lenet", "lstm_classifier", "resnet18_w8", "seqpool_lod", "while_loop"] {
        let model = fixtures.join(name).display().to_string();
        let (text, own) = (folder.path(&format!("{name}.txt")), folder.path(&format!("{name}.pdmodel")));
        done(format!("convert {model} {text}"));
        done(format!("convert {text} {own} --own"));
        for path in [text, own] {
            assert_eq!(done(format!("diff {model} {path} --values")), "", "{name}");
        }
    }
}
