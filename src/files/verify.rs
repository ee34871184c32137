//! Verification: whether files are as they were written.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::{FileError, FileFault};
use super::safetensors::TensorFile;

/// The verification of a file.
///
/// [`verify`](crate::checkpoint::verify) has an example. `Display` prints a line for each part.
#[derive(Debug)]
pub struct Verification {
    /// The file.
    pub path: PathBuf,
    /// The parts, in the order of the file, without gaps. The header is the first one.
    pub parts: Vec<FilePart>,
}

/// The verification of one part of a file.
#[derive(Debug)]
pub struct FilePart {
    /// The name of the tensor; `None` for the header.
    pub tensor: Option<String>,
    /// The position of the part.
    pub bytes: Range<u64>,
    /// Whether the part is as it was written; `None` if that is unknown, because the file has no checksums, or because
    /// the header with the checksums is damaged.
    pub intact: Option<bool>,
}

impl Verification {
    /// Whether all parts are known to be as they were written.
    pub fn is_intact(&self) -> bool {
        self.parts.iter().all(|part| part.intact == Some(true))
    }

    /// The parts that have changed.
    pub fn damaged(&self) -> impl Iterator<Item = &FilePart> {
        self.parts.iter().filter(|part| part.intact == Some(false))
    }
}

impl fmt::Display for Verification {
    /// Prints a line for each part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|part| format!("{}: {part}", self.path.display()));
        f.write_str(&parts.collect::<Vec<_>>().join("\n"))
    }
}

impl fmt::Display for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tensor {
            Some(tensor) => write!(f, "tensor `{tensor}`")?,
            None => f.write_str("header")?,
        }
        let state = match self.intact {
            Some(true) => "intact",
            Some(false) => "damaged",
            None => "unknown, without a checksum",
        };
        write!(f, ", bytes {} to {}: {state}", self.bytes.start, self.bytes.end)
    }
}

/// Checks the header of a file, and each of its tensors, against their checksums.
///
/// It reads checkpoints, also the [previous](crate::checkpoint::previous) one, and other files of parameters. Files by
/// other programs, and old ones, have no checksums. Memory is taken only for the header.
///
/// ```
/// use paddle::{Parameters, checkpoint, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
/// # let path = std::env::temp_dir().join(format!("paddle-verify-{}.safetensors", std::process::id()));
/// Parameters::create(&net)?.save(&path)?;
/// assert!(checkpoint::verify(&path)?.is_intact());
///
/// let mut bytes = std::fs::read(&path).unwrap();
/// *bytes.last_mut().unwrap() ^= 1;
/// std::fs::write(&path, bytes).unwrap();
/// let verification = checkpoint::verify(&path)?;
/// let damaged: Vec<_> = verification.damaged().map(|part| part.tensor.as_deref()).collect();
/// assert_eq!(damaged, [Some("line.w")]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// The file cannot be read, or its parts are unknown: it is cut off, or its header does not describe tensors. Damage is
/// no error; it is in the result.
pub fn verify(path: impl AsRef<Path>) -> Result<Verification, FileError> {
    let path = path.as_ref();
    let mut file = TensorFile::open_unchecked(path)?;
    let is_intact = |checked: Result<(), FileFault>| match checked {
        Ok(()) => Ok(Some(true)),
        Err(FileFault::Damaged { .. }) => Ok(Some(false)),
        Err(fault) => Err(fault.of(path)),
    };
    let has_checksums = file.has_checksums();
    let header = if has_checksums { is_intact(file.check_header())? } else { None };
    let mut parts = vec![FilePart { tensor: None, bytes: 0..file.header_end(), intact: header }];
    for (tensor, bytes) in file.tensors() {
        let intact = if header == Some(true) { is_intact(file.check_tensor(&tensor))? } else { None };
        parts.push(FilePart { tensor: Some(tensor), bytes, intact });
    }
    Ok(Verification { path: path.to_path_buf(), parts })
}
