//! Models in files: programs as PaddlePaddle's or ONNX's messages or as text, and the values of their parameters.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use paddle::core::convert;
use paddle::core::model_files::{
    System, has_extension, has_no_name_of_its_own, read_external_data, values_beside,
};
use paddle::core::ops::Program;
use paddle::core::text;
use paddle::core::wire::onnx::ModelProto;
use paddle::files::FileError;
use paddle::{Dynamic, Load, Network, Parameters};

use crate::failure::Failure;

/// What a command takes as a model.
#[derive(Args)]
pub(crate) struct Model {
    /// A folder with one `.pdmodel`, `.json`, `.onnx` or `__model__`, such a file with or without its extension, or a file with a program as text.
    #[arg(value_name = "MODEL")]
    path: PathBuf,
    /// The values of the parameters: a `.pdiparams` or `.safetensors` file. Without this, the one beside the model that
    /// has its name; an `.onnx` has its own.
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
}

/// The content of a file with a program.
enum Content {
    Wire(Vec<u8>),
    Onnx(Vec<u8>),
    Text(String),
}

impl Model {
    /// The model at a path, with the parameters beside it.
    pub(crate) fn at(path: &Path) -> Self {
        Model { path: path.to_path_buf(), parameters: None }
    }

    /// The file with the program.
    pub(crate) fn file(&self) -> Result<PathBuf, Failure> {
        // Names may lack the extension, and folders have one model.
        let is_whole = self.path.is_file();
        let file = if is_whole { self.path.clone() } else { Network::<Dynamic>::file_of(&self.path)? };
        // The message has the name that was typed.
        if !is_whole && !self.path.is_dir() && !file.exists() {
            let why =
                fs::metadata(&self.path).err().map_or("is no file".to_string(), |error| error.to_string());
            return Err(Failure::of(&self.path, why));
        }
        Ok(file)
    }

    fn content(file: &Path) -> Result<Content, Failure> {
        let bytes = fs::read(file).map_err(|error| Failure::of(file, error))?;
        if bytes.is_empty() {
            return Err(Failure::of(file, "the file is empty"));
        }
        if is_onnx(file) {
            return Ok(Content::Onnx(bytes));
        }
        // A message begins with a byte that no text has.
        Ok(match String::from_utf8(bytes) {
            Ok(text) if is_program_text(&text) => Content::Text(text),
            Ok(text) => Content::Wire(text.into_bytes()),
            Err(error) => Content::Wire(error.into_bytes()),
        })
    }

    /// The program, as it was saved.
    pub(crate) fn program(&self) -> Result<Program, Failure> {
        let file = self.file()?;
        match Self::content(&file)? {
            Content::Text(text) => text::parse(&text).map_err(|error| Failure::of(&file, error)),
            Content::Wire(bytes) => {
                let desc = convert::decode_program(&bytes).map_err(|error| Failure::of(&file, error))?;
                convert::load(&desc).map_err(|error| Failure::of(&file, error))
            }
            Content::Onnx(bytes) => {
                let mut desc = ModelProto::decode(&bytes).map_err(|error| Failure::of(&file, error))?;
                read_external_data(&mut desc, &file, &System)
                    .map_err(|error| paddle::Error::from(FileError::from(error)))?;
                let model = convert::load_onnx(&desc).map_err(|error| Failure::of(&file, error))?;
                Ok(model.program)
            }
        }
    }

    /// The file, if it is one of `paddle.save`, which has values and no program.
    pub(crate) fn saved_values(&self) -> Option<&Path> {
        let is_saved =
            ["pdparams", "pdopt"].into_iter().any(|extension| has_extension(&self.path, extension));
        is_saved.then_some(&*self.path)
    }

    /// The file with the values of the parameters, if there is one.
    pub(crate) fn values(&self) -> Result<Option<PathBuf>, Failure> {
        if let Some(given) = &self.parameters {
            return Ok(Some(given.clone()));
        }
        let file = self.file()?;
        if is_onnx(&file) {
            return Ok(Some(file));
        }
        let beside = [values_beside(&file), file.with_extension("safetensors")];
        Ok(beside.into_iter().find(|path| path.is_file()))
    }

    /// The network with the values of its parameters, for running.
    pub(crate) fn load(&self) -> Result<(Network<Dynamic>, Parameters), Failure> {
        let (file, values) = (self.file()?, self.values()?);
        // Parameters of a model without a name of its own may have a file each.
        let is_old = has_no_name_of_its_own(&file);
        let is_usual = match &values {
            Some(values) => *values == values_beside(&file) && (is_old || has_extension(&file, "pdmodel")),
            None => is_old,
        };
        let has_own = is_onnx(&file) && values.as_ref() == Some(&file);
        if is_usual || has_own {
            return Ok(Network::load(&file)?);
        }
        let net = Network::from_program(self.program()?)?;
        let mut parameters = Parameters::create(&net)?;
        match values {
            Some(values) if is_safetensors(&values) => drop(parameters.load(&values, Load::Strict)?),
            Some(values) => parameters.load_pdiparams(&values)?,
            None if parameters.is_empty() => {}
            None => {
                let name = file.with_extension("");
                let why = format!(
                    "it has {} parameters, but neither {name}.pdiparams nor {name}.safetensors has their values; name a \
                     file, `--parameters FILE`",
                    parameters.len(),
                    name = name.display()
                );
                return Err(Failure::of(&file, why));
            }
        }
        Ok((net, parameters))
    }
}

/// Whether a file is one of safetensors, by its name.
pub(crate) fn is_safetensors(path: &Path) -> bool {
    has_extension(path, "safetensors")
}

/// Whether a file is a model in ONNX, by its name.
fn is_onnx(path: &Path) -> bool {
    has_extension(path, "onnx")
}

/// Whether a text begins as programs do, behind comments.
fn is_program_text(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
    first.is_some_and(|line| line.starts_with("program"))
}
