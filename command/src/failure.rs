//! Why a command has not done what it was asked for.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// An error that ends a command, with the exit code 2.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What is asked for does not fit together.
    Asked(String),
    /// Something is wrong with a file.
    File {
        /// The file.
        path: String,
        /// What is wrong.
        why: Box<dyn Error>,
    },
    /// The library has failed, and says where.
    Library(paddle::Error),
    /// The output cannot be written.
    Output(io::Error),
}

/// What a command has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything is as it should be: the exit code 0.
    Fine,
    /// Problems or differences, which have been written: the exit code 1.
    Found,
}

impl Failure {
    /// A failure about a file.
    pub(crate) fn of(path: &Path, why: impl Into<Box<dyn Error>>) -> Self {
        Failure::File { path: path.display().to_string(), why: why.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Asked(why) => f.write_str(why),
            Failure::File { path, why } => write!(f, "{path}: {why}"),
            Failure::Library(error) => error.fmt(f),
            Failure::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<paddle::Error> for Failure {
    fn from(error: paddle::Error) -> Self {
        Failure::Library(error)
    }
}

impl From<paddle::BatchError> for Failure {
    fn from(error: paddle::BatchError) -> Self {
        Failure::Library(error.into())
    }
}

impl From<paddle::OutputError> for Failure {
    fn from(error: paddle::OutputError) -> Self {
        Failure::Library(error.into())
    }
}
