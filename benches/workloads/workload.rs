//! What every workload is: batches in host memory, and a step on one of them.

use ndarray::{Array2, ArrayD};
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Network, Parameters, Trainable, Trainer, Updater};

/// The number of batches in host memory.
pub(crate) const POOL: usize = 8;

/// A workload on a backend, ready for its first step.
pub(crate) trait Workload {
    /// Trains on batch `at` of the pool and returns the loss before the update.
    fn step(&mut self, at: usize) -> Result<f32, Error>;

    /// What has to be done before step `number`, in no time that counts.
    fn prepare(&mut self, _number: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// A network that is trained on the pool.
pub(crate) struct Training<S: Trainable, B: Backend, U> {
    net: Network<S>,
    parameters: Parameters<B>,
    trainer: Trainer<U, B>,
    pool: Vec<Batch<S>>,
    /// After how many steps the parameters are as at first again, and what these are.
    restart: Option<(usize, Vec<Named>)>,
}

/// A parameter's name and its value.
type Named = (String, ArrayD<f32>);

impl<S: Trainable, B: Backend + Clone, U: Updater> Training<S, B, U> {
    pub(crate) fn new(
        net: Network<S>,
        parameters: Parameters<B>,
        trainer: Trainer<U, B>,
        pool: Vec<Batch<S>>,
    ) -> Self {
        Training { net, parameters, trainer, pool, restart: None }
    }

    /// The same, which begins anew after so many steps.
    pub(crate) fn restarting(mut self, after: usize) -> Self {
        let names: Vec<String> = self.parameters.names().map(str::to_string).collect();
        let value = |name: String| -> Named {
            let value = self.parameters.get::<f32>(name.as_str()).expect("it has this parameter");
            (name, value.into_dyn())
        };
        self.restart = Some((after, names.into_iter().map(value).collect()));
        self
    }
}

impl<S: Trainable, B: Backend + Clone, U: Updater> Workload for Training<S, B, U> {
    fn step(&mut self, at: usize) -> Result<f32, Error> {
        Ok(self.trainer.step(&self.net, &mut self.parameters, &self.pool[at])?.cost())
    }

    fn prepare(&mut self, number: usize) -> Result<(), Error> {
        match &self.restart {
            Some((after, values)) if number.is_multiple_of(*after) => {
                values.iter().try_for_each(|(name, value)| self.parameters.set(name.as_str(), value))
            }
            _ => Ok(()),
        }
    }
}

/// Numbers as a matrix.
pub(crate) fn matrix<T>(shape: [usize; 2], numbers: Vec<T>) -> Array2<T> {
    Array2::from_shape_vec(shape, numbers).expect("as many numbers as the matrix has")
}
