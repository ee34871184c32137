//! What every workload is: batches in host memory, and a step on one of them.

use paddle::core::plan::Backend;
use paddle::{Batch, Error, Network, Parameters, Sgd, Spec, Trainer};

/// The number of batches in host memory.
pub(crate) const POOL: usize = 8;

/// A workload on a backend, ready for its first step.
pub(crate) trait Workload {
    /// Trains on batch `at` of the pool and returns the loss before the update.
    fn step(&mut self, at: usize) -> Result<f32, Error>;
}

/// A network that is trained on the pool.
pub(crate) struct Training<S: Spec, B: Backend> {
    pub(crate) net: Network<S>,
    pub(crate) parameters: Parameters<B>,
    pub(crate) trainer: Trainer<Sgd, B>,
    pub(crate) pool: Vec<Batch<S>>,
}

impl<S: Spec, B: Backend + Clone> Workload for Training<S, B> {
    fn step(&mut self, at: usize) -> Result<f32, Error> {
        Ok(self.trainer.step(&self.net, &mut self.parameters, &self.pool[at])?.cost())
    }
}
