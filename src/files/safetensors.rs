//! Safetensors files: a header in JSON that names the tensors, and their elements.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use paddle_core::memory::{OutOfMemory, try_vec};
use paddle_core::plan::{Backend, Stored};
use paddle_core::program::DType;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::error::{FileError, FileFault};
use super::{atomic, length};
use crate::batch::Shape;
use crate::element::Values;
use crate::stored;

/// The bytes that say how long the header is.
const PREFIX: u64 = 8;

/// Readers of the format refuse longer headers.
const MAX_HEADER: u64 = 100_000_000;

/// The name under which the format keeps what is no tensor.
const RESERVED: &str = "__metadata__";

/// A tensor that is to be written.
pub(crate) struct Tensor<'a> {
    name: String,
    stored: &'a Stored,
    values: Box<dyn Fn() -> Result<Values, OutOfMemory> + 'a>,
}

impl<'a> Tensor<'a> {
    /// A value of this buffer, under this name.
    pub(crate) fn new<B: Backend>(
        name: &str,
        stored: &'a Stored,
        backend: &'a B,
        buffer: &'a B::Buffer,
    ) -> Self {
        let values = Box::new(move || stored::values(backend, buffer, stored));
        Tensor { name: name.to_string(), stored, values }
    }
}

/// Writes tensors, and a text by its name.
pub(crate) fn write(
    path: &Path,
    text: Option<(&str, String)>,
    tensors: &[Tensor<'_>],
) -> Result<(), FileError> {
    let mut names = BTreeSet::from([RESERVED]);
    if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
        return Err(FileFault::Name { name: twice.name.clone() }.of(path));
    }
    // Large elements first, as the format wants: each then begins at a multiple of its size.
    let mut order: Vec<_> = tensors.iter().collect();
    order.sort_by_key(|tensor| (Reverse(dtype(tensor.stored.dtype)), &tensor.name));
    let mut end = 0;
    let infos = order.iter().map(|Tensor { name, stored, .. }| {
        let (dtype, begin) = (dtype(stored.dtype), end);
        end += stored.elements() * (dtype.bitsize() / 8);
        (name.clone(), TensorInfo { dtype, shape: stored.dims.clone(), data_offsets: (begin, end) })
    });
    let infos = infos.collect();
    let text = text.map(|(name, text)| [(name.to_string(), text)].into_iter().collect());
    let header = Metadata::new(text, infos).map_err(|error| error.to_string());
    let header = header.and_then(|header| serde_json::to_vec(&header).map_err(|error| error.to_string()));
    let mut header = header.map_err(|why| FileFault::Header { why }.of(path))?;
    header.resize(header.len().next_multiple_of(PREFIX as usize), b' ');
    let mut bytes = Vec::new();
    let written = atomic::write(path, |out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for tensor in &order {
            bytes.clear();
            let written = (tensor.values)()?.write_le_bytes(&mut bytes);
            written.map_err(|error| error.wanted_for(format_args!("tensor `{}`", tensor.name)))?;
            out.write_all(&bytes)?;
        }
        Ok(())
    });
    written.map_err(|error| FileFault::write(error).of(path))
}

/// A file of which the header has been read and compared with the file's length.
pub(crate) struct TensorFile {
    path: PathBuf,
    file: File,
    header: Metadata,
    /// The byte at which the elements begin.
    elements: u64,
}

impl TensorFile {
    /// Nothing is allocated but for the header, and no more than the file has.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let failed = |error| FileFault::read(error).of(path);
        let length = length(path)?;
        let mut file = File::open(path).map_err(failed)?;
        let mut prefix = [0; PREFIX as usize];
        let left = length.saturating_sub(PREFIX);
        let known = length.min(PREFIX) as usize;
        file.read_exact(&mut prefix[..known]).map_err(failed)?;
        let header = u64::from_le_bytes(prefix);
        if length < PREFIX || header > left || header > MAX_HEADER {
            return Err(FileFault::HeaderLength { length: header, left }.of(path));
        }
        let elements = PREFIX + header;
        let mut bytes = try_vec(header as usize).map_err(|error| failed(error.into()))?;
        file.read_exact(&mut bytes).map_err(failed)?;
        let header: Metadata = serde_json::from_slice(&bytes)
            .map_err(|error| FileFault::Header { why: error.to_string() }.of(path))?;
        let end = elements.saturating_add(header.data_len() as u64);
        if length < end {
            let names = header.offset_keys().into_iter();
            let ends = names.filter_map(|name| {
                let end = elements.saturating_add(header.info(&name)?.data_offsets.1 as u64);
                Some((name, end))
            });
            let cut = ends.into_iter().find(|(_, end)| *end > length);
            let (tensor, end) = cut.unwrap_or_default();
            return Err(FileFault::Truncated { tensor, end, length }.of(path));
        }
        if length > end {
            return Err(FileFault::Trailing { end, length }.of(path));
        }
        Ok(TensorFile { path: path.to_path_buf(), file, header, elements })
    }

    /// The text of this name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(name).map(String::as_str)
    }

    /// The names of the tensors, sorted.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.header.tensors().into_keys().collect()
    }

    /// Whether a tensor is of this type: if not, what it is; `None` where there is no such tensor.
    pub(crate) fn compare(&self, name: &str, element: DType, shape: &[usize]) -> Option<Result<(), String>> {
        let info = self.header.info(name)?;
        let same = info.dtype == dtype(element) && info.shape == shape;
        Some(if same { Ok(()) } else { Err(format!("{}{}", info.dtype, Shape(info.shape.clone()))) })
    }

    /// The elements of a tensor whose type was compared with this one.
    pub(crate) fn read(&mut self, name: &str, element: DType) -> Result<Values, FileError> {
        let (begin, end) = self.header.info(name).map_or((0, 0), |info| info.data_offsets);
        let wanted =
            |error: OutOfMemory| FileFault::OutOfMemory(error.wanted_for(format_args!("tensor `{name}`")));
        let mut bytes = try_vec(end - begin).map_err(|error| wanted(error).of(&self.path))?;
        let read = self.seek_and_read(begin as u64, &mut bytes);
        read.map_err(|error| FileFault::read(error).of(&self.path))?;
        Values::from_le_bytes(element, &bytes).map_err(|error| wanted(error).of(&self.path))
    }

    fn seek_and_read(&mut self, begin: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.elements + begin))?;
        self.file.read_exact(bytes)
    }
}

/// The element type in a file.
fn dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}

/// A type as files call it: `F32[128, 64]`.
pub(crate) fn shown(element: DType, shape: &[usize]) -> String {
    format!("{}{}", dtype(element), Shape(shape.to_vec()))
}
