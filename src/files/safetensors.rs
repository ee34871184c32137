//! Safetensors files: a header in JSON that names the tensors, then their elements. Files that we write have checksums
//! of both.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use paddle_core::memory::{OutOfMemory, TryGrow, try_vec};
use paddle_core::plan::{Backend, Stored, StoredValues};
use paddle_core::program::DType;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::atomic::Writer;
use super::checksum::{self, Checksum, NONE};
use super::disk;
use super::error::{FileError, FileFault};
use super::length;
use crate::batch::Shape;
use crate::element::Values;
use crate::stored;

/// The number of bytes that hold the length of the header.
const PREFIX: u64 = 8;

/// The longest header. Other readers of the format have the same limit.
const MAX_HEADER: u64 = 100_000_000;

/// The key of the header's texts, which no tensor may have.
const RESERVED: &str = "__metadata__";

/// A tensor to be written.
pub(crate) struct Tensor<'a> {
    name: String,
    stored: &'a Stored,
    values: Box<dyn Fn() -> Result<Values, OutOfMemory> + 'a>,
}

impl<'a> Tensor<'a> {
    /// One of the values of these buffers, under this name.
    pub(crate) fn new<B: Backend>(
        name: &str,
        stored: &'a Stored,
        backend: &'a B,
        kept: &'a impl StoredValues<B>,
    ) -> Self {
        let values = Box::new(move || stored::values(backend, kept, stored));
        Tensor { name: name.to_string(), stored, values }
    }
}

/// The content of a file to be written: tensors, and texts with their keys.
pub(crate) struct Contents<'a> {
    tensors: Vec<Tensor<'a>>,
    texts: Vec<(String, String)>,
    /// The entries of the tensors in the header.
    described: String,
}

impl<'a> Contents<'a> {
    pub(crate) fn new(texts: Vec<(String, String)>, mut tensors: Vec<Tensor<'a>>) -> Result<Self, FileFault> {
        let mut names = BTreeSet::from([RESERVED]);
        if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(FileFault::Name { name: twice.name.clone() });
        }
        // The format asks for large elements first: then each tensor begins at a multiple of its element size.
        tensors.sort_by(|a, b| {
            let key = |tensor: &Tensor<'_>| Reverse(dtype(tensor.stored.dtype));
            (key(a), &a.name).cmp(&(key(b), &b.name))
        });
        let (mut described, mut end) = (String::new(), 0);
        for Tensor { name, stored, .. } in &tensors {
            let (dtype, begin) = (dtype(stored.dtype), end);
            end += stored.elements() * (dtype.bitsize() / 8);
            let info = TensorInfo { dtype, shape: stored.dims.clone(), data_offsets: (begin, end) };
            let info =
                serde_json::to_string(&info).map_err(|error| FileFault::Header { why: error.to_string() })?;
            described += &format!(",{}:{info}", string(name));
        }
        let contents = Contents { tensors, texts, described };
        let length = contents.header(&[], NONE).len() as u64 - PREFIX;
        if length > MAX_HEADER {
            let why =
                format!("it takes {length} bytes, but readers of the format refuse more than {MAX_HEADER}");
            return Err(FileFault::Header { why });
        }
        Ok(contents)
    }

    /// Writes the content. The checksums precede what they belong to, so they are filled in at the end.
    pub(crate) fn write(&self, out: &mut Writer<'_>) -> io::Result<()> {
        out.write_all(&self.header(&[], NONE))?;
        let (mut bytes, mut checksums) = (Vec::new(), Vec::new());
        for tensor in &self.tensors {
            bytes.clear();
            let written = (tensor.values)()?.write_le_bytes(&mut bytes);
            written.map_err(|error| error.wanted_for(format_args!("tensor `{}`", tensor.name)))?;
            checksums.push(checksum::of(&bytes));
            out.write_all(&bytes)?;
        }
        let own = checksum::of_header(&self.header(&checksums, NONE));
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&self.header(&checksums, &own))
    }

    /// The length and the header, with the checksums of the tensors that are known so far, and its own. Its length does
    /// not depend on the checksums.
    fn header(&self, checksums: &[String], own: &str) -> Vec<u8> {
        let mut texts = Vec::new();
        let mut add = |key: &str, text: &str| texts.push(format!("{}:{}", string(key), string(text)));
        self.texts.iter().for_each(|(key, text)| add(key, text));
        add(checksum::KIND, checksum::CRC32);
        add(checksum::OF_HEADER, own);
        for (k, tensor) in self.tensors.iter().enumerate() {
            add(&checksum::of_tensor(&tensor.name), checksums.get(k).map_or(NONE, String::as_str));
        }
        let header = format!("{{\"{RESERVED}\":{{{}}}{}}}", texts.join(","), self.described);
        let padded = header.len().next_multiple_of(PREFIX as usize);
        let mut bytes = (padded as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(PREFIX as usize + padded, b' ');
        bytes
    }
}

/// An open file whose header has been read and compared with the length of the file.
pub(crate) struct TensorFile<'a> {
    path: PathBuf,
    file: Box<dyn Content + 'a>,
    header: Metadata,
    /// The byte at which the elements begin.
    elements: u64,
    /// The checksum of the header as it is in the file; `None` if the file has no checksums.
    checksum: Option<String>,
}

/// What a file is read from: the disk, or memory.
trait Content: Read + Seek {}

impl<C: Read + Seek> Content for C {}

impl<'a> TensorFile<'a> {
    /// Opens a file. Memory is taken only for the header, and no more than the file has.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let file = Self::open_unchecked(path)?;
        file.check_header().map_err(|fault| fault.of(path))?;
        Ok(file)
    }

    /// Like [`open`](Self::open), but accepts a damaged header if it fits the length of the file.
    pub(super) fn open_unchecked(path: &Path) -> Result<Self, FileError> {
        let length = length(path)?;
        let file = disk::open(path).map_err(|error| FileFault::read(error).of(path))?;
        Self::of_content(Box::new(file), length, path)
    }

    /// A file in memory, which errors call by this name.
    pub(crate) fn in_memory(bytes: &'a [u8], name: &Path) -> Result<Self, FileError> {
        let file = Self::of_content(Box::new(Cursor::new(bytes)), bytes.len() as u64, name)?;
        file.check_header().map_err(|fault| fault.of(name))?;
        Ok(file)
    }

    fn of_content(mut file: Box<dyn Content + 'a>, length: u64, path: &Path) -> Result<Self, FileError> {
        let failed = |error| FileFault::read(error).of(path);
        let mut bytes = vec![0; PREFIX as usize];
        let left = length.saturating_sub(PREFIX);
        let known = length.min(PREFIX) as usize;
        file.read_exact(&mut bytes[..known]).map_err(failed)?;
        let header = bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        if length < PREFIX || header > left || header > MAX_HEADER {
            return Err(FileFault::HeaderLength { length: header, left }.of(path));
        }
        let elements = PREFIX + header;
        bytes.try_resize(elements as usize, 0).map_err(|error| failed(error.into()))?;
        file.read_exact(&mut bytes[PREFIX as usize..]).map_err(failed)?;
        let header: Metadata = serde_json::from_slice(&bytes[PREFIX as usize..])
            .map_err(|error| FileFault::Header { why: error.to_string() }.of(path))?;
        let mut texts = header.metadata().iter().flatten();
        let checksum = texts.any(|(key, _)| checksum::is_one(key)).then(|| checksum::of_header(&bytes));
        let file = TensorFile { path: path.to_path_buf(), file, header, elements, checksum };
        match file.check_length(length) {
            Ok(()) => Ok(file),
            // The lengths in a damaged header are meaningless, so damage is reported first.
            Err(fault) => Err(file.check_header().err().unwrap_or(fault).of(path)),
        }
    }

    /// Compares the length of the file with the header.
    fn check_length(&self, length: u64) -> Result<(), FileFault> {
        let end = self.elements.saturating_add(self.header.data_len() as u64);
        if length > end {
            return Err(FileFault::Trailing { end, length });
        }
        let mut ends = self.tensors().into_iter().map(|(tensor, bytes)| (tensor, bytes.end));
        match ends.find(|(_, end)| *end > length) {
            Some((tensor, end)) => Err(FileFault::Truncated { tensor, end, length }),
            None => Ok(()),
        }
    }

    /// Checks the checksum of the header.
    pub(super) fn check_header(&self) -> Result<(), FileFault> {
        match &self.checksum {
            Some(found) => {
                let written = self.text(checksum::OF_HEADER);
                checksum::compare(None, 0..self.elements, written, found.clone())
            }
            None => Ok(()),
        }
    }

    /// Checks the checksum of a tensor's elements, which are read in parts to save memory.
    pub(super) fn check_tensor(&mut self, name: &str) -> Result<(), FileFault> {
        let bytes = self.bytes(name);
        let (mut checksum, mut at) = (Checksum::default(), bytes.start);
        let mut buffer = vec![0; 1 << 16];
        self.file.seek(SeekFrom::Start(at)).map_err(FileFault::Read)?;
        while at < bytes.end {
            let part = buffer.len().min((bytes.end - at) as usize);
            self.file.read_exact(&mut buffer[..part]).map_err(FileFault::Read)?;
            checksum.add(&buffer[..part]);
            at += part as u64;
        }
        self.compare_checksum(name, bytes, checksum.digits())
    }

    /// Whether the file has checksums.
    pub(super) fn has_checksums(&self) -> bool {
        self.checksum.is_some()
    }

    fn compare_checksum(&self, name: &str, bytes: Range<u64>, found: String) -> Result<(), FileFault> {
        checksum::compare(Some(name), bytes, self.text(&checksum::of_tensor(name)), found)
    }

    /// The byte at which the elements begin.
    pub(super) fn header_end(&self) -> u64 {
        self.elements
    }

    /// The names of the tensors with their positions, in the order of the file.
    pub(super) fn tensors(&self) -> Vec<(String, Range<u64>)> {
        let names = self.header.offset_keys().into_iter();
        names.map(|name| (name.clone(), self.bytes(&name))).collect()
    }

    /// The position of a tensor's elements.
    fn bytes(&self, name: &str) -> Range<u64> {
        let (begin, end) = self.header.info(name).map_or((0, 0), |info| info.data_offsets);
        self.elements.saturating_add(begin as u64)..self.elements.saturating_add(end as u64)
    }

    /// The text with this key.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(name).map(String::as_str)
    }

    /// The names of the tensors, sorted.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.header.tensors().into_keys().collect()
    }

    /// Whether there is a tensor with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    /// Whether a tensor has this type; if not, `Err` is its type as text. `None` if there is no such tensor.
    pub(crate) fn compare(&self, name: &str, element: DType, shape: &[usize]) -> Option<Result<(), String>> {
        let info = self.header.info(name)?;
        let same = info.dtype == dtype(element) && info.shape == shape;
        Some(if same { Ok(()) } else { Err(format!("{}{}", info.dtype, Shape(info.shape.clone()))) })
    }

    /// Reads the elements of a tensor whose type has been compared.
    pub(crate) fn read(&mut self, name: &str, element: DType) -> Result<Values, FileError> {
        let place = self.bytes(name);
        let wanted =
            |error: OutOfMemory| FileFault::OutOfMemory(error.wanted_for(format_args!("tensor `{name}`")));
        let mut bytes =
            try_vec((place.end - place.start) as usize).map_err(|error| wanted(error).of(&self.path))?;
        let read = self.file.seek(SeekFrom::Start(place.start));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes)).map_err(FileFault::read);
        let checked = read.and_then(|()| match self.has_checksums() {
            true => self.compare_checksum(name, place, checksum::of(&bytes)),
            false => Ok(()),
        });
        checked.map_err(|fault| fault.of(&self.path))?;
        Values::from_le_bytes(element, &bytes).map_err(|error| wanted(error).of(&self.path))
    }
}

/// A text as JSON.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The element type in the terms of the format.
fn dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}

/// A type in the notation of the format: `F32[128, 64]`.
pub(crate) fn shown(element: DType, shape: &[usize]) -> String {
    format!("{}{}", dtype(element), Shape(shape.to_vec()))
}
