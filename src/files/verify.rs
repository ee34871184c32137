//! Whether files are what was written.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::{FileError, FileFault};
use super::safetensors::TensorFile;

/// What there is to say of the parts of a file.
///
/// [`verify`](crate::checkpoint::verify) has an example. Its `Display` is a line for each part.
#[derive(Debug)]
pub struct Verification {
    /// The file.
    pub path: PathBuf,
    /// Its parts, the header first, in the order of the file. There is nothing between them.
    pub parts: Vec<FilePart>,
}

/// What there is to say of a part of a file.
#[derive(Debug)]
pub struct FilePart {
    /// The name of the tensor; none if it is the header.
    pub tensor: Option<String>,
    /// Where it is.
    pub bytes: Range<u64>,
    /// Whether it is what was written; nothing if that is not known: the file has no checksums, or its header, which has them, is
    /// damaged.
    pub intact: Option<bool>,
}

impl Verification {
    /// Whether all of it is known to be what was written.
    pub fn is_intact(&self) -> bool {
        self.parts.iter().all(|part| part.intact == Some(true))
    }

    /// The parts that are not what was written.
    pub fn damaged(&self) -> impl Iterator<Item = &FilePart> {
        self.parts.iter().filter(|part| part.intact == Some(false))
    }
}

impl fmt::Display for Verification {
    /// A line for each part.
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

/// Compares the header of a file, and each of its tensors, with their checksums.
///
/// It reads checkpoints, the [one before](crate::checkpoint::previous) the newest too, and other files of parameters. Those that were
/// written by others, or before there were checksums, have none. Memory
/// is taken for the header only.
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
/// If the file cannot be read, or it cannot be said what its parts are: it is cut off, or its header is no description of tensors. Damage
/// is no error, but a part of the result.
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
