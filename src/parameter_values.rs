//! The values of a set of parameters. Any number of calls read them at the same time, without locks.
//!
//! A few networks change parameters in inference: an area under a curve counts rows. Calls of such a network take
//! turns. The first such change moves the value of a parameter behind a lock; the next exclusive borrow of the set
//! moves it back. Other calls take the lock only if they read a value behind it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use paddle_core::plan::{Backend, Buffers, Executor, HostSliceMut, RunError, Stored, StoredValues};

/// The values of parameters.
pub(crate) struct ParameterValues<B: Backend> {
    buffers: Buffers<B>,
    /// The values behind the lock, with the numbers of their parameters. Their values in `buffers` are out of date.
    changed: Mutex<Vec<(u32, B::Buffer)>>,
    /// For each parameter on the backend, set if its value is behind the lock.
    is_changed: Vec<AtomicBool>,
    /// Set if any value is behind the lock.
    any: AtomicBool,
}

impl<B: Backend> ParameterValues<B> {
    pub(crate) fn new(buffers: Buffers<B>) -> Self {
        let is_changed = (0..buffers.own_count()).map(|_| AtomicBool::new(false)).collect();
        ParameterValues { buffers, changed: Mutex::new(Vec::new()), is_changed, any: AtomicBool::new(false) }
    }

    fn is_changed(&self, number: u32) -> bool {
        self.is_changed[number as usize].load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u32, B::Buffer)>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buffers, with all values in them.
    #[cfg(feature = "cluster")]
    pub(crate) fn into_buffers(mut self) -> Buffers<B> {
        self.buffers_mut();
        self.buffers
    }

    /// The version of the values.
    #[cfg(feature = "cluster")]
    pub(crate) fn version(&self) -> u64 {
        self.buffers.version()
    }

    /// The buffers for exclusive use, with all values in them.
    pub(crate) fn buffers_mut(&mut self) -> &mut Buffers<B> {
        for (number, buffer) in self.changed.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.buffers.replace(number, buffer);
            *self.is_changed[number as usize].get_mut() = false;
            *self.any.get_mut() = false;
        }
        &mut self.buffers
    }

    /// Computes a batch that has begun.
    pub(crate) fn compute(&self, backend: &B, executor: &mut Executor<B>) -> Result<(), RunError> {
        let mut takes_turns = executor.changed_parameters().next().is_some();
        takes_turns |= self.any.load(Ordering::Acquire)
            && executor.used_parameters().any(|number| self.is_changed(number));
        if !takes_turns {
            return executor.run_shared(&self.buffers);
        }
        let mut changed = self.lock();
        for number in executor.changed_parameters() {
            if !self.is_changed(number) {
                changed.push((number, backend.duplicate(self.buffers.own(number))?));
                self.is_changed[number as usize].store(true, Ordering::Release);
                self.any.store(true, Ordering::Release);
            }
        }
        executor.run_apart(&self.buffers, &mut changed)
    }
}

impl<B: Backend> StoredValues<B> for ParameterValues<B> {
    fn download(&self, backend: &B, from: &Stored, offset: usize, to: HostSliceMut<'_>) {
        if from.is_own() && self.is_changed(from.number) {
            let changed = self.lock();
            if let Some((_, buffer)) = changed.iter().find(|(number, _)| *number == from.number) {
                return backend.download(buffer, offset, to);
            }
        }
        self.buffers.download(backend, from, offset, to);
    }
}
