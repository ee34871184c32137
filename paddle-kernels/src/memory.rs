//! Aligned heap memory: the only place where the backends allocate it.
#![allow(unsafe_code, reason = "owns raw allocations")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use paddle_core::memory::OutOfMemory;

/// Every buffer starts on a cache line, which is also the width of the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The byte that poisoned memory is filled with: as `f32` and `f64` it reads as NaN, as an integer as -1.
const POISON: u8 = 0xFF;

/// One aligned allocation of initialised bytes, which several buffers may share as long as all of them only read.
pub struct Buffer {
    /// Aligned to [`ALIGNMENT`]; `len` initialised bytes of `memory`, or dangles when `len` is 0.
    start: NonNull<u8>,
    len: usize,
    /// Frees the bytes when the last buffer that has them is gone.
    memory: Option<Arc<Allocation>>,
}

// SAFETY: shared references only read the bytes, and they are written only by the one buffer that has them.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Owns bytes.
struct Allocation {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it does nothing with its bytes but free them, once.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `with_bytes` allocated `start` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

impl Buffer {
    /// A buffer without bytes: allocates nothing.
    pub const fn new() -> Self {
        let aligned = std::num::NonZero::new(ALIGNMENT).unwrap();
        Buffer { start: NonNull::without_provenance(aligned), len: 0, memory: None }
    }

    /// `len` bytes, all zero.
    pub fn with_bytes(len: usize) -> Result<Self, OutOfMemory> {
        if len == 0 {
            return Ok(Buffer::new());
        }
        let layout = Layout::from_size_align(len, ALIGNMENT).map_err(|_| OutOfMemory::of(len))?;
        // SAFETY: the size of `layout` is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(|| OutOfMemory::of(len))?;
        Ok(Buffer { start, len, memory: Some(Arc::new(Allocation { start, layout })) })
    }

    /// Makes the buffer at least `len` bytes long. Its bytes are kept, new ones are zero; on an error nothing changes.
    /// The bytes may move.
    pub fn grow(&mut self, len: usize) -> Result<(), OutOfMemory> {
        if len > self.len {
            let mut grown = Buffer::with_bytes(len)?;
            grown.bytes_mut()[..self.len].copy_from_slice(self.bytes());
            *self = grown;
        }
        Ok(())
    }

    /// Another buffer with the same bytes. None of them can be written while there are several.
    pub fn share(&self) -> Self {
        Buffer { start: self.start, len: self.len, memory: self.memory.clone() }
    }

    /// Whether no other buffer has these bytes.
    pub fn is_exclusive(&self) -> bool {
        let Some(memory) = &self.memory else { return true };
        let alone = Arc::strong_count(memory) == 1;
        // What others have read before they were dropped comes before anything that is written now.
        fence(Ordering::Acquire);
        alone
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte, aligned to [`ALIGNMENT`]. Valid until the buffer grows or is dropped.
    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// The first byte, for writing if the buffer [is exclusive](Self::is_exclusive).
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes and nobody writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// All bytes, for writing.
    ///
    /// # Panics
    /// If another buffer has them, too.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.is_exclusive(), "memory is written that others read");
        // SAFETY: as in `bytes`, and `self`, the only buffer that has them, is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Fills the buffer with NaN, so that a value read before it is written shows.
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
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn growing_keeps_bytes_and_never_shrinks() {
        let mut buffer = Buffer::new();
        buffer.grow(3).unwrap();
        buffer.bytes_mut().copy_from_slice(&[1, 2, 3]);
        buffer.grow(1000).unwrap();
        assert_eq!(buffer.bytes()[..4], [1, 2, 3, 0]);
        assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        let place = buffer.as_ptr();
        buffer.grow(10).unwrap();
        assert_eq!((buffer.len(), buffer.as_ptr()), (1000, place));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where memory does")]
    fn too_much_is_an_error_that_changes_nothing() {
        let mut buffer = Buffer::with_bytes(8).unwrap();
        buffer.bytes_mut().fill(7);
        for bytes in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 63] {
            assert_eq!(Buffer::with_bytes(bytes).unwrap_err(), OutOfMemory::of(bytes));
            assert_eq!(buffer.grow(bytes).unwrap_err(), OutOfMemory::of(bytes));
        }
        assert_eq!(buffer.bytes(), [7; 8]);
    }

    #[test]
    fn shared_bytes_are_read_by_all_and_written_by_none() {
        let mut buffer = Buffer::with_bytes(8).unwrap();
        buffer.bytes_mut().fill(7);
        let mut other = buffer.share();
        assert_eq!((other.as_ptr(), other.bytes()), (buffer.as_ptr(), buffer.bytes()));
        assert!(!buffer.is_exclusive() && !other.is_exclusive());
        for shared in [&mut buffer, &mut other] {
            let write = std::panic::AssertUnwindSafe(|| shared.bytes_mut().fill(1));
            assert!(std::panic::catch_unwind(write).is_err());
        }
        drop(buffer);
        assert!(other.is_exclusive());
        other.bytes_mut()[0] = 1;
        assert_eq!(other.bytes(), [1, 7, 7, 7, 7, 7, 7, 7]);
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
