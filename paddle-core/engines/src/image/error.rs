//! What can go wrong with images. No error has credentials in it.

use std::path::PathBuf;

/// Why an image could not be built or pushed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// A file cannot be read.
    #[error("{}: {reason}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The program needs libraries that the image does not have.
    #[error("{} is linked dynamically: it asks for {interpreter}, which the image does not have; build it by `{command}`", path.display())]
    NotStatic {
        /// Which program.
        path: PathBuf,
        /// The loader that it asks for.
        interpreter: String,
        /// What builds a static one.
        command: String,
    },
    /// A file is no program for Linux.
    #[error("{} is no program for Linux on x86_64 or aarch64: {reason}", path.display())]
    NotAProgram {
        /// Which file.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// The files cannot be packed.
    #[error("the image cannot be packed: {reason}")]
    Archive {
        /// Why.
        reason: String,
    },
    /// The name of the image cannot be read.
    #[error("`{reference}` is no name of an image: {reason}; expected `registry/name:tag`")]
    Reference {
        /// The name.
        reference: String,
        /// What is wrong.
        reason: String,
    },
    /// The registry wants other credentials.
    #[error("{registry} denies access to {repository}; check the credentials and what they allow")]
    Denied {
        /// Which registry.
        registry: String,
        /// What was accessed.
        repository: String,
    },
    /// The registry does not answer.
    #[error("{registry} does not answer: {reason}")]
    Unreachable {
        /// Which registry.
        registry: String,
        /// What the connection met.
        reason: String,
    },
    /// The registry answers with an error.
    #[error("{registry} refuses {repository}: {reason}")]
    Refused {
        /// Which registry.
        registry: String,
        /// What was accessed.
        repository: String,
        /// What it said.
        reason: String,
    },
    /// Docker failed, or is not there.
    #[error("`{command}` failed: {output}")]
    Docker {
        /// What was run.
        command: String,
        /// What it wrote.
        output: String,
    },
}
