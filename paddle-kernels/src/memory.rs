//! Aligned heap memory. The backends allocate it nowhere else.
#![allow(unsafe_code, reason = "owns raw allocations")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;

use paddle_core::memory::OutOfMemory;

/// The alignment of every buffer in bytes: a cache line, which is also the width of the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The byte of poisoned memory: it reads as NaN in `f32` and `f64`, and as -1 in an integer.
const POISON: u8 = 0xFF;

/// One aligned allocation of initialised bytes.
pub struct Buffer {
    /// Aligned to [`ALIGNMENT`]. It has `len` initialised bytes, and dangles if `len` is 0.
    start: NonNull<u8>,
    len: usize,
    /// The allocation, in which `start` is.
    allocation: *mut u8,
}

/// The layout of the allocation for `len` bytes, which may begin up to [`ALIGNMENT`] bytes before them. It asks for no
/// alignment itself: the system has zeroed pages at hand for such allocations, and fills others with zeros, which takes
/// the time and the memory of pages that nobody may ever use.
fn layout(len: usize) -> Result<Layout, OutOfMemory> {
    let padded = len.checked_add(ALIGNMENT).ok_or_else(|| OutOfMemory::of(len))?;
    Layout::from_size_align(padded, 1).map_err(|_| OutOfMemory::of(len))
}

// SAFETY: it owns its bytes, and shared references only read them.
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len > 0 {
            let layout = layout(self.len).expect("the layout was valid when memory was allocated");
            // SAFETY: `with_bytes` made the allocation with this layout.
            unsafe { dealloc(self.allocation, layout) };
        }
    }
}

impl Buffer {
    /// A buffer without bytes, which allocates nothing.
    pub const fn new() -> Self {
        let aligned = std::num::NonZero::new(ALIGNMENT).unwrap();
        Buffer { start: NonNull::without_provenance(aligned), len: 0, allocation: std::ptr::null_mut() }
    }

    /// A buffer of `len` bytes, all zero.
    pub fn with_bytes(len: usize) -> Result<Self, OutOfMemory> {
        if len == 0 {
            return Ok(Buffer::new());
        }
        let layout = layout(len)?;
        // SAFETY: the size of `layout` is not zero.
        let allocation = unsafe { alloc_zeroed(layout) };
        let first = NonNull::new(allocation).ok_or_else(|| OutOfMemory::of(len))?;
        // SAFETY: the allocation has `ALIGNMENT` bytes more than `len`, so the next aligned address, and `len` bytes
        // behind it, are in it.
        let start = unsafe { first.add(first.align_offset(ALIGNMENT)) };
        Ok(Buffer { start, len, allocation })
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first byte, aligned to [`ALIGNMENT`]. It is valid until the buffer is dropped. To write
    /// there, the caller has to have borrowed the buffer exclusively.
    pub fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes, and nothing writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// All bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Fills the buffer with NaN, so that the use of a value that was never written shows.
    pub fn fill_poison(&mut self) {
        self.bytes_mut().fill(POISON);
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::new()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_zeroed_and_aligned() {
        for len in [0, 1, 63, 64, 65, if cfg!(miri) { 1 << 12 } else { 1 << 20 }] {
            let buffer = Buffer::with_bytes(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.is_empty(), len == 0);
            assert_eq!(buffer.address() as usize % ALIGNMENT, 0);
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where memory does")]
    fn too_much_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 63] {
            assert_eq!(Buffer::with_bytes(bytes).unwrap_err(), OutOfMemory::of(bytes));
        }
    }

    #[test]
    fn poison_reads_as_nan() {
        let mut buffer = Buffer::with_bytes(16).unwrap();
        buffer.fill_poison();
        let bytes = buffer.bytes();
        assert!(f32::from_ne_bytes(bytes[..4].try_into().unwrap()).is_nan());
        assert!(f64::from_ne_bytes(bytes[8..].try_into().unwrap()).is_nan());
    }
}
