//! Why a model's files cannot be read.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::memory::OutOfMemory;

/// What is wrong with a file of a model.
#[derive(Debug)]
pub struct ModelFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: ModelFileFault,
}

/// What is wrong with a file of a model.
#[derive(Debug)]
pub enum ModelFileFault {
    /// It cannot be read.
    Read(io::Error),
    /// There is no memory for its content.
    OutOfMemory(OutOfMemory),
    /// It is a folder that has none or several models.
    Models {
        /// The number of its models.
        found: usize,
    },
    /// The file ends within a tensor.
    Truncated {
        /// The name of the tensor.
        tensor: String,
        /// The byte at which the tensor ends.
        end: u64,
        /// The length of the file in bytes.
        length: u64,
    },
    /// A tensor is said to be in a file that is not within the model's folder, or at no place of a file.
    Location {
        /// The name of the tensor.
        tensor: String,
        /// What is said about its place, and what is wrong with it.
        why: String,
    },
}

impl ModelFileFault {
    /// The error of a file.
    pub fn of(self, path: &Path) -> ModelFileError {
        ModelFileError { path: path.to_path_buf(), fault: self }
    }
}

impl fmt::Display for ModelFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)
    }
}

impl fmt::Display for ModelFileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::OutOfMemory(error) => write!(f, "{error}"),
            Self::Models { found: 0 } => {
                f.write_str("has no file `.pdmodel`, `.onnx`, `.json` or `__model__`")
            }
            Self::Models { found } => {
                write!(f, "has {found} files `.pdmodel`, `.onnx`, `.json` or `__model__`; name one of them")
            }
            Self::Truncated { tensor, end, length } => write!(
                f,
                "the file ends within tensor `{tensor}`: it has {length} bytes, but that tensor ends at byte {end}"
            ),
            Self::Location { tensor, why } => {
                write!(f, "the elements of tensor `{tensor}` cannot be found: {why}")
            }
        }
    }
}

impl Error for ModelFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            ModelFileFault::Read(error) => Some(error),
            ModelFileFault::OutOfMemory(error) => Some(error),
            ModelFileFault::Models { .. }
            | ModelFileFault::Truncated { .. }
            | ModelFileFault::Location { .. } => None,
        }
    }
}
