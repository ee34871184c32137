//! Models in files as parts of a source, by `include_model!`.

use std::path::{Path, PathBuf};

use paddle_core::ops::Program;
use paddle_core::wire::{BlockDesc, OpDesc, ProgramDesc};
use paddle_language::{Diagnostics, Options, compile};

/// The folder of a model that the real PaddlePaddle saved, `small.pdmodel`.
fn included() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tests/included")
}

fn networks(source: &str) -> Result<Vec<(String, Program)>, Diagnostics> {
    let compiled = compile(source, &Options::new().folder(included()))?;
    assert!(compiled.warnings.is_empty(), "{}", compiled.warnings);
    Ok(compiled.topologies.into_iter().map(|it| (it.name, it.program)).collect())
}

/// The only mistake of a source.
fn mistake(source: &str, options: &Options) -> (&'static str, String) {
    let wrong = compile(source, options).expect_err(source);
    assert_eq!(wrong.len(), 1, "{wrong}");
    (wrong[0].id, wrong[0].message.clone())
}

#[test]
fn a_model_is_a_network() {
    for path in ["small.pdmodel", "small", "."] {
        let all = networks(&format!("pub mod small {{ include_model!({path:?}); }}")).unwrap();
        let [(name, program)] = &all[..] else { panic!("one network") };
        assert_eq!(name, "predict");
        let inputs: Vec<String> =
            program.inputs().iter().map(|input| program.var(*input).name.clone()).collect();
        assert_eq!(inputs, ["image"]);
        let mut parameters: Vec<&str> =
            program.parameters().map(|parameter| &*program.var(parameter).name).collect();
        parameters.sort();
        assert_eq!(parameters.len(), 12);
        assert_eq!(parameters[..2], ["batch_norm2d_0.b_0", "batch_norm2d_0.w_0"]);
    }
}

/// With the features of the trunk, not its classes, and names of its own beside those of the model.
#[test]
fn a_head_on_a_trunk() {
    let source = "pub mod mine {
        use paddle::include_model;
        include_model!(\"small\", name = trunk, outputs = [\"flatten_0.tmp_0\"],);
        fn block1(x: _) -> _ { fc(x, 2, param = \"head\") }
        pub fn cost(image: Tensor<f32, _, 1, 6, 6>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
            mean(square(block1(trunk(image)) - y))
        }
        /// Parameters are shared, wherever they are called.
        pub fn twice(image: Tensor<f32, _, 1, 6, 6>) -> _ { trunk(image) + trunk(-image) }
    }"
    .replace("use paddle::include_model;", "");
    let all = networks(&source).unwrap();
    let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["trunk", "cost", "twice"]);
    let counts: Vec<usize> = all.iter().map(|(_, program)| program.parameters().count()).collect();
    assert_eq!(counts, [10, 12, 10]);
    let (_, cost) = &all[1];
    assert!(cost.find("head.w").is_some() && cost.find("conv2d_0.w_0").is_some());
    let (_, trunk) = &all[0];
    assert_eq!(trunk.show(trunk.ty(trunk.outputs()[0])), "f32[_, 4]");
}

/// Another source takes it by its name, without the file.
#[test]
fn it_is_imported() {
    let options = Options::new().folder(included()).source(
        "crate::small",
        "small.rs",
        "pub mod small { include_model!(\"small\"); }",
    );
    let source = "pub mod other {
        use crate::small::predict;
        pub fn likely(image: Tensor<f32, _, 1, 6, 6>) -> _ { max(predict(image), axis = 1) }
    }";
    let likely = compile(source, &options).unwrap().only().unwrap();
    assert_eq!(likely.program.parameters().count(), 12);
}

#[test]
fn two_models_in_a_module() {
    let source = "pub mod both {
        include_model!(\"small\", name = one);
        include_model!(\"small\", name = other);
        pub fn mean_of_both(x: Tensor<f32, _, 1, 6, 6>) -> _ { 0.5 * (one(x) + other(x)) }
    }";
    assert_eq!(networks(source).unwrap().len(), 3);
    let options = Options::new().folder(included());
    let (id, message) =
        mistake("pub mod both { include_model!(\"small\"); include_model!(\"small\"); }", &options);
    assert_eq!(
        (id, &*message),
        ("duplicate", "there are two `predict`s here; give one of them another name")
    );
}

#[test]
fn what_is_wrong_with_a_file() {
    let folder = std::env::temp_dir().join(format!("paddle-include-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("two")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let bytes = std::fs::read(included().join("small.pdmodel")).unwrap();
    write("cut.pdmodel", &bytes[..bytes.len() / 2]);
    write("none.onnx", b"no model");
    write("two/a.pdmodel", &bytes);
    write("two/b.pdmodel", &bytes);
    let ops = vec![OpDesc::new("psroi_pool"), OpDesc::new("fusion_lstm")];
    let block = BlockDesc { parent_idx: -1, ops, ..BlockDesc::default() };
    write("lacks.pdmodel", &ProgramDesc { blocks: vec![block], ..ProgramDesc::default() }.encode_to_vec());
    let options = Options::new().folder(&folder);
    for (path, why) in [
        ("absent", "there is no such file"),
        ("two", "this is a folder with 2 models, and not with one"),
        ("cut", "the file holds no model: "),
        ("none.onnx", "the file holds no model: "),
        (
            "lacks",
            "the program cannot be run, for 2 reasons:\n- block 0, operator 0 `psroi_pool`: there is no such operator here\n- block 0, operator 1 `fusion_lstm`: there is no such operator here",
        ),
    ] {
        // The networks that call it are not in error, too.
        let source = format!(
            "pub mod wrong {{ include_model!({path:?}); pub fn y(x: Tensor<f32, _, 2>) -> _ {{ predict(x) }} }}"
        );
        let (id, message) = mistake(&source, &options);
        assert_eq!(id, "model");
        let expected = format!("the model `{path}` cannot be included: {why}");
        assert!(message.starts_with(&expected), "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_wrong_with_the_call() {
    let options = Options::new().folder(included());
    for (source, expected, says) in [
        ("pub mod a { include_model!(); }", "not-of-the-language", "this form of `include_model!`"),
        ("pub mod a { include_model!(small); }", "not-of-the-language", "this form of `include_model!`"),
        (
            "pub mod a { include_model!(\"small\", batch = 3); }",
            "not-of-the-language",
            "this form of `include_model!`",
        ),
        ("|x: Tensor<f32, _, 2>| include_model!(\"small\")", "not-of-the-language", "`include_model!` here"),
        (
            "pub mod a { include_model!(\"small\", outputs = [\"flatten_1.tmp_0\"]); }",
            "model",
            "the model `small` cannot be included: it has no value `flatten_1.tmp_0`; did you mean `flatten_0.tmp_0`?",
        ),
        (
            "pub mod a { include_model!(\"small\"); pub fn y(x: Tensor<f32, _, 2>) -> _ { predict(x) } }",
            "declared-type",
            "",
        ),
    ] {
        let (id, message) = mistake(source, &options);
        assert_eq!(id, expected, "{message}");
        assert!(message.starts_with(says), "{message}");
    }
    let (id, message) = mistake("pub mod a { include_model!(\"small\"); }", &Options::new());
    assert!(id == "model" && message.contains("Options::folder"), "{message}");
}
