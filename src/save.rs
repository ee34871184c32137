//! Saving of models, as PaddlePaddle loads them, or in ONNX.

use std::io::Write;
use std::path::Path;

use paddle_core::convert::{ExportError, model, to_onnx};
use paddle_core::model_files::{has_extension, with_extension};
use paddle_core::plan::Backend;

use crate::Error;
use crate::files::{FileFault, atomic};
use crate::network::{Network, Spec};
use crate::parameters::{ParameterError, Parameters};

impl<S: Spec> Network<S> {
    /// Writes the model for inference, as PaddlePaddle 2.6 and [`Network::load`] load it: the program to `path`, with the
    /// extension `.pdmodel`, and the values of its parameters to the `.pdiparams` beside it. There is no such file
    /// without parameters. The feature `models` enables it.
    ///
    /// The file has the network as it is, too, where PaddlePaddle does not look: [`Network::load`] gives that back, with its layers, sequences
    /// and what it does in training. Once the file was changed elsewhere, it is read as PaddlePaddle reads it.
    ///
    /// A path that ends in `.onnx` gets a model in ONNX, in one file, of the operators of ONNX 1.13. Its first inputs are those of
    /// the network, and their rows are its first dimension. A sequence `words` is fed as its tokens, one after another,
    /// and a further input `words.lengths` has the number of tokens in each; sequences of sequences have `words.lengths.0` for the
    /// outer ones, `words.lengths.1` for the inner ones. Likewise for outputs.
    ///
    /// Each file is written as a whole or not at all. Other parameters of the set are left out.
    ///
    /// ```
    /// use paddle::{Network, Parameters, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "line"));
    /// let other = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "other"));
    /// let parameters = Parameters::create((&net, &other))?;
    /// # let folder = std::env::temp_dir().join(format!("paddle-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// net.save(folder.join("line"), &parameters)?;
    /// let (loaded, values) = Network::load(&folder)?;
    /// assert_eq!(loaded.inputs()?[0].to_string(), "x: f32[_, 2]");
    /// assert_eq!(values.get::<f32>("line.w")?, parameters.get::<f32>("line.w")?);
    /// assert!(values.get::<f32>("other.w").is_err());
    ///
    /// net.save(folder.join("line.onnx"), &parameters)?;
    /// let (loaded, _) = Network::load(folder.join("line.onnx"))?;
    /// assert_eq!(loaded.inputs()?[0].to_string(), "x: f32[_, 2]");
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Legalise`] if PaddlePaddle, or ONNX, has nothing that computes an operator, with its place; [`Error::Parameter`] if
    /// the set lacks a parameter; [`Error::File`] if a file cannot be written.
    pub fn save<B: Backend>(&self, path: impl AsRef<Path>, parameters: &Parameters<B>) -> Result<(), Error> {
        let program = self.program()?;
        for parameter in program.parameters() {
            let name = &program.var(parameter).name;
            if parameters.storage().find(name).is_none() {
                return Err(ParameterError::NoSuch { name: name.clone() }.into());
            }
        }
        let is_own = |name: &str| {
            program.find(name).is_some_and(|var| program.parameters().any(|parameter| parameter == var))
        };
        let path = path.as_ref();
        if has_extension(path, "onnx") {
            let records = parameters.records_of(&is_own)?;
            let records = records.map_err(|error| FileFault::OutOfMemory(error).of(path))?;
            let model = to_onnx(program, &records).map_err(|error| match error {
                ExportError::Legalise(error) => Error::from(error),
                ExportError::Parameters(error) => Error::from(error),
            })?;
            return write(path, &model.encode_to_vec());
        }
        let path = with_extension(path, "pdmodel");
        let content = model(program)?;
        if program.parameters().next().is_some() {
            parameters.save_pdiparams_of(&path.with_extension("pdiparams"), &is_own)?;
        }
        write(&path, &content)
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let written = atomic::write(path, |out| out.write_all(content));
    Ok(written.map_err(|fault: FileFault| fault.of(path))?)
}
