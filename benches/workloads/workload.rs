//! What every workload is: batches in host memory, and a step on one of them.

use ndarray::{Array2, ArrayD};
use paddle::core::plan::Backend;
use paddle::{
    Batch, Error, InferOptions, Network, Options, Parameters, Precision, Profile, Spec, Trainable, Trainer,
    Updater, infer_with, profile,
};

/// The number of batches in host memory.
pub(crate) const POOL: usize = 8;
/// The steps before the measurement, whose results are compared with those of other systems.
pub(crate) const CHECKED: usize = 50;

/// A workload on a backend, ready for its first step.
pub(crate) trait Workload {
    /// Trains on batch `at` of the pool and returns the loss before the update. In inference, it returns the number of the
    /// result that other systems compare.
    fn step(&mut self, at: usize) -> Result<f32, Error>;

    /// Computes products in this precision from now on.
    fn compute_in(&mut self, precision: Precision);

    /// What has to be done before step `number`, in no time that counts.
    fn prepare(&mut self, _number: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Measures where the time of about so many steps goes: a profile for each network of the workload.
    fn profile(&mut self, steps: usize) -> Result<Vec<Profile>, Error>;

    /// The steps whose results are compared: the first, an early one, and the last. Rounding has hardly grown at the early
    /// one.
    fn compared(&self) -> [usize; 3] {
        [0, 9, CHECKED - 1]
    }
}

/// A network that is trained on the pool.
pub(crate) struct Training<S: Trainable, B: Backend, U> {
    net: Network<S>,
    parameters: Parameters<B>,
    trainer: Trainer<U, B>,
    pool: Vec<Batch<S>>,
    options: Options,
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
        Training { net, parameters, trainer, pool, options: Options::default(), restart: None }
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
        let (net, batch) = (&self.net, &self.pool[at]);
        Ok(self.trainer.step_with(net, &mut self.parameters, batch, &self.options)?.cost())
    }

    fn compute_in(&mut self, precision: Precision) {
        self.options = Options::default().precision(precision);
    }

    fn prepare(&mut self, number: usize) -> Result<(), Error> {
        match &self.restart {
            Some((after, values)) if number.is_multiple_of(*after) => {
                values.iter().try_for_each(|(name, value)| self.parameters.set(name.as_str(), value))
            }
            _ => Ok(()),
        }
    }

    fn profile(&mut self, steps: usize) -> Result<Vec<Profile>, Error> {
        self.prepare(0)?;
        let most = self.restart.as_ref().map_or(steps, |(after, _)| steps.min(*after));
        let batches = self.pool.iter().cycle().take(most);
        Ok(vec![self.trainer.profile(&self.net, &mut self.parameters, batches, &self.options)?])
    }
}

/// Calls of a network on the pool.
pub(crate) struct Inference<S: Spec, B: Backend> {
    net: Network<S>,
    parameters: Parameters<B>,
    pool: Vec<Batch<S>>,
    precision: Precision,
}

impl<S: Spec, B: Backend + Clone> Inference<S, B> {
    pub(crate) fn new(net: Network<S>, parameters: Parameters<B>, pool: Vec<Batch<S>>) -> Self {
        Inference { net, parameters, pool, precision: Precision::F32 }
    }

    fn options(&self) -> InferOptions<'static> {
        InferOptions::default().precision(self.precision)
    }
}

impl<S: Spec, B: Backend + Clone> Workload for Inference<S, B> {
    fn step(&mut self, at: usize) -> Result<f32, Error> {
        let outputs = infer_with(&self.net, &self.parameters, &self.pool[at], self.options())?;
        let mut numbers = outputs.at::<f32>(0)?.into_iter();
        // The others compare the first number of the first batch, and the last one of the last batch.
        let compared = if at + 1 == POOL { numbers.last() } else { numbers.next() };
        Ok(compared.copied().unwrap_or(f32::NAN))
    }

    fn compute_in(&mut self, precision: Precision) {
        self.precision = precision;
    }

    fn profile(&mut self, steps: usize) -> Result<Vec<Profile>, Error> {
        let batches = self.pool.iter().cycle().take(steps);
        Ok(vec![profile::infer_with(&self.net, &self.parameters, batches, self.options())?])
    }

    fn compared(&self) -> [usize; 3] {
        [0, 1, POOL - 1]
    }
}

/// Numbers as a matrix.
pub(crate) fn matrix<T>(shape: [usize; 2], numbers: Vec<T>) -> Array2<T> {
    Array2::from_shape_vec(shape, numbers).expect("as many numbers as the matrix has")
}
