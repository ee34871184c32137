//! Memory that knows which of its bytes were written.

use paddle_core::plan::OutOfMemory;
use paddle_core::program::DType;

use super::values::{Element, Values};

/// A piece of memory; `None` where nothing was written.
///
/// Such bytes may be copied, with their absence, but not read: the same rule as that of memory checkers.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<Option<u8>>,
}

impl Buffer {
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let more = bytes.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(more).map_err(|_| OutOfMemory { bytes })?;
        self.bytes.resize(self.bytes.len() + more, None);
        Ok(())
    }

    pub(super) fn forget(&mut self) {
        self.bytes.fill(None);
    }

    pub(super) fn copy_out(&self, offset: usize, bytes: usize) -> Vec<Option<u8>> {
        match self.bytes.get(offset..offset + bytes) {
            Some(found) => found.to_vec(),
            // A value without elements may be anywhere.
            None if bytes == 0 => Vec::new(),
            None => panic!("{bytes} bytes at {offset} are read from a memory of {}", self.bytes.len()),
        }
    }

    pub(super) fn copy_in(&mut self, offset: usize, bytes: &[Option<u8>]) {
        let size = self.bytes.len();
        match self.bytes.get_mut(offset..offset + bytes.len()) {
            Some(target) => target.copy_from_slice(bytes),
            None if bytes.is_empty() => {}
            None => panic!("{} bytes at {offset} are written to a memory of {size}", bytes.len()),
        }
    }

    /// `count` elements, or `None` if some byte was not written.
    pub(super) fn read<T: Element>(&self, offset: usize, count: usize) -> Option<Vec<T>> {
        let bytes: Option<Vec<u8>> = self.copy_out(offset, count * T::BYTES).into_iter().collect();
        Some(bytes?.chunks_exact(T::BYTES).map(T::from_bytes).collect())
    }

    pub(super) fn write<T: Element>(&mut self, offset: usize, elements: &[T]) {
        let bytes: Vec<Option<u8>> =
            elements.iter().flat_map(|element| element.to_bytes()).map(Some).collect();
        self.copy_in(offset, &bytes);
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
