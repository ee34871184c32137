//! Files of parameters, written as a whole or not at all.
//!
//! [`Parameters::save`](crate::Parameters::save) writes a [safetensors](https://huggingface.co/docs/safetensors) file,
//! which other frameworks can read. [`Parameters::load`](crate::Parameters::load) reads such files, also those of other
//! frameworks. The files have checksums, as texts in the header that other readers ignore: `paddle.crc32.NAME` is the
//! CRC-32 of the elements of the tensor `NAME`, and `paddle.crc32` that of the first eight bytes and the header, in
//! which its own digits count as zeros. A file whose checksums are wrong is damaged, so a program that rewrites its
//! tensors should leave the checksums out.
//!
//! ```
//! use paddle::files::Load;
//! use paddle::{Parameters, network};
//!
//! let small = network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
//! let large = network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); let more = fc(line, 4); more });
//! # let path = std::env::temp_dir().join(format!("paddle-doc-{}.safetensors", std::process::id()));
//! Parameters::create(&small)?.save(&path)?;
//!
//! let mut parameters = Parameters::create(&large)?;
//! let error = parameters.load(&path, Load::Strict).unwrap_err();
//! assert!(error.to_string().ends_with("it lacks `more.w`, `more.b`; `Load::Intersect` takes what fits"));
//! let report = parameters.load(&path, Load::Intersect)?;
//! assert_eq!((report.loaded, report.missing), (2, vec!["more.w".to_string(), "more.b".to_string()]));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), paddle::Error>(())
//! ```

pub(crate) mod atomic;
pub(crate) mod checkpoint;
mod checksum;
pub(crate) mod disk;
mod error;
pub(crate) mod former_names;
pub(crate) mod keeper;
mod load_report;
mod lock;
pub(crate) mod matching;
mod notes;
mod parameters;
pub(crate) mod safetensors;
mod temporary;
// The tests cover writing and reading as a whole.
#[cfg(all(test, feature = "data", feature = "plot"))]
mod tests;
pub(crate) mod verify;

use std::io::{self, ErrorKind};
use std::path::Path;

pub use error::{FileError, FileFault};
pub use load_report::{LoadReport, Mismatch};
pub use lock::Holder;
pub use notes::{Notes, note};

/// The length of a file in bytes. Errors if it is not a regular file: reading a pipe would wait.
fn length(path: &Path) -> Result<u64, FileError> {
    match disk::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "this is no file")),
        Err(error) => Err(error),
    }
    .map_err(|error| FileFault::Read(error).of(path))
}

/// The parameters that are read from a file.
///
/// ```
/// use paddle::files::Load;
/// use paddle::{Parameters, network};
///
/// let model = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "encoder"));
/// let larger = network!(|x: Tensor<f32, _, 2>| fc(fc(x, 1, param = "mine.encoder"), 3, param = "head"));
/// # let path = std::env::temp_dir().join(format!("paddle-load-{}.safetensors", std::process::id()));
/// Parameters::create(&model)?.save(&path)?;
/// let mut parameters = Parameters::create(&larger)?;
/// let name = |name: &str| name.strip_prefix("mine.").map(str::to_string);
/// assert_eq!(parameters.load(&path, Load::Map(&name))?.loaded, 2);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub enum Load<'a> {
    /// All of them; the file has no others.
    Strict,
    /// Those that the file has with the same element type and shape. It is an error if there are none.
    Intersect,
    /// Those for which the function returns a name; it is the name in the file: `Load::Map(&|name|
    /// name.strip_prefix("encoder.").map(str::to_string))`.
    Map(&'a dyn Fn(&str) -> Option<String>),
}

impl std::fmt::Debug for Load<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Load::Strict => "Strict",
            Load::Intersect => "Intersect",
            Load::Map(_) => "Map(..)",
        })
    }
}
