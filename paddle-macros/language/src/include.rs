//! Models in files as items of a module: what `include_model!` stands for.
//!
//! A file is read, converted to a program and written back as source, so that everything behind it is told nothing of files.

use std::path::{Path, PathBuf};

use paddle_core::convert::{decode_program, load_onnx_to_train, load_to_train};
use paddle_core::model_files::{self, ModelFileFault, System, has_extension, is_model, read_external_data};
use paddle_core::ops::Program;
use paddle_core::wire::onnx::ModelProto;

use crate::decompile::{Form, items};
use crate::messages::did_you_mean;

/// What is asked for.
pub(crate) struct Wanted {
    /// The name of the network, if the source gives one.
    pub(crate) name: Option<String>,
    /// The values of the model that the network gives, if not those that the model gives.
    pub(crate) outputs: Vec<String>,
    /// Names that other items of the module have.
    pub(crate) reserved: Vec<String>,
}

/// The file that a path means: itself, the only model in a folder, or the path with the extension of a model.
///
/// # Errors
/// Why there is none.
pub(crate) fn file_of(path: &Path) -> Result<PathBuf, String> {
    let file = model_files::file_of(path, &System).map_err(|error| match error.fault {
        ModelFileFault::Models { found } => {
            let found = if found == 0 { "no".to_string() } else { found.to_string() };
            format!(
                "this is a folder with {found} models, and not with one `.pdmodel`, `.onnx`, `.json` or `__model__`"
            )
        }
        fault => format!("the folder {fault}"),
    })?;
    let tried = if is_model(path) { "" } else { " with `.pdmodel`, `.onnx` or `.json` behind its name" };
    let is_there = file.is_file();
    is_there
        .then_some(file)
        .ok_or_else(|| format!("there is no such file{tried}; a path begins at the folder of this source"))
}

/// The items for a model.
///
/// # Errors
/// Why it cannot be read, or be said in the language: all reasons.
pub(crate) fn items_of(file: &Path, wanted: &Wanted) -> Result<String, String> {
    let mut program = program(file)?;
    if !wanted.outputs.is_empty() {
        give(&mut program, &wanted.outputs)?;
    }
    let form = Form { name: wanted.name.clone(), reserved: wanted.reserved.clone(), is_called: true };
    items(&program, &form).map_err(|error| error.to_string())
}

/// The program in a file, as one that can be trained.
fn program(file: &Path) -> Result<Program, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("the file cannot be read: {error}"))?;
    let damaged = |error| format!("the file holds no model: {error}");
    match has_extension(file, "onnx") {
        true => {
            let mut model = ModelProto::decode(&bytes).map_err(damaged)?;
            read_external_data(&mut model, file, &System).map_err(|error| error.to_string())?;
            Ok(load_onnx_to_train(&model).map_err(|error| error.to_string())?.program)
        }
        false => {
            let desc = decode_program(&bytes).map_err(damaged)?;
            load_to_train(&desc).map_err(|error| error.to_string())
        }
    }
}

/// Makes a program give values of these names.
fn give(program: &mut Program, names: &[String]) -> Result<(), String> {
    let mut outputs = Vec::new();
    for name in names {
        let found = program.find(name).filter(|var| program.var(*var).block == Program::GLOBAL);
        outputs.push(found.ok_or_else(|| {
            let known = program.vars().iter().filter(|var| var.block == Program::GLOBAL);
            let hint = did_you_mean(name, known.map(|var| var.name.as_str()));
            format!("it has no value `{name}`{hint}")
        })?);
    }
    program.set_outputs(&outputs).map_err(|error| error.to_string())
}
