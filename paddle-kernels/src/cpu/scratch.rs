//! Memory that a kernel keeps from one launch to the next.

use std::sync::{Mutex, PoisonError};

use paddle_core::memory::{OutOfMemory, TryGrow};

/// Elements that hold anything when they are lent.
#[derive(Default)]
pub(super) struct Scratch<T>(Mutex<Vec<T>>);

impl<T: Copy + Default> Scratch<T> {
    /// Lends so many elements. More memory is taken only if no launch before has asked for as many.
    pub(super) fn lend<R>(&self, count: usize, work: impl FnOnce(&mut [T]) -> R) -> Result<R, OutOfMemory> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() < count {
            // Nothing in it is needed.
            *memory = Vec::new();
            memory.try_resize(count, T::default())?;
        }
        Ok(work(&mut memory[..count]))
    }
}
