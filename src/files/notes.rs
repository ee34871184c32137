//! Notes beside the tensors of a file: values of any type, as JSON texts in its header.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{FileError, FileFault};
use super::safetensors::TensorFile;

/// What the keys of notes begin with in the header.
const KEY: &str = "paddle.note.";

/// Notes for a file of parameters: what has to be known to use them, such as how rows are prepared. They are written by
/// [`Parameters::save_with`](crate::Parameters::save_with), and [`note`] reads one of them.
///
/// ```
/// use paddle::files::{Notes, note};
/// use paddle::{Parameters, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1));
/// # let path = std::env::temp_dir().join(format!("paddle-notes-{}.safetensors", std::process::id()));
/// let notes = Notes::default().with("columns", &["rooms", "age"]);
/// Parameters::create(&net)?.save_with(&path, &notes)?;
/// assert_eq!(note::<Vec<String>>(&path, "columns")?, ["rooms", "age"]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    name: String,
    /// The value as JSON, or why it has no such form.
    text: Result<String, String>,
}

impl Notes {
    /// Adds a value under a name. Another value of that name is replaced. A value that has no form in JSON is an error when
    /// the notes are written.
    pub fn with(mut self, name: &str, value: &impl Serialize) -> Self {
        let text = serde_json::to_string(value).map_err(|error| error.to_string());
        self.0.retain(|note| note.name != name);
        self.0.push(Note { name: name.to_string(), text });
        self
    }

    /// The texts of the header, with their keys.
    pub(super) fn texts(&self) -> Result<Vec<(String, String)>, FileFault> {
        let text = |Note { name, text }: &Note| match text {
            Ok(text) => Ok((format!("{KEY}{name}"), text.clone())),
            Err(why) => Err(FileFault::Note { name: name.clone(), why: why.clone() }),
        };
        self.0.iter().map(text).collect()
    }
}

/// Reads a note of a file that [`Parameters::save_with`](crate::Parameters::save_with) wrote. The checksum of the header is
/// checked. [`Notes`] has an example.
///
/// # Errors
/// The file cannot be read, is damaged, has no such note ([`FileFault::Note`]), or has a value of another type there.
pub fn note<T: DeserializeOwned>(path: impl AsRef<Path>, name: &str) -> Result<T, FileError> {
    let path = path.as_ref();
    let file = TensorFile::open(path)?;
    let failed = |why: String| FileFault::Note { name: name.to_string(), why }.of(path);
    let text = file.text(&format!("{KEY}{name}")).ok_or_else(|| failed("it is not there".to_string()))?;
    serde_json::from_str(text).map_err(|error| failed(error.to_string()))
}
