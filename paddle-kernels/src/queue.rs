//! The queue of backends that do work as soon as it is queued.

use paddle_core::memory::TryGrow;
use paddle_core::plan::{Fault, KernelError, Token};

/// Results of the queued work that the host has not fetched yet: elements `R` that were read, and the first fault.
#[derive(Debug)]
pub struct Queue<R> {
    fault: Option<Fault>,
    /// The elements of all tokens that the host has not waited for yet.
    read: Vec<R>,
    tokens: usize,
}

impl<R> Default for Queue<R> {
    fn default() -> Self {
        Queue { fault: None, read: Vec::new(), tokens: 0 }
    }
}

impl<R: Clone> Queue<R> {
    /// Does some work, unless earlier work failed.
    #[inline]
    pub(crate) fn run(&mut self, launch: u32, work: impl FnOnce() -> Result<(), KernelError>) {
        if self.fault.is_none()
            && let Err(error) = work()
        {
            self.fault = Some(Fault { launch, error });
        }
    }

    /// Whether a launch failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    /// Keeps elements for the host. The token says where they begin.
    pub(crate) fn read(&mut self, elements: &[R]) -> Token {
        let token = Token(self.read.len());
        self.tokens += 1;
        if let Err(error) = self.read.try_extend_from_slice(elements) {
            let error = error.wanted_for("elements that the host reads").into();
            self.fault.get_or_insert(Fault { launch: 0, error });
        }
        token
    }

    /// Gives the host the elements from a token on.
    pub(crate) fn wait(&mut self, token: Token, take: impl FnOnce(&[R])) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        take(&self.read[token.0..]);
        self.tokens -= 1;
        if self.tokens == 0 {
            self.read.clear();
        }
        Ok(())
    }

    /// The first fault since the previous call.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        self.read.clear();
        self.tokens = 0;
        self.fault.take().map_or(Ok(()), Err)
    }
}
