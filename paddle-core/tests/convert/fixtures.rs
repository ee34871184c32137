//! Programs that PaddlePaddle itself wrote, where they are at hand: they are kept beside the repository, not in it.

use std::path::{Path, PathBuf};

use paddle_core::convert::{Fault, from_wire, load_params, to_wire};
use paddle_core::ops::Program;
use paddle_core::wire::ProgramDesc;

use crate::round_trip::check;

/// The directory of PaddlePaddle's files; none, and a note, where it is not there.
pub(crate) fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    None
}

pub(crate) fn read(path: &Path) -> ProgramDesc {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    ProgramDesc::decode(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Loads a fixture with its parameters, checks it, and takes it through our own dialect.
fn load(name: &str) -> Option<(Program, String)> {
    let path = shared()?.join("fixtures").join(name);
    let desc = read(&path.join("model.pdmodel"));
    let program = from_wire(&desc, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let params = std::fs::read(path.join("model.pdiparams")).expect("it can be read");
    let params = load_params(&desc, &program, &params).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(params.len(), program.parameters().count(), "{name}");
    check(name, &program);
    let text = program.to_string();
    Some((program, text))
}

#[test]
fn mlp() {
    let Some((program, text)) = load("mlp") else { return };
    assert_eq!(program.parameters().count(), 6);
    assert_eq!(program.show(program.ty(program.inputs()[0])), "f32[_, 784]");
    assert_eq!(program.show(program.ty(program.outputs()[0])), "f32[_, 10]");
    assert!(text.contains("softmax_0.tmp_0: f32[_, 10] = softmax(fc_2.tmp_1)"), "{text}");
}

/// The loop is ours: state `fill_constant_1.tmp_0`, `tmp_0` and `x`, whose names go on in new versions.
#[test]
fn while_loop() {
    let Some((program, text)) = load("while_loop") else { return };
    let expected = "\
program {
  rows _
  parameter create_parameter_0.w_0: f32[4, 4] = fill_constant(value=0.0)
  block 0 (x: f32[_, 4], n: i64[1]) {
    fill_constant_1.tmp_0: i64[1] = fill_constant(value=0)
    tmp_0: bool[1] = less_than(fill_constant_1.tmp_0, n)
    fill_constant_1.tmp_0_4: i64[1], tmp_0_4: bool[1], x_4: f32[_, 4] = while(fill_constant_1.tmp_0, tmp_0, x) {
      block 1 (fill_constant_1.tmp_0_1: i64[1], tmp_0_1: bool[1], x_1: f32[_, 4]) {
        yield tmp_0_1
      }
      block 2 (fill_constant_1.tmp_0_2: i64[1], tmp_0_2: bool[1], x_2: f32[_, 4]) {
        tmp_1: i64[1] = scale(fill_constant_1.tmp_0_2, bias=1.0)
        matmul_v2_0.tmp_0: f32[_, 4] = matmul_v2(x_2, create_parameter_0.w_0)
        tanh_0.tmp_0: f32[_, 4] = tanh(matmul_v2_0.tmp_0)
        tmp_2: bool[1] = less_than(tmp_1, n)
        fill_constant_1.tmp_0_3: i64[1] = assign(tmp_1)
        x_3: f32[_, 4] = assign(tanh_0.tmp_0)
        tmp_0_3: bool[1] = assign(tmp_2)
        yield fill_constant_1.tmp_0_3, tmp_0_3, x_3
      }
    }
    save_infer_model/scale_0.tmp_0: f32[_, 4] = scale(x_4)
    save_infer_model/scale_1.tmp_0: i64[1] = scale(fill_constant_1.tmp_0_4)
    return save_infer_model/scale_0.tmp_0, save_infer_model/scale_1.tmp_0
  }
}
";
    assert_eq!(program.inputs().len(), 2);
    assert_eq!(text, expected);
}

/// The parameters of another program are found out.
#[test]
fn parameters_of_another_program() {
    let Some(shared) = shared() else { return };
    let desc = read(&shared.join("fixtures/mlp/model.pdmodel"));
    let program = from_wire(&desc, None).expect("it is read");
    let bytes = std::fs::read(shared.join("fixtures/mlp/model.pdiparams")).expect("it can be read");
    assert!(matches!(
        load_params(&desc, &program, &bytes[..bytes.len() - 1]).map_err(|error| error.fault),
        Err(Fault::Wire(_))
    ));
    let mut other = desc.clone();
    for var in other.blocks[0].vars.iter_mut().filter(|var| var.name == "fc_0.b_0") {
        var.r#type.lod_tensor.as_mut().expect("it is a tensor").tensor.dims = vec![1, 64];
    }
    let program = from_wire(&other, None).expect("it is read");
    let error = load_params(&desc, &program, &bytes).unwrap_err().to_string();
    assert_eq!(error, "parameter `fc_0.b_0` is FP32 [64] in the file, but FP32 [1, 64] in the program");
}

/// Whatever PaddlePaddle writes is read, or refused with a reason; what is read goes through our own dialect.
#[test]
fn every_program() {
    let Some(shared) = shared() else { return };
    let (mut read_in, mut refused) = (Vec::new(), Vec::new());
    let mut directories = vec![shared];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "pdmodel" || ending == "pdprogram") {
                match from_wire(&read(&path), None) {
                    Ok(program) => {
                        check(&path.display().to_string(), &program);
                        read_in.push(path);
                    }
                    Err(error) => refused.push(format!("{}: {error}", path.display())),
                }
            }
        }
    }
    refused.sort();
    eprintln!("{} programs were read; refused:\n{}", read_in.len(), refused.join("\n"));
    assert!(read_in.len() > refused.len(), "{} are read, {} refused", read_in.len(), refused.len());
}

/// What a startup program says of the parameters is kept.
#[test]
fn startup() {
    let Some(shared) = shared() else { return };
    let path = shared.join("fixtures/train_mlp_sgd");
    let (main, startup) = (read(&path.join("main.pdprogram")), read(&path.join("startup.pdprogram")));
    let program = from_wire(&main, Some(&startup)).unwrap_or_else(|error| panic!("{error}"));
    let text = program.to_string();
    for line in [
        "parameter fc_0.w_0: f32[64, 32] = uniform_random(min=-0.25, max=0.25)",
        "parameter learning_rate_0: f32[] = fill_constant(value=0.5)",
        "gradient fc_2.b_0 -> fc_2.b_0@GRAD",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(to_wire(&program).startup.blocks[0].ops.len(), 7);
}
