//! Tensors of a model in ONNX whose elements are in files beside it.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::{FileSystem, ModelFileError, ModelFileFault, folder, within};
use crate::memory::TryGrow;
use crate::wire::onnx::{ModelProto, TensorProto};

/// Reads the elements that are in other files into the model, which is in the file `path`: those of initialisers and constants of its
/// outermost graph. The files have to be within the folder of the model, also behind links.
///
/// # Errors
/// If a place is not within the folder, or no place of a file, or cannot be read.
pub fn read_external_data(
    model: &mut ModelProto,
    path: &Path,
    files: &impl FileSystem,
) -> Result<(), ModelFileError> {
    let graph = &mut model.graph;
    let constants = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    let constants = constants.filter_map(|attribute| attribute.t.as_mut());
    let mut data = Data { files, lengths: BTreeMap::new(), read: 0 };
    for tensor in graph.initializer.iter_mut().chain(constants) {
        if tensor.data_location == Some(1) {
            let elements = data.elements(tensor, path)?;
            (tensor.raw_data, tensor.data_location) = (Some(elements), None);
        }
    }
    Ok(())
}

/// The files that have been read from.
struct Data<'f, F> {
    files: &'f F,
    /// Their lengths.
    lengths: BTreeMap<PathBuf, u64>,
    /// The bytes that have been read. A few bytes of a model could ask for the same ones again and again.
    read: u64,
}

impl<F: FileSystem> Data<'_, F> {
    /// The elements of a tensor that are in another file.
    fn elements(&mut self, tensor: &TensorProto, model: &Path) -> Result<Vec<u8>, ModelFileError> {
        let name = tensor.name.clone().unwrap_or_default();
        let wrong = |why: String| ModelFileFault::Location { tensor: name.clone(), why }.of(model);
        let text = |key: &str| {
            let entry = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key))?;
            entry.value.as_deref()
        };
        let number = |key: &str| match text(key) {
            None => Ok(None),
            Some(text) => match text.parse::<u64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(wrong(format!("its `{key}` is `{text}`, which is no number of bytes"))),
            },
        };
        let location = text("location").ok_or_else(|| wrong("no file is named".into()))?;
        let path = within(model, location).ok_or_else(|| {
            wrong(format!("its file is `{location}`, which is not within the folder of the model"))
        })?;
        let read = |error| ModelFileFault::Read(error).of(&path);
        let resolved = self.files.resolved(&path).map_err(read)?;
        if !resolved.starts_with(self.files.resolved(folder(model)).map_err(read)?) {
            return Err(wrong(format!(
                "its file is `{location}`, which leads out of the folder of the model"
            )));
        }
        let metadata = self.files.metadata(&path).map_err(read)?;
        if !metadata.is_file() {
            return Err(read(Error::new(ErrorKind::InvalidInput, "it is no file")));
        }
        let (length, offset) = (metadata.len(), number("offset")?.unwrap_or(0));
        let count = number("length")?.unwrap_or(length.saturating_sub(offset));
        let end = offset.saturating_add(count);
        if end > length {
            return Err(ModelFileFault::Truncated { tensor: name, end, length }.of(&path));
        }
        self.lengths.insert(resolved, length);
        self.read = self.read.saturating_add(count);
        if self.read > self.lengths.values().sum() {
            return Err(wrong("tensors before it have the same bytes".into()));
        }
        let mut elements = Vec::new();
        let room = elements.try_resize(usize::try_from(count).unwrap_or(usize::MAX), 0u8);
        room.map_err(|error| {
            ModelFileFault::OutOfMemory(error.wanted_for("elements in another file")).of(&path)
        })?;
        self.files.read_part(&path, offset, &mut elements).map_err(read)?;
        Ok(elements)
    }
}
