//! Files: parameters by name, written as a whole or not at all.
//!
//! [`Parameters::save`](crate::Parameters::save) writes a [safetensors](https://huggingface.co/docs/safetensors) file,
//! which other frameworks read, and [`Parameters::load`](crate::Parameters::load) reads one, of theirs too. In the files that are
//! written there are checksums, texts of the header that other readers leave alone: `paddle.crc32.NAME` is the CRC-32 of the elements of
//! the tensor `NAME`, and `paddle.crc32` that of the first eight bytes and the header, in which its own digits count as zeros. A file with
//! such texts that are not true is damaged, so who writes tensors of such a file anew should leave them out.
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
pub(crate) mod former;
pub(crate) mod keeper;
mod lock;
mod parameters;
mod report;
pub(crate) mod safetensors;
mod temporary;
// What writes and reads files is tested as a whole.
#[cfg(all(test, feature = "data", feature = "plot"))]
mod tests;
pub(crate) mod verify;

use std::io::{self, ErrorKind};
use std::path::Path;

pub use error::{FileError, FileFault};
pub use lock::Holder;
pub use report::{LoadReport, Mismatch};

/// The bytes of a file that can be read from its beginning to its end. A pipe would be waited for.
fn length(path: &Path) -> Result<u64, FileError> {
    match disk::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "this is no file")),
        Err(error) => Err(error),
    }
    .map_err(|error| FileFault::Read(error).of(path))
}

/// Which parameters are read from a file.
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
    /// All of them, and the file has no other ones.
    Strict,
    /// Those that the file has with the same element type and shape. None at all is an error.
    Intersect,
    /// Those for which the function says under which name the file has them: `Load::Map(&|name|
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
