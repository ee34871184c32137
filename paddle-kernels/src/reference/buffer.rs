//! Memory that tracks which of its bytes were written.

use std::ops::Range;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::Piece;
use paddle_core::program::DType;

use super::values::{Element, Values};

/// A piece of memory that tracks which of its bytes were written.
///
/// Other bytes may be copied, and stay unwritten in the copy, but may not be read. Memory checkers have the same rule.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

/// Copied bytes, and which of them were written.
pub(super) struct Copied {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Buffer {
    /// A buffer of `bytes` unwritten bytes.
    pub(super) fn with_bytes(bytes: usize) -> Result<Self, OutOfMemory> {
        let (mut contents, mut written) = (Vec::new(), Vec::new());
        contents.try_resize(bytes, 0)?;
        written.try_resize(bytes, false)?;
        Ok(Buffer { bytes: contents, written })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Copies a piece of another buffer, together with the knowledge of which bytes were written.
    pub(super) fn copy_from(&mut self, from: &Buffer, piece: Piece) {
        let (there, here) = (piece.from..piece.from + piece.bytes, piece.to..piece.to + piece.bytes);
        self.bytes[here.clone()].copy_from_slice(&from.bytes[there.clone()]);
        self.written[here].copy_from_slice(&from.written[there]);
    }

    pub(super) fn forget(&mut self) {
        self.written.fill(false);
    }

    /// The range of `bytes` bytes. A value without elements may be anywhere.
    fn range(&self, offset: usize, bytes: usize, done: &str) -> Range<usize> {
        let size = self.bytes.len();
        match offset.checked_add(bytes) {
            _ if bytes == 0 => 0..0,
            Some(end) if end <= size => offset..end,
            _ => panic!("{bytes} bytes at {offset} are {done} a memory of {size}"),
        }
    }

    pub(super) fn copy_out(&self, offset: usize, bytes: usize) -> Copied {
        let range = self.range(offset, bytes, "read from");
        Copied { bytes: self.bytes[range.clone()].to_vec(), written: self.written[range].to_vec() }
    }

    pub(super) fn copy_in(&mut self, offset: usize, copied: &Copied) {
        let range = self.range(offset, copied.bytes.len(), "written to");
        self.bytes[range.clone()].copy_from_slice(&copied.bytes);
        self.written[range].copy_from_slice(&copied.written);
    }

    /// `count` elements, or `None` if some byte was not written.
    pub(super) fn read<T: Element>(&self, offset: usize, count: usize) -> Option<Vec<T>> {
        let range = self.range(offset, count * T::BYTES, "read from");
        let whole = self.written[range.clone()].iter().all(|&written| written);
        whole.then(|| self.bytes[range].chunks_exact(T::BYTES).map(T::from_bytes).collect())
    }

    pub(super) fn write<T: Element>(&mut self, offset: usize, elements: &[T]) {
        let range = self.range(offset, elements.len() * T::BYTES, "written to");
        self.written[range.clone()].fill(true);
        for (bytes, element) in self.bytes[range].chunks_exact_mut(T::BYTES).zip(elements) {
            element.to_bytes(bytes);
        }
    }

    /// `count` elements as [`Values`], or `None` if some byte was not written.
    pub(super) fn read_values(&self, offset: usize, stored: DType, count: usize) -> Option<Values> {
        Some(match stored {
            DType::Bool => Values::Bool(self.read(offset, count)?),
            DType::I32 => Values::I32(self.read(offset, count)?),
            DType::I64 => Values::I64(self.read(offset, count)?),
            DType::F32 => Values::F32(self.read(offset, count)?),
            DType::F64 => Values::F64(self.read(offset, count)?),
        })
    }

    pub(super) fn write_values(&mut self, offset: usize, values: &Values) {
        match values {
            Values::Bool(values) => self.write(offset, values),
            Values::I32(values) => self.write(offset, values),
            Values::I64(values) => self.write(offset, values),
            Values::F32(values) => self.write(offset, values),
            Values::F64(values) => self.write(offset, values),
        }
    }
}
