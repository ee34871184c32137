//! A model that PaddlePaddle saved, loaded and run as a user does it. The files are kept beside the repository.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::fs;
use std::path::PathBuf;

use ndarray::{Array, IxDyn};
use paddle::{Batch, Error, infer, load_inference_model};
use support::npz;
use support::tensor::{Tensor, Values};

fn fixture() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures/mlp");
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    }
    path.is_dir().then_some(path)
}

fn array(tensor: &Tensor) -> Array<f32, IxDyn> {
    let Values::F32(elements) = &tensor.values else { panic!("the fixture is of f32") };
    Array::from_shape_vec(IxDyn(&tensor.shape), elements.clone()).unwrap()
}

#[test]
fn a_model_and_its_parameters() {
    let Some(path) = fixture() else { return };
    let [model, params] = ["model.pdmodel", "model.pdiparams"].map(|name| fs::read(path.join(name)).unwrap());
    let (net, parameters) = load_inference_model(&model, &params).unwrap();
    let mut batch = Batch::new(&net).unwrap();
    for (name, tensor) in npz::read(&path.join("inputs.npz")) {
        batch.set(&name, &array(&tensor)).unwrap();
    }
    let outputs = infer(&net, &parameters, &batch).unwrap();
    let expected = array(&npz::read(&path.join("outputs.npz"))["out0"]);
    let found = outputs.at::<f32>(0).unwrap();
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5 + 1e-4 * expected.abs(), "{found} is not {expected}");
    }
}

/// Every beginning of the files, and one byte too many, is an error.
#[test]
fn files_that_are_cut_off() {
    let Some(path) = fixture() else { return };
    let [model, params] = ["model.pdmodel", "model.pdiparams"].map(|name| fs::read(path.join(name)).unwrap());
    assert!((1..model.len()).step_by(7).all(|end| load_inference_model(&model[..end], &params).is_err()));
    assert!((0..params.len()).step_by(997).all(|end| load_inference_model(&model, &params[..end]).is_err()));
    let longer = [&params[..], &[0]].concat();
    assert!(matches!(load_inference_model(&model, &longer), Err(Error::Convert(_))));
}
