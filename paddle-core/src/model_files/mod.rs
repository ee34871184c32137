//! Models in files: which file a path means, and what a model has in other files.
//!
//! Loading, the command and `include_model!` ask this module, so a path means the same to all of them. They say by [`FileSystem`] how
//! files are read.

mod error;
#[cfg(feature = "read")]
mod external_data;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

pub use error::{ModelFileError, ModelFileFault};
#[cfg(feature = "read")]
pub use external_data::read_external_data;

/// The operations on files that reading a model takes.
pub trait FileSystem {
    /// The names of all that a folder has.
    ///
    /// # Errors
    /// Those of the system.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// The metadata of a path, links followed.
    ///
    /// # Errors
    /// Those of the system.
    fn metadata(&self, path: &Path) -> io::Result<fs::Metadata>;

    /// A path without links.
    ///
    /// # Errors
    /// Those of the system.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf>;

    /// Fills `room` with the bytes of a file from `offset` on.
    ///
    /// # Errors
    /// Those of the system.
    fn read_part(&self, path: &Path, offset: u64, room: &mut [u8]) -> io::Result<()>;
}

/// The files of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl FileSystem for System {
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn metadata(&self, path: &Path) -> io::Result<fs::Metadata> {
        fs::metadata(path)
    }

    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn read_part(&self, path: &Path, offset: u64, room: &mut [u8]) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(room)
    }
}

/// The file that a path means: the only model of a folder, the path itself if it has the name of a model, or else the path with the
/// extension of one behind it, the first of `.pdmodel`, `.onnx` and `.json` that there is. It need not exist, unless the path is a folder.
///
/// Many files are called `.json`. In a folder without other models, those are meant that have the values of parameters beside them, and
/// if none has, any.
///
/// # Errors
/// If the path is a folder that cannot be read, or has no model or several.
pub fn file_of(path: &Path, files: &impl FileSystem) -> Result<PathBuf, ModelFileError> {
    if files.metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        let names = files.names(path).map_err(|error| ModelFileFault::Read(error).of(path))?;
        let is_file = |file: &PathBuf| files.metadata(file).is_ok_and(|metadata| metadata.is_file());
        let (json, mut models): (Vec<PathBuf>, Vec<PathBuf>) = names
            .iter()
            .map(|name| path.join(name))
            .filter(|file| is_model(file) && is_file(file))
            .partition(|file| is_json(file));
        if models.is_empty() {
            let has_values = |file: &&PathBuf| is_file(&values_beside(file));
            models = json.iter().filter(has_values).cloned().collect();
        }
        if models.is_empty() {
            models = json;
        }
        return <[PathBuf; 1]>::try_from(models)
            .map(|[model]| model)
            .map_err(|models| ModelFileFault::Models { found: models.len() }.of(path));
    }
    if is_model(path) {
        return Ok(path.to_path_buf());
    }
    let named = ["pdmodel", "onnx", "json"].map(|extension| with_extension(path, extension));
    let found = named.iter().find(|path| files.metadata(path).is_ok());
    Ok(found.unwrap_or(&named[0]).clone())
}

/// Whether a path has the name of a model: `.pdmodel`, `.onnx`, `.json`, which PaddlePaddle saves from version 3 on, or what it called
/// models at first, `__model__`.
pub fn is_model(path: &Path) -> bool {
    has_extension(path, "pdmodel")
        || has_extension(path, "onnx")
        || is_json(path)
        || has_no_name_of_its_own(path)
}

fn is_json(path: &Path) -> bool {
    has_extension(path, "json")
}

/// Whether a model is called `__model__`, like all that PaddlePaddle saved before it had extensions.
pub fn has_no_name_of_its_own(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("__model__"))
}

/// Whether a path has this extension.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The path of a file with this extension, which may be given without it.
pub fn with_extension(path: &Path, extension: &str) -> PathBuf {
    if has_extension(path, extension) {
        return path.to_path_buf();
    }
    // A name may have dots of its own.
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// The file that has the values of a model's parameters, if it is where PaddlePaddle puts it: beside a `.pdmodel` or `.json` the
/// `.pdiparams` of its name, beside `__model__` the file `__params__`. Beside `__model__` each parameter may have a file
/// of its own instead.
pub fn values_beside(model: &Path) -> PathBuf {
    match has_no_name_of_its_own(model) {
        true => model.with_file_name("__params__"),
        false => model.with_extension("pdiparams"),
    }
}

/// The path of a file that is named relative to the model, if it does not lead out of the model's folder.
pub fn within(model: &Path, location: &str) -> Option<PathBuf> {
    let location = Path::new(location);
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let names_file = location.components().any(|part| matches!(part, Component::Normal(_)));
    (names_file && location.components().all(is_inside)).then(|| folder(model).join(location))
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
