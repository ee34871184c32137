//! Saving of models, as PaddlePaddle loads them.

use std::io::Write;
use std::path::Path;

use paddle_core::convert::legalise;
use paddle_core::passes::test_mode::test_mode;
use paddle_core::plan::Backend;

use crate::Error;
use crate::files::{FileFault, atomic};
use crate::load::with_extension;
use crate::network::{Network, Spec};
use crate::parameters::{ParameterError, Parameters};

impl<S: Spec> Network<S> {
    /// Writes the model for inference, as PaddlePaddle 2.6 and [`Network::load`] load it: the program to `path`, with the
    /// extension `.pdmodel`, and the values of its parameters to the `.pdiparams` beside it. There is no such file
    /// without parameters.
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
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Legalise`] if PaddlePaddle has nothing that computes an operator, with its place; [`Error::Parameter`] if
    /// the set lacks a parameter; [`Error::File`] if a file cannot be written.
    pub fn save<B: Backend>(&self, path: impl AsRef<Path>, parameters: &Parameters<B>) -> Result<(), Error> {
        let (program, path) = (self.program()?, with_extension(path.as_ref(), "pdmodel"));
        let mut inference = program.clone();
        test_mode(&mut inference);
        let model = legalise(&inference)?.encode_to_vec();
        for parameter in program.parameters() {
            let name = &program.var(parameter).name;
            if parameters.storage().find(name).is_none() {
                return Err(ParameterError::NoSuch { name: name.clone() }.into());
            }
        }
        let is_own = |name: &str| {
            program.find(name).is_some_and(|var| program.parameters().any(|parameter| parameter == var))
        };
        if program.parameters().next().is_some() {
            parameters.save_pdiparams_of(&path.with_extension("pdiparams"), &is_own)?;
        }
        let written = atomic::write(&path, |out| out.write_all(&model));
        Ok(written.map_err(|fault: FileFault| fault.of(&path))?)
    }
}
