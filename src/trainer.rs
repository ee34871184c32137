//! The trainer: steps, and the loop over a reader.

#[cfg(feature = "cluster")]
mod ahead;
mod call;
pub(crate) mod checkpoint;
mod find_rate;
mod not_finite;
mod plan;
mod profiled;
#[cfg(feature = "cluster")]
mod recovery;
#[cfg(feature = "cluster")]
mod remote;
mod shards;
mod steps;

use std::marker::PhantomData;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use paddle_core::passes::clip::Clip;
use paddle_core::passes::optimize::Decay;
use paddle_core::plan::{Backend, HostSlice, RunStats, Stored};
use paddle_kernels::cpu::Cpu;

pub(crate) use self::call::Call;
use self::call::Reading;
pub use self::find_rate::RateSearch;
pub use self::not_finite::CostNotFinite;
use self::plan::Plan;
pub(crate) use self::profiled::training;
#[cfg(feature = "cluster")]
pub(crate) use self::shards::{FedShards, join};
pub(crate) use self::steps::Steps;
use crate::Error;
use crate::batch::{Rows, RowsOf};
use crate::element::Element;
use crate::event::Event;
use crate::metrics::Metrics;
use crate::network::{Network, Spec, Trainable, TrainableInPart};
use crate::options::Options;
use crate::parameters::{ParameterError, Parameters};
use crate::profile::{self, Profile};
use crate::reader::IntoItem;
use crate::stored;
use crate::train_loop::{self, Ended, Step};
use crate::updater::Updater;
use crate::updater::states::States;

/// Trains networks with one updater.
///
/// It owns its plans, the updater's states and, for each network, the numbers of passes and steps. A later call goes
/// on where the one before ended. The parameters belong to the caller.
///
/// A step computes gradients, clips them ([`clip`](Self::clip)), adds decay ([`decay`](Self::decay)) and updates.
///
/// ```
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Adam, Clip, Decay, Options, Parameters, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
///     let line = fc(x, 1);
///     mean(square(line - y))
/// });
/// let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0), net.row([1.0, 1.0], 4.0)];
/// let mut parameters = Parameters::create(&net)?;
/// let mut trainer = Trainer::new(Adam::new(0.1)).clip(Clip::GlobalNorm(5.0)).decay(Decay::L2(1e-4)).seed(7);
/// // A step at a time.
/// let first = trainer.step(&net, &mut parameters, &rows)?.cost();
/// // Or all that a reader has: 20 passes of 2 batches.
/// trainer.train(&net, &mut parameters, rows.passes(20).shuffle(3).batch(2), Options::default(), |_| Ok(()))?;
/// assert_eq!(trainer.steps(&net)?, 41);
/// assert!(trainer.step(&net, &mut parameters, &rows)?.cost() < first);
/// // What Adam keeps of a parameter has its shape.
/// let moment = trainer.state::<f32>(&parameters, net.params.line.w, "Moment1")?;
/// assert_eq!(moment.shape(), [2, 1]);
/// # Ok::<(), paddle::Error>(())
/// ```
pub struct Trainer<U, B: Backend = Cpu> {
    updater: U,
    steps: Steps<B>,
}

/// The result of a step.
///
/// ```
/// use paddle::{Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
///     let logits = fc(x, 3);
///     let right = accuracy(logits, label);
///     (mean(softmax_with_cross_entropy(logits, label)), right)
/// });
/// let mut trainer = Trainer::new(Sgd::new(0.1));
/// let outcome = trainer.step(&net, &mut Parameters::create(&net)?, [net.row([1.0, 0.0], 2), net.row([0.0, 1.0], 0)])?;
/// assert!(outcome.cost() > 0.0);
/// assert_eq!(outcome.rows(), 2);
/// assert_eq!(outcome.metric("right"), Some(outcome.metrics()[0]));
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome<'a> {
    cost: f32,
    rows: usize,
    metrics: &'a Metrics,
    stats: &'a RunStats,
}

impl<'a> Outcome<'a> {
    /// The cost of the batch, before the update.
    pub fn cost(&self) -> f32 {
        self.cost
    }

    /// The rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The metrics, in the order in which the network returns them: its scalar outputs behind the cost.
    pub fn metrics(&self) -> &'a [f32] {
        &self.metrics.values
    }

    /// The metric of this name, if the network has one.
    pub fn metric(&self, name: &str) -> Option<f32> {
        let at = self.metrics.names.iter().position(|metric| metric == name)?;
        self.metrics.values.get(at).copied()
    }

    /// The rows on which the network's matrix products ran, forward and backward. For a batch in shards it is the sum
    /// over all of them.
    ///
    /// ```
    /// use paddle::{Parameters, Role, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
    ///     let answer = if y > 0.0 { fc(x, 1) } else { scale(fc(x, 1), 2.0) };
    ///     mean(square(answer - y))
    /// });
    /// let rows = [net.row([0.0, 1.0], 1.0), net.row([1.0, 1.0], -2.0), net.row([1.0, 0.0], 1.0)];
    /// let mut parameters = Parameters::create(&net)?;
    /// let mut trainer = Trainer::new(Sgd::new(0.1));
    /// let outcome = trainer.step(&net, &mut parameters, rows)?;
    /// let products = outcome.stats().products().iter().filter(|product| product.role == Role::Forward);
    /// // Each branch on its rows only.
    /// assert_eq!(products.map(|product| product.rows).collect::<Vec<_>>(), [2, 1]);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn stats(&self) -> &'a RunStats {
        self.stats
    }
}

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Creates a trainer without any progress.
    pub fn new(updater: U) -> Self {
        let steps = Steps::new(updater.decouples_decay());
        Trainer { updater, steps }
    }

    /// Clips gradients: `Clip::GlobalNorm(5.0)`. The bound of a parameter itself, `clip = 1.0` in the language, is
    /// applied first.
    pub fn clip(mut self, clip: Clip) -> Self {
        self.steps.settings.clip = Some(clip);
        self.steps.plans.clear();
        self
    }

    /// Adds decay for all parameters that have none of their own, `decay = 1e-4` in the language: `Decay::L2(1e-4)`.
    pub fn decay(mut self, decay: Decay) -> Self {
        self.steps.settings.decay = Some(decay);
        self.steps.plans.clear();
        self
    }

    /// Sets the seed of the random numbers that networks draw in training. The default is 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.steps.seed = seed;
        self
    }

    /// Trains on one batch: cost, gradients, update.
    ///
    /// `rows` are rows of the network, or a reference to a [`Batch`](crate::Batch). A cost that is NaN or infinite is
    /// the error [`CostNotFinite`], unless [`Options::allow_nan`] is set. A step that ends in an error does not
    /// count, and leaves the parameters as they were; only an error of [`Options::check_numbers`] may end it in the
    /// middle of the update.
    ///
    /// # Errors
    /// [`CostNotFinite`], see above; [`Error::Batch`] if the rows do not fit; [`Error::Run`] if an operator fails,
    /// with its place in the source; [`Error::Setting`] if a number of the updater, the trainer or the learning rate
    /// is out of its range; [`Error::Gradient`] if the cost has no derivative with respect to a parameter, or shards
    /// do not add up to the batch; [`Error::Plan`] if these are not parameters of the network; one of them, or
    /// [`Error::OutOfMemory`], if there is no memory.
    pub fn step<S: Trainable>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        rows: impl Rows<S>,
    ) -> Result<Outcome<'_>, Error> {
        self.stepped(net, parameters, rows, &Options::default())
    }

    /// Like [`step`](Self::step), with settings: `trainer.step_with(&d0, &mut parameters, rows,
    /// &Options::default().freeze(params::D))?`.
    ///
    /// ```
    /// use paddle::{Options, Parameters, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>| {
    ///     let trunk = fc(x, 4);
    ///     mean(square(fc(trunk, 1)))
    /// });
    /// let mut parameters = Parameters::create(&net)?;
    /// let before = parameters.get::<f32>("trunk.w")?;
    /// let options = Options::default().freeze(net.params.trunk.w).shards(2);
    /// Trainer::new(Sgd::new(0.1)).step_with(&net, &mut parameters, [[1.0, 2.0], [3.0, 4.0]], &options)?;
    /// assert_eq!(parameters.get::<f32>("trunk.w")?, before);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`step`](Self::step), and [`Error::Shards`] if a batch is to be cut into no shards.
    pub fn step_with<S: TrainableInPart>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        rows: impl Rows<S>,
        options: &Options,
    ) -> Result<Outcome<'_>, Error> {
        self.stepped(net, parameters, rows, options)
    }

    fn stepped<S: Spec>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        rows: impl Rows<S>,
        options: &Options,
    ) -> Result<Outcome<'_>, Error> {
        let (at, Step { cost, rows }) =
            self.steps.step(&self.updater, net.model()?, parameters, &RowsOf::new(&rows), options)?;
        let Plan { metrics, session, .. } = &self.steps.plans[at];
        Ok(Outcome { cost, rows, metrics, stats: session.executor.stats() })
    }

    /// Trains on all batches of a reader, a step for each, and measures where time and memory go. Of the options, those
    /// about what is computed count, as in [`step_with`](Self::step_with). If there is more than one batch, the first is
    /// not measured: its step plans the network and allocates memory.
    ///
    /// ```
    /// use paddle::reader::Reader;
    /// use paddle::{Options, Parameters, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row([0.0, 1.0], 1.0), net.row([1.0, 1.0], -2.0), net.row([1.0, 0.0], 1.0)];
    /// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
    /// let batches = rows.iter().cycle().batch(2).take(11);
    /// let profile = trainer.profile(&net, &mut parameters, batches, &Options::default())?;
    /// assert_eq!((profile.steps(), trainer.steps(&net)?), (10, 11));
    /// println!("{profile}");
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`step_with`](Self::step_with), those of a batch as [`Error::BatchFailed`]; [`Error::NoBatch`] if the
    /// reader has no batch; [`Error::Reader`] if it fails. The steps before the error count.
    pub fn profile<S: TrainableInPart, R>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        reader: R,
        options: &Options,
    ) -> Result<Profile, Error>
    where
        R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
    {
        let Trainer { updater, steps } = self;
        profile::measure(reader, &mut *training(steps, updater, net.model()?, parameters, options))
    }

    /// Trains on all batches of a reader, and calls `handler` with each event. Returns why the training ended.
    ///
    /// [`train_loop`] says when each event comes. Invalid settings are errors before the first event. A cost that is
    /// NaN or infinite is an error with pass and batch, see [`step`](Self::step).
    ///
    /// ```
    /// use paddle::event::EventKind;
    /// use paddle::reader::{DataSet, Reader};
    /// use paddle::{Ended, Options, Parameters, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row(0.0, 1.0), net.row(1.0, 3.0)];
    /// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.3)));
    /// let reader = rows.iter().passes(1_000).batch(2);
    /// let ended = trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
    ///     if let EventKind::EndPass { pass, .. } = event.kind()
    ///         && pass % 10 == 9
    ///         && event.test(&net, rows.iter().batch(2))?.cost() < 1e-6
    ///     {
    ///         event.stop();
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(ended, Ended::Stopped);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`step_with`](Self::step_with), those of a batch as [`Error::BatchFailed`]; [`Error::NoBatch`] if the
    /// reader has no batch; [`Error::Reader`] if it fails; [`Error::Parameter`] if a parameter is not finite at the
    /// end of a pass; [`Error::File`] if a file of the options cannot be written; [`Error::Interrupt`] if Ctrl-C
    /// cannot be caught; and errors that `handler` returns. After an error no event follows, and the steps before it
    /// count.
    pub fn train<S: TrainableInPart, R>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        reader: R,
        options: Options,
        mut handler: impl FnMut(&Event<'_, B>) -> Result<(), Error>,
    ) -> Result<Ended, Error>
    where
        R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
    {
        let model = net.model()?;
        let Trainer { updater, steps } = self;
        let (mut call, position) = Call::begin(steps, updater, model, parameters, &options, &mut handler)?;
        let mut passes = call.passes();
        let mut reading = Reading { call: &mut call, batch: PhantomData };
        let ended = train_loop::resume(&mut reading, reader, position, &mut passes);
        call.end(ended, passes)
    }

    /// The parameter and the slot of each state that the updater has for this set of parameters, in the order of
    /// creation. There are none before the first step.
    pub fn states(&self, parameters: &Parameters<B>) -> impl Iterator<Item = (&str, &str)> {
        let states = self.steps.states.iter().find(|states| states.is_of(parameters));
        states.into_iter().flat_map(States::keys)
    }

    /// A copy of a state of a parameter: `trainer.state::<f32>(&parameters, params::line::w, "Moment1")?`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the parameter has no state in this slot, or not yet, if the state has another element
    /// type, or if there is no memory for the copy.
    pub fn state<T: Element>(
        &self,
        parameters: &Parameters<B>,
        name: impl AsRef<str>,
        slot: &str,
    ) -> Result<ArrayD<T>, Error> {
        #[cfg(feature = "cluster")]
        self.steps.check_states()?;
        let (states, stored) = self.stored_state(parameters, name.as_ref(), slot)?;
        let States { storage, buffers, .. } = &self.steps.states[states];
        Ok(stored::get(parameters.backend(), storage, buffers, &stored)?)
    }

    /// The averages that an updater [`Averaged`](crate::updater::Averaged) keeps of these parameters, as a set of its own, to be
    /// evaluated or saved. Parameters that have none, such as frozen ones and moving statistics, are as they are.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the updater keeps no averages, or none yet; [`Error::OutOfMemory`] if there is no memory for
    /// the set.
    pub fn averages(&self, parameters: &Parameters<B>) -> Result<Parameters<B>, Error> {
        #[cfg(feature = "cluster")]
        self.steps.check_states()?;
        let states = self.steps.states_of(parameters).ok_or(ParameterError::NoAverages)?;
        states.averages(parameters)
    }

    /// Sets a state of a parameter to the elements of an array of its shape.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the parameter has no state in this slot, or not yet, or if the state has another
    /// element type or shape. Then nothing has changed.
    pub fn set_state<T, A, D>(
        &mut self,
        parameters: &Parameters<B>,
        name: impl AsRef<str>,
        slot: &str,
        array: &ArrayBase<A, D>,
    ) -> Result<(), Error>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        let (states, stored) = self.stored_state(parameters, name.as_ref(), slot)?;
        let States { storage, buffers, .. } = &mut self.steps.states[states];
        let mut set = |to: &Stored, from: HostSlice<'_>| buffers.upload(parameters.backend(), to, from);
        Ok(stored::set(storage, &stored, array, &mut set)?)
    }

    /// The states of these parameters, and the stored name of the state of a parameter in a slot.
    fn stored_state(
        &self,
        parameters: &Parameters<B>,
        name: &str,
        slot: &str,
    ) -> Result<(usize, String), ParameterError> {
        let known = self.steps.states.iter().position(|states| states.is_of(parameters));
        let stored = known.and_then(|at| Some((at, self.steps.states[at].stored(name, slot)?)));
        stored.ok_or_else(|| ParameterError::NoSuchState { name: name.to_string(), slot: slot.to_string() })
    }
}
