//! Errors in reading and writing files of parameters.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};

use paddle_core::memory::OutOfMemory;
use paddle_core::model_files::{ModelFileError, ModelFileFault};
use paddle_core::wire::WireError;
#[cfg(feature = "models")]
use paddle_core::wire::pickle::PickleError;

use super::load_report::LoadReport;
use super::lock::Holder;

/// The reason why a file was not read or written. The parameters that were to be read are unchanged, and so is a file
/// that was to be replaced, unless the fault [`is_written`](FileFault::is_written).
///
/// ```
/// use paddle::files::{FileFault, Load};
/// use paddle::{Error, Parameters, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1));
/// let loaded = Parameters::create(&net)?.load("no/such/file", Load::Strict);
/// let Err(Error::File(error)) = loaded else { panic!("there is no such file") };
/// assert!(matches!(error.fault, FileFault::Read(_)));
/// assert!(error.to_string().contains("no/such/file"), "{error}");
/// # Ok::<(), Error>(())
/// ```
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub fault: FileFault,
}

/// A fault of a file. Bytes count from 0.
///
/// ```
/// use paddle::files::{FileFault, Load};
/// use paddle::{Error, Parameters, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1));
/// # let path = std::env::temp_dir().join(format!("paddle-fault-{}.safetensors", std::process::id()));
/// let mut parameters = Parameters::create(&net)?;
/// parameters.save(&path)?;
/// let mut bytes = std::fs::read(&path).unwrap();
/// *bytes.last_mut().unwrap() ^= 1;
/// std::fs::write(&path, bytes).unwrap();
/// let Err(Error::File(error)) = parameters.load(&path, Load::Strict) else { panic!("a bit has changed") };
/// assert!(matches!(error.fault, FileFault::Damaged { .. }));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum FileFault {
    /// The system could not read the file.
    Read(io::Error),
    /// The system could not write the file.
    Write(io::Error),
    /// The file was written, but the system does not confirm that its name is on the disk.
    Unsynced(io::Error),
    /// The file was written, but the one before it was not kept.
    Unkept(io::Error),
    /// Another training writes to it.
    Held {
        /// The holder of the lock, if it is known.
        by: Option<Holder>,
    },
    /// A part of the file has changed since it was written.
    Damaged {
        /// The name of the tensor; `None` for the header.
        tensor: Option<String>,
        /// The position of the part.
        bytes: Range<u64>,
        /// The stored checksum, if there is one.
        written: Option<String>,
        /// The checksum of the present content.
        found: String,
    },
    /// Neither the checkpoint nor the one before it can be used.
    NoneIntact {
        /// The fault of the newest.
        newest: Box<FileFault>,
        /// The error of the one before it.
        previous: Box<FileError>,
    },
    /// The length of the header, which the first eight bytes give, is impossible.
    HeaderLength {
        /// The length.
        length: u64,
        /// The number of bytes behind the first eight.
        left: u64,
    },
    /// The header does not describe tensors.
    Header {
        /// The mistake in it.
        why: String,
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
    /// The file has bytes behind the last tensor.
    Trailing {
        /// The byte at which the last tensor ends.
        end: u64,
        /// The length of the file in bytes.
        length: u64,
    },
    /// The file is longer than the parameters can be.
    Long {
        /// The length of the file in bytes.
        length: u64,
        /// The most bytes that the parameters take.
        most: u64,
    },
    /// The tensors of the file are not those of the parameters.
    Differs(LoadReport),
    /// A tensor would have the name of another one, or a reserved name.
    Name {
        /// The name.
        name: String,
    },
    /// A note of the file is not there, or is no value of the type that was asked for; or a value has no form in JSON.
    Note {
        /// The name of the note.
        name: String,
        /// The mistake.
        why: String,
    },
    /// The file is no checkpoint.
    NoCheckpoint {
        /// The kind of file that it is instead.
        why: &'static str,
    },
    /// The file is a checkpoint of other trainers or networks.
    Trainings {
        /// The networks of each trainer in the file.
        found: Vec<Vec<String>>,
        /// The networks of each trainer that is to continue.
        expected: Vec<Vec<String>>,
    },
    /// The file is a checkpoint of another updater.
    Updater {
        /// A parameter.
        parameter: String,
        /// The slots of its states in the checkpoint.
        found: Vec<String>,
        /// The slots of the trainer's updater.
        expected: Vec<String>,
    },
    /// The file is not PaddlePaddle's file of these parameters.
    Wire(WireError),
    /// The file is nothing that `paddle.save` wrote of parameters.
    #[cfg(feature = "models")]
    Pickle(PickleError),
    /// A folder of which one model is wanted has none or several.
    Models {
        /// The number of its models.
        found: usize,
    },
    /// There is no memory for the content of the file.
    OutOfMemory(OutOfMemory),
}

impl FileError {
    /// The failed request for memory, if that is the error.
    pub fn out_of_memory(&self) -> Option<&OutOfMemory> {
        match &self.fault {
            FileFault::OutOfMemory(error) => Some(error),
            FileFault::Wire(error) => error.out_of_memory(),
            _ => None,
        }
    }
}

impl FileFault {
    /// Whether the new file is in place, whole, in spite of the fault.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Unsynced(_) | Self::Unkept(_))
    }

    /// Whether the file is missing or damaged.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Read(error) => {
                !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput)
            }
            Self::HeaderLength { .. }
            | Self::Header { .. }
            | Self::Truncated { .. }
            | Self::Trailing { .. }
            | Self::Damaged { .. } => true,
            _ => false,
        }
    }

    /// Whether the file does not exist.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self, Self::Read(error) if error.kind() == ErrorKind::NotFound)
    }

    /// The fault for a failed read, which may be a lack of memory.
    pub(crate) fn read(error: io::Error) -> Self {
        FileFault::out_of_memory(error).unwrap_or_else(FileFault::Read)
    }

    /// The fault for a failed write, which may be a lack of memory.
    pub(crate) fn write(error: io::Error) -> Self {
        FileFault::out_of_memory(error).unwrap_or_else(FileFault::Write)
    }

    fn out_of_memory(error: io::Error) -> Result<Self, io::Error> {
        error.downcast().map(FileFault::OutOfMemory)
    }

    /// The error about this file.
    pub(crate) fn of(self, path: &Path) -> FileError {
        FileError { path: path.to_path_buf(), fault: self }
    }
}

/// As it is displayed, since programs whose `main` returns it print it so; with `{:#?}` its parts.
impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => {
                f.debug_struct("FileError").field("path", &self.path).field("fault", &self.fault).finish()
            }
            false => fmt::Display::fmt(self, f),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(source) => write!(f, "cannot be read: {source}"),
            Self::Write(source) => {
                write!(f, "was not written, and what was there before is as it was: {source}")
            }
            Self::Unsynced(source) => write!(
                f,
                "was written, but may not be there after a loss of power, as its folder cannot be synced: {source}"
            ),
            Self::Unkept(source) => {
                write!(f, "was written, but the checkpoint before it was not kept: {source}")
            }
            Self::Held { by } => {
                f.write_str("is held by another training: ")?;
                match by {
                    Some(holder) => write!(f, "{holder}")?,
                    None => f.write_str("it does not say which")?,
                }
                f.write_str("; wait until it has ended, or give this one another path")
            }
            Self::Damaged { tensor, bytes, written, found } => {
                match tensor {
                    Some(tensor) => write!(f, "tensor `{tensor}`")?,
                    None => f.write_str("the header")?,
                }
                write!(
                    f,
                    ", bytes {} to {}, is damaged: its checksum is {found}, but ",
                    bytes.start, bytes.end
                )?;
                match written {
                    Some(written) => write!(f, "{written} was written down")?,
                    None => f.write_str("none was written down that can be read")?,
                }
                f.write_str("; take another copy of the file")
            }
            Self::NoneIntact { newest, previous } => write!(
                f,
                "cannot be gone on from, and neither can the checkpoint before it: {newest}; {previous}"
            ),
            Self::HeaderLength { length, left } => write!(
                f,
                "this is no safetensors file: its first 8 bytes say that {length} bytes of header follow, but {left} \
                 bytes are left"
            ),
            Self::Header { why } => write!(f, "the header, from byte 8 on, describes no tensors: {why}"),
            Self::Truncated { tensor, end, length } => write!(
                f,
                "the file ends within tensor `{tensor}`: it has {length} bytes, but that tensor ends at byte {end}"
            ),
            Self::Location { tensor, why } => {
                write!(f, "the elements of tensor `{tensor}` cannot be found: {why}")
            }
            Self::Trailing { end, length } => {
                write!(f, "the file has {length} bytes, but its tensors end at byte {end}")
            }
            Self::Long { length, most } => {
                write!(f, "the file has {length} bytes, but these parameters take {most} at most")
            }
            Self::Differs(report) => {
                let lacks_or_has = !report.missing.is_empty() || !report.extra.is_empty();
                match (report.mismatched.is_empty(), lacks_or_has) {
                    (false, false) => write!(f, "the file has parameters of other types: {report}")?,
                    _ => write!(f, "the file does not have these parameters: {report}")?,
                }
                // If nothing fits, `Load::Intersect` takes nothing.
                if report.loaded > 0 { f.write_str("; `Load::Intersect` takes what fits") } else { Ok(()) }
            }
            Self::Name { name } => {
                write!(f, "a file cannot have a tensor `{name}`: it has one, or the format reserves the name")
            }
            Self::Note { name, why } => write!(f, "its note `{name}`: {why}"),
            Self::NoCheckpoint { why } => {
                write!(f, "this is no checkpoint: {why}; `Parameters::load` reads parameters")
            }
            Self::Trainings { found, expected } => write!(
                f,
                "this is a checkpoint of trainers of {}, but {} are to go on; give the trainers and networks that it was \
                 saved with, in their order",
                listed(found),
                listed(expected)
            ),
            Self::Updater { parameter, found, expected } => write!(
                f,
                "this is a checkpoint of another updater: it kept {found:?} of `{parameter}`, but this one keeps \
                 {expected:?}; `Parameters::load` reads the parameters alone"
            ),
            Self::Wire(error) => write!(f, "{error}"),
            #[cfg(feature = "models")]
            Self::Pickle(error) => write!(f, "{error}"),
            Self::Models { found: 0 } => {
                f.write_str("has no file `.pdmodel`, `.onnx`, `.json` or `__model__`")
            }
            Self::Models { found } => {
                write!(f, "has {found} files `.pdmodel`, `.onnx`, `.json` or `__model__`; name one of them")
            }
            Self::OutOfMemory(error) => write!(f, "{error}"),
        }
    }
}

/// The networks of each trainer: `(d) and (g, h)`.
fn listed(trainers: &[Vec<String>]) -> String {
    let networks = |networks: &Vec<String>| format!("({})", networks.join(", "));
    trainers.iter().map(networks).collect::<Vec<_>>().join(" and ")
}

impl From<ModelFileError> for FileError {
    fn from(ModelFileError { path, fault }: ModelFileError) -> Self {
        let fault = match fault {
            ModelFileFault::OutOfMemory(error) => FileFault::OutOfMemory(error),
            ModelFileFault::Models { found } => FileFault::Models { found },
            ModelFileFault::Truncated { tensor, end, length } => FileFault::Truncated { tensor, end, length },
            ModelFileFault::Location { tensor, why } => FileFault::Location { tensor, why },
            ModelFileFault::Read(error) => FileFault::read(error),
        };
        fault.of(&path)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            FileFault::Read(source)
            | FileFault::Write(source)
            | FileFault::Unsynced(source)
            | FileFault::Unkept(source) => Some(source),
            FileFault::NoneIntact { previous, .. } => Some(previous),
            FileFault::Wire(source) => Some(source),
            #[cfg(feature = "models")]
            FileFault::Pickle(source) => Some(source),
            FileFault::OutOfMemory(source) => Some(source),
            FileFault::HeaderLength { .. }
            | FileFault::Header { .. }
            | FileFault::Truncated { .. }
            | FileFault::Trailing { .. }
            | FileFault::Location { .. }
            | FileFault::Long { .. }
            | FileFault::Held { .. }
            | FileFault::Damaged { .. }
            | FileFault::Differs(_)
            | FileFault::NoCheckpoint { .. }
            | FileFault::Note { .. }
            | FileFault::Trainings { .. }
            | FileFault::Updater { .. }
            | FileFault::Models { .. }
            | FileFault::Name { .. } => None,
        }
    }
}
