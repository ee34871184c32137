//! Files of `paddle.save`: values without a program.

use std::path::Path;

use paddle::{Load, Parameters, network};

use crate::support::{Folder, done, failed};

/// A file that the real PaddlePaddle wrote.
fn saved(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paddle-core/tests/saved_values").join(name);
    path.to_str().unwrap().to_string()
}

#[test]
fn they_are_shown_and_become_a_file_of_parameters() {
    let folder = Folder::new();
    for release in ["2.6", "3.3"] {
        let path = saved(&format!("{release}_protocol4.pdparams"));
        let info = done(format!("info {path}"));
        assert!(info.contains("parameters: 6, of 16 elements in 64 B\n"), "{info}");
        assert!(info.contains("linear_0.w_0") && info.contains("f32[3, 2]"), "{info}");
        assert!(done(format!("info {path} --json")).contains("\"batch_norm1d_0.w_1\""));
        assert!(
            done(format!("info {}", saved(&format!("{release}.pdopt")))).contains("linear_0.w_0_moment1_0")
        );
        let out = folder.path(&format!("{release}.safetensors"));
        done(format!("convert {path} {out}"));
        let net = network!(|x: Tensor<f32, _, 3>| fc(x, 2, param = ["linear_0.w_0", "linear_0.b_0"]));
        let mut parameters = Parameters::create(&net).unwrap();
        parameters.load(&out, Load::Intersect).unwrap();
        let weights: Vec<f32> = parameters.get::<f32>("linear_0.w_0").unwrap().iter().copied().collect();
        assert_eq!(weights, [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
        // The file itself has the same names.
        let mut others = Parameters::create(&net).unwrap();
        let report = others.load_model(&path, Load::Intersect).unwrap();
        assert_eq!((report.loaded, report.extra.len()), (2, 4));
        assert_eq!(
            others.get::<f32>("linear_0.w_0").unwrap(),
            parameters.get::<f32>("linear_0.w_0").unwrap()
        );
    }
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let evil = folder.write("evil.pdparams", b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.");
    let error = failed(format!("info {evil}"));
    assert!(
        error.contains("evil.pdparams") && error.contains("byte 2: ") && error.contains("posix.system"),
        "{error}"
    );
    let path = saved("2.6_protocol2.pdparams");
    assert!(failed(format!("convert {path} {}", folder.path("a.onnx"))).contains("become a .safetensors"));
}
