//! Files of before, in which the layer in an argument has the name of the binding, and the layer around it that with a number.

use std::fs;
use std::path::PathBuf;

use ndarray::array;
use paddle::{Adam, Load, Parameters, Trainer, checkpoint, infer};

/// The names that the layers of [`now`] had.
#[paddle::attribute::network]
mod before {
    pub fn net(x: Tensor<f32, _, 2>, words: Tensor<i64, _, 3>) -> Tensor<f32, _, 2> {
        let h = fc(tanh(fc(fc(x, 2, param = "h"), 2, param = "h_1")), 2, param = "h_2");
        let read = fc(reshape(embedding(words, [4, 2], param = "read"), [6]), 2, param = "read_1");
        let out = layer_norm(h + read, param = "out");
        fc(out, 2, param = "out_1")
    }

    pub fn cost(x: Tensor<f32, _, 2>, words: Tensor<i64, _, 3>) -> Tensor<f32> {
        mean(square(net(x, words) - x))
    }
}

#[paddle::attribute::network]
mod now {
    pub fn net(x: Tensor<f32, _, 2>, words: Tensor<i64, _, 3>) -> Tensor<f32, _, 2> {
        let h = fc(tanh(fc(fc(x, 2), 2)), 2);
        let read = fc(reshape(embedding(words, [4, 2]), [6]), 2);
        let out = fc(layer_norm(h + read), 2);
        out
    }

    pub fn cost(x: Tensor<f32, _, 2>, words: Tensor<i64, _, 3>) -> Tensor<f32> {
        let h = fc(tanh(fc(fc(x, 2), 2)), 2);
        let read = fc(reshape(embedding(words, [4, 2]), [6]), 2);
        let out = fc(layer_norm(h + read), 2);
        mean(square(out - x))
    }
}

/// Layers of the library make names of several parts.
mod library {
    #[paddle::attribute::network]
    pub mod before {
        pub fn net(x: Seq<i64>) -> Tensor<f32, _, 4> {
            sequence_pool(lstm(embedding(x, [10, 3], param = "read"), 4, param = "read"), last)
        }
    }

    #[paddle::attribute::network]
    pub mod now {
        pub fn net(x: Seq<i64>) -> Tensor<f32, _, 4> {
            let read = lstm(embedding(x, [10, 3]), 4);
            sequence_pool(read, last)
        }
    }
}

fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paddle-former-{}-{name}", std::process::id()));
    for path in [&path, &checkpoint::previous(&path)] {
        let _ = fs::remove_file(path);
    }
    path
}

fn parameters(seed: u64) -> Parameters {
    Parameters::create_with_seed(&now::net(), seed).unwrap()
}

/// What the network gives for one row, which depends on each parameter.
fn given(parameters: &Parameters) -> Vec<f32> {
    let row = now::net().row([0.5, -2.0], [1, 2, 3]);
    infer(&now::net(), parameters, [row]).unwrap().at::<f32>(0).unwrap().iter().copied().collect()
}

#[test]
fn a_file_of_before_is_read() {
    let path = path("before");
    let before = Parameters::create_with_seed(&before::net(), 3).unwrap();
    let row = before::net().row([0.5, -2.0], [1, 2, 3]);
    let expected = infer(&before::net(), &before, [row]).unwrap();
    let expected: Vec<f32> = expected.at::<f32>(0).unwrap().iter().copied().collect();
    before.save(&path).unwrap();
    for load in [Load::Strict, Load::Intersect] {
        let mut parameters = parameters(8);
        let report = parameters.load(&path, load).unwrap();
        assert_eq!((report.loaded, report.missing, report.extra), (13, vec![], vec![]));
        assert_eq!(given(&parameters), expected);
        let pairs =
            [("h_fc", "h"), ("h_fc_1", "h_1"), ("h", "h_2"), ("read_embedding", "read"), ("out", "out_1")];
        for (now, then) in pairs.map(|(now, then)| (format!("{now}.w"), format!("{then}.w"))) {
            assert_eq!(parameters.get::<f32>(&now).unwrap(), before.get::<f32>(&then).unwrap(), "{now}");
        }
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_of_now_is_read_by_its_names() {
    let path = path("now");
    let saved = parameters(3);
    saved.save(&path).unwrap();
    let mut loaded = parameters(8);
    loaded.load(&path, Load::Strict).unwrap();
    assert_eq!(given(&loaded), given(&saved));
    fs::remove_file(&path).unwrap();
}

/// A smaller network of now has one of the names: it is not taken for one of before.
#[test]
fn a_part_of_now_is_read_by_its_names() {
    let path = path("part");
    let small = paddle::network!(|x: Tensor<f32, _, 2>| {
        let h = fc(x, 2, init = constant(0.25));
        h
    });
    Parameters::create(&small).unwrap().save(&path).unwrap();
    let mut parameters = parameters(8);
    let inner = parameters.get::<f32>("h_fc.w").unwrap();
    let report = parameters.load(&path, Load::Intersect).unwrap();
    assert_eq!(report.loaded, 2);
    assert_eq!(parameters.get::<f32>("h.w").unwrap(), array![[0.25, 0.25], [0.25, 0.25]].into_dyn());
    assert_eq!(parameters.get::<f32>("h_fc.w").unwrap(), inner);
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_missing_parameter_is_told_by_its_name() {
    let path = path("missing");
    let other = paddle::network!(|x: Tensor<f32, _, 2>| fc(x, 2, param = "other"));
    Parameters::create(&other).unwrap().save(&path).unwrap();
    let error = parameters(8).load(&path, Load::Strict).unwrap_err().to_string();
    assert!(error.contains("`h_fc.w`") && !error.contains("h_2"), "{error}");
    fs::remove_file(&path).unwrap();
}

#[test]
fn layers_of_the_library() {
    let path = path("library");
    let before = Parameters::create_with_seed(&library::before::net(), 3).unwrap();
    before.save(&path).unwrap();
    let mut now = Parameters::create_with_seed(&library::now::net(), 8).unwrap();
    now.load(&path, Load::Strict).unwrap();
    let values = |parameters: &Parameters| {
        let values = |name: &str| parameters.get::<f32>(name).unwrap().into_raw_vec_and_offset().0;
        parameters.names().map(values).collect::<Vec<_>>()
    };
    assert_eq!(values(&now), values(&before));
    assert_ne!(now.names().collect::<Vec<_>>(), before.names().collect::<Vec<_>>());
    fs::remove_file(&path).unwrap();
}

/// The training goes on as if the names had never changed.
#[test]
fn a_checkpoint_of_before_is_resumed() {
    let path = path("checkpoint");
    let step = |k: usize| [0.1 * k as f32, 1.0 - 0.2 * k as f32];
    let (mut parameters, mut trainer) =
        (Parameters::create(&before::cost()).unwrap(), Trainer::new(Adam::new(0.1)));
    for k in 0..3 {
        let row = before::cost().row(step(k), [0, 1, 2]);
        trainer.step(&before::cost(), &mut parameters, &[row]).unwrap();
    }
    checkpoint::save(&path, &parameters, ((&mut trainer, &before::cost()),)).unwrap();
    let mut going_on: Vec<f32> = Vec::new();
    for k in 3..6 {
        let row = before::cost().row(step(k), [0, 1, 2]);
        going_on.push(trainer.step(&before::cost(), &mut parameters, &[row]).unwrap().cost());
    }

    let mut parameters = Parameters::create_with_seed(&now::cost(), 9).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.1));
    trainer.resume(&now::cost(), &mut parameters, &path).unwrap();
    let mut resumed = Vec::new();
    for k in 3..6 {
        let row = now::cost().row(step(k), [0, 1, 2]);
        resumed.push(trainer.step(&now::cost(), &mut parameters, &[row]).unwrap().cost());
    }
    assert_eq!(resumed, going_on);
    fs::remove_file(&path).unwrap();
}
