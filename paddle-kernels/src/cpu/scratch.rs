//! Memory that a kernel keeps from one launch to the next.

use std::sync::{Mutex, PoisonError};

use paddle_core::memory::{OutOfMemory, TryGrow};

/// Elements that a kernel borrows for a launch. They start with arbitrary values.
#[derive(Default)]
pub(super) struct Scratch<T>(Mutex<Vec<T>>);

impl<T: Copy + Default> Scratch<T> {
    /// Lends `count` elements. Memory is allocated only if no earlier launch has borrowed as many.
    pub(super) fn lend<R>(&self, count: usize, work: impl FnOnce(&mut [T]) -> R) -> Result<R, OutOfMemory> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() < count {
            // The elements are not needed any more, so they are freed before more are allocated.
            *memory = Vec::new();
            memory.try_resize(count, T::default())?;
        }
        Ok(work(&mut memory[..count]))
    }
}
