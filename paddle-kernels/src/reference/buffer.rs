//! Memory that knows which of its bytes were written.

use std::ops::Range;
use std::sync::Arc;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::Move;
use paddle_core::program::DType;

use super::values::{Element, Values};

/// A piece of memory that knows where something was written.
///
/// Other bytes may be copied, with their absence, but not read: the same rule as that of memory checkers.
#[derive(Debug, Default)]
pub struct Buffer(Arc<Contents>);

/// Bytes, and which of them were written.
#[derive(Debug, Default)]
pub(super) struct Contents {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Buffer {
    /// Another buffer with the same contents.
    pub(super) fn share(&self) -> Self {
        Buffer(Arc::clone(&self.0))
    }

    /// The contents, to be changed.
    fn contents(&mut self) -> &mut Contents {
        Arc::get_mut(&mut self.0).expect("memory is written that others read")
    }

    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let contents = self.contents();
        let (size, more) = (contents.bytes.len(), bytes.saturating_sub(contents.bytes.len()));
        contents.bytes.try_grow(more)?;
        contents.written.try_grow(more)?;
        contents.bytes.resize(size + more, 0);
        contents.written.resize(size + more, false);
        Ok(())
    }

    /// Takes over a piece of another memory, with what is not written of it.
    pub(super) fn copy_from(&mut self, from: &Buffer, piece: Move) {
        let (there, here) = (piece.from..piece.from + piece.bytes, piece.to..piece.to + piece.bytes);
        let contents = self.contents();
        contents.bytes[here.clone()].copy_from_slice(&from.0.bytes[there.clone()]);
        contents.written[here].copy_from_slice(&from.0.written[there]);
    }

    pub(super) fn forget(&mut self) {
        self.contents().written.fill(false);
    }

    /// Where so many bytes are. A value without elements may be anywhere.
    fn range(&self, offset: usize, bytes: usize, done: &str) -> Range<usize> {
        let size = self.0.bytes.len();
        match offset.checked_add(bytes) {
            _ if bytes == 0 => 0..0,
            Some(end) if end <= size => offset..end,
            _ => panic!("{bytes} bytes at {offset} are {done} a memory of {size}"),
        }
    }

    pub(super) fn copy_out(&self, offset: usize, bytes: usize) -> Contents {
        let range = self.range(offset, bytes, "read from");
        Contents { bytes: self.0.bytes[range.clone()].to_vec(), written: self.0.written[range].to_vec() }
    }

    pub(super) fn copy_in(&mut self, offset: usize, copied: &Contents) {
        let range = self.range(offset, copied.bytes.len(), "written to");
        let contents = self.contents();
        contents.bytes[range.clone()].copy_from_slice(&copied.bytes);
        contents.written[range].copy_from_slice(&copied.written);
    }

    /// `count` elements, or `None` if some byte was not written.
    pub(super) fn read<T: Element>(&self, offset: usize, count: usize) -> Option<Vec<T>> {
        let range = self.range(offset, count * T::BYTES, "read from");
        let whole = self.0.written[range.clone()].iter().all(|&written| written);
        whole.then(|| self.0.bytes[range].chunks_exact(T::BYTES).map(T::from_bytes).collect())
    }

    pub(super) fn write<T: Element>(&mut self, offset: usize, elements: &[T]) {
        let range = self.range(offset, elements.len() * T::BYTES, "written to");
        let contents = self.contents();
        contents.written[range.clone()].fill(true);
        for (bytes, element) in contents.bytes[range].chunks_exact_mut(T::BYTES).zip(elements) {
            element.to_bytes(bytes);
        }
    }

    /// As [`Buffer::read`].
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
