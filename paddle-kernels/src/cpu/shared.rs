//! Matrices and images that several threads read, or write parts of.
#![allow(unsafe_code, reason = "an address that threads share")]

/// The address of the first element.
pub(super) struct Shared<T>(pub(super) *mut T);

// SAFETY: an address of elements that may be used on any thread; who dereferences it says why that is sound.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The address of an element.
    pub(super) fn at(&self, element: usize) -> *mut T {
        self.0.wrapping_add(element)
    }
}
