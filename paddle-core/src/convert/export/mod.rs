//! The two files of a model that the real PaddlePaddle loads.

mod legalise;

use std::collections::BTreeMap;
use std::fmt;

pub use self::legalise::{LegaliseError, legalise};
use super::carried;
use super::error::ConvertError;
use super::from_wire::check_params;
use crate::ops::Program;
use crate::passes::test_mode::test_mode;
use crate::wire::{TensorRecord, write_params};

/// A model for PaddlePaddle: the bytes of its two files, whose names differ in their extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The program: `.pdmodel`.
    pub model: Vec<u8>,
    /// The parameters: `.pdiparams`. Empty if there are none; PaddlePaddle then has no such file.
    pub params: Vec<u8>,
}

/// Writes a program and its parameters for the real PaddlePaddle 2.6. Values of `params` that belong to no parameter of
/// the program are left out.
///
/// PaddlePaddle's executor and its default predictor run loops and branches on rows, too. Sequences of sequences are fed with the
/// offsets of both levels. A sequence with more tokens than it is padded to is an error here, and cut off there.
pub fn export(program: &Program, params: &BTreeMap<String, TensorRecord>) -> Result<Export, ExportError> {
    let model = model(program).map_err(ExportError::Legalise)?;
    check_params(program, params).map_err(ExportError::Parameters)?;
    let mut own = params.clone();
    own.retain(|name, _| program.find(name).is_some_and(|var| program.initializer(var).is_some()));
    let params = write_params(&own).map_err(|error| ExportError::Parameters(error.into()))?;
    Ok(Export { model, params })
}

/// The bytes of a `.pdmodel`: a program for inference as [`legalise`] writes it, and, in a field that PaddlePaddle leaves out, the program
/// itself, with which [`load`](super::load) and [`load_to_train`](super::load_to_train) go on as long as nobody changes the rest.
///
/// ```
/// use paddle_core::convert::{load_to_train, model};
/// use paddle_core::text;
/// use paddle_core::wire::ProgramDesc;
///
/// let program = text::parse("program {
///   rows _
///   block 0 (x: f32[_, 2]) {
///     y: f32[_, 2] = relu(x)
///     return y
///   }
/// }")?;
/// let mut desc = ProgramDesc::decode(&model(&program)?)?;
/// assert_eq!(load_to_train(&desc)?.to_string(), program.to_string());
/// // A program that was changed is read as it is now.
/// for op in desc.blocks[0].ops.iter_mut().filter(|op| op.r#type == "relu") {
///     op.r#type = "tanh".to_string();
/// }
/// assert!(load_to_train(&desc)?.to_string().contains("tanh(x)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn model(program: &Program) -> Result<Vec<u8>, LegaliseError> {
    let mut inference = program.clone();
    test_mode(&mut inference);
    Ok(carried::with(&legalise(&inference)?, program))
}

/// A model that cannot be exported.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportError {
    /// The program has no form that PaddlePaddle runs.
    Legalise(LegaliseError),
    /// A parameter has no value of its type.
    Parameters(ConvertError),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Legalise(error) => error.fmt(f),
            ExportError::Parameters(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}
