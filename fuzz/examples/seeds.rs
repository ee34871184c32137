//! Writes what fuzzing begins with, a folder for each target: `cargo run --example seeds -- FOLDER`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use paddle::core::convert::{to_onnx, to_wire};
use paddle::core::text;
use paddle::{Dynamic, Network, Parameters, load_inference_model};
use paddle_fuzz::training::Training;
use serde_json::Value;

/// Programs as text, which the tests compare others with.
const TEXTS: [&str; 3] = ["paddle-core/tests/golden", "examples/golden", "tests/tests/golden"];

/// Models that PaddlePaddle saved as JSON, a folder each.
const SAVED: &str = "tests/tests/saved/json";

/// Models in ONNX that the tests read, a folder each.
const ONNX: &str = "tests/tests/onnx";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("a folder is missing")?);
    let write = |target: &str, name: &str, bytes: &[u8]| -> Result<(), Box<dyn Error>> {
        fs::create_dir_all(folder.join(target))?;
        Ok(fs::write(folder.join(target).join(name), bytes)?)
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no folder is above this one")?;
    let mut count = 0;
    for texts in TEXTS {
        for entry in fs::read_dir(root.join(texts))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "txt") {
                continue;
            }
            let source = fs::read_to_string(&path)?;
            let name = path.file_stem().ok_or("a file has a name")?.to_string_lossy().into_owned();
            write("text", &name, source.as_bytes())?;
            write("model", &name, &model(&source, &folder)?)?;
            if let Some(onnx) = onnx(&source)? {
                write("onnx", &name, &onnx)?;
            }
            count += 1;
        }
    }
    for entry in fs::read_dir(root.join(ONNX))? {
        let path = entry?.path();
        let name = path.file_name().ok_or("a folder has a name")?.to_string_lossy().into_owned();
        write("onnx", &name, &fs::read(path.join("model.onnx"))?)?;
    }
    for entry in fs::read_dir(root.join(SAVED))? {
        let path = entry?.path();
        let name = path.file_name().ok_or("a folder has a name")?.to_string_lossy().into_owned();
        let parameters = path.join("model.pdiparams");
        let parameters = if parameters.exists() { fs::read(parameters)? } else { Vec::new() };
        write("model", &format!("{name}.json"), &joined(&fs::read(path.join("model.json"))?, &parameters)?)?;
    }
    let mut training = Training::new()?;
    training.step()?;
    let [parameters, pdiparams, checkpoint] = training.files()?;
    write("parameters", "pdiparams", &pdiparams)?;
    for (target, bytes) in [("parameters", parameters), ("checkpoint", checkpoint)] {
        write(target, "with-checksums", &bytes)?;
        write(target, "without-checksums", &without_checksums(&bytes)?)?;
    }
    println!("{count} programs, as text and as models, and 5 files of a training");
    Ok(())
}

/// A program and its parameters, as the target reads them.
fn model(source: &str, folder: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let program = text::parse(source)?;
    let model = to_wire(&program).main.encode_to_vec();
    let path = folder.join("pdiparams");
    Parameters::create(&Network::<Dynamic>::from_program(program)?)?.save_pdiparams(&path)?;
    let parameters = fs::read(&path)?;
    fs::remove_file(&path)?;
    load_inference_model(&model, &parameters)?;
    joined(&model, &parameters)
}

/// The files of a model, as the target reads them.
fn joined(model: &[u8], parameters: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok([&u32::try_from(model.len())?.to_le_bytes()[..], model, parameters].concat())
}

/// A program without parameters, in ONNX, if ONNX has it.
fn onnx(source: &str) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    Ok(to_onnx(&text::parse(source)?, &BTreeMap::new()).ok().map(|model| model.encode_to_vec()))
}

/// As files were before they had checksums: changes of such a file get further.
fn without_checksums(file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (length, rest) = file.split_first_chunk::<8>().ok_or("a file has a header")?;
    let (header, elements) = rest.split_at(usize::try_from(u64::from_le_bytes(*length))?);
    let mut header: Value = serde_json::from_slice(header)?;
    let texts = header["__metadata__"].as_object_mut().ok_or("a file has texts")?;
    texts.retain(|key, _| key != "paddle.checksums" && !key.starts_with("paddle.crc32"));
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok([&u64::try_from(header.len())?.to_le_bytes()[..], &header, elements].concat())
}
