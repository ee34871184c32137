//! Events that a handler gets while a network is trained.

use std::cell::Cell;
use std::path::Path;

use paddle_core::plan::{Backend, RunStats};
use paddle_kernels::cpu::Cpu;

use crate::Error;
use crate::batch::Rows;
use crate::evaluate::{Tested, infer_each, test};
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::outputs::Outputs;
use crate::parameters::{ParameterError, Parameters};
use crate::reader::IntoItem;
use crate::train_loop::Ended;
use crate::updater::states::States;

/// An event: the moment, and access to the training at that moment.
///
/// ```
/// use paddle::event::EventKind;
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Ended, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// let (mut costs, mut ended) = (Vec::new(), None);
/// trainer.train(&net, &mut parameters, [1.0, 2.0].passes(9).batch(1), Options::default(), |event| {
///     match event.kind() {
///         EventKind::EndIteration { cost, .. } => costs.push(cost),
///         EventKind::EndPass { pass: 1, .. } => event.stop(),
///         EventKind::EndTraining => ended = event.ended(),
///         _ => {}
///     }
///     Ok(())
/// })?;
/// // Two passes of two batches.
/// assert_eq!((costs.len(), ended), (4, Some(Ended::Stopped)));
/// # Ok::<(), paddle::Error>(())
/// ```
pub struct Event<'a, B: Backend = Cpu> {
    kind: EventKind<'a>,
    model: &'a Model,
    parameters: &'a Parameters<B>,
    states: Option<&'a States<B>>,
    stats: Option<&'a RunStats>,
    ended: Option<Ended>,
    stopped: Cell<bool>,
}

impl<'a, B: Backend> Event<'a, B> {
    pub(crate) fn new(
        kind: EventKind<'a>,
        model: &'a Model,
        parameters: &'a Parameters<B>,
        states: Option<&'a States<B>>,
        stats: Option<&'a RunStats>,
        ended: Option<Ended>,
    ) -> Self {
        Event { kind, model, parameters, states, stats, ended, stopped: Cell::new(false) }
    }

    /// The moment.
    pub fn kind(&self) -> EventKind<'a> {
        self.kind
    }

    /// The cost of the batch or pass that ends here.
    pub fn cost(&self) -> Option<f32> {
        self.kind.cost()
    }

    /// The metrics of the batch or pass that ends here; empty at other events.
    pub fn metrics(&self) -> &'a [f32] {
        self.kind.metrics()
    }

    /// The metric of this name, of the batch or pass that ends here.
    pub fn metric(&self, name: &str) -> Option<f32> {
        let at = self.model.metrics().position(|(_, metric)| metric.name == name)?;
        self.metrics().get(at).copied()
    }

    /// The numbers of rows on which the products of the batch ran; `None` except at its end.
    pub fn stats(&self) -> Option<&'a RunStats> {
        self.stats
    }

    /// The reason why the training ends, at `EndTraining`; otherwise `None`.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The parameters as they are now.
    pub fn parameters(&self) -> &'a Parameters<B> {
        self.parameters
    }

    /// The averages of the parameters, see [`Trainer::averages`](crate::Trainer::averages).
    ///
    /// # Errors
    /// Those of [`Trainer::averages`](crate::Trainer::averages).
    pub fn averages(&self) -> Result<Parameters<B>, Error>
    where
        B: Clone,
    {
        self.states.ok_or(ParameterError::NoAverages)?.averages(self.parameters)
    }

    /// Evaluates a network on a reader with the present parameters, see [`test`](crate::test()).
    ///
    /// # Errors
    /// Those of [`test`](crate::test()).
    pub fn test<S: Spec, R>(&self, net: &Network<S>, reader: R) -> Result<Tested, Error>
    where
        B: Clone,
        R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
    {
        test(net, self.parameters, reader)
    }

    /// Runs a network on a reader with the present parameters, and calls `each` with the outputs of each batch, see
    /// [`infer_each`](crate::infer_each()).
    ///
    /// # Errors
    /// Those of [`infer_each`](crate::infer_each()).
    pub fn infer_each<S: Spec, R>(
        &self,
        net: &Network<S>,
        reader: R,
        each: impl FnMut(&Outputs) -> Result<(), Error>,
    ) -> Result<(), Error>
    where
        B: Clone,
        R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
    {
        infer_each(net, self.parameters, reader, each)
    }

    /// Saves the present parameters, see [`Parameters::save`].
    ///
    /// # Errors
    /// Those of [`Parameters::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.parameters.save(path)
    }

    /// Stops the training. Only `EndTraining` follows.
    pub fn stop(&self) {
        self.stopped.set(true);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.get()
    }
}

/// The moment at which a handler is called.
///
/// A pass ends with an [`EndPass`](crate::reader::Item::EndPass) marker of the reader. Passes are numbered over the
/// life of a trainer, and batches within their pass, both from zero. [`train_loop`](crate::train_loop) has the rules
/// for the order of events.
///
/// ```
/// use paddle::event::EventKind;
///
/// let event = EventKind::EndPass { pass: 3, cost: 0.5, metrics: &[0.9] };
/// assert_eq!((event.cost(), event.metrics()), (Some(0.5), &[0.9][..]));
/// assert_eq!(EventKind::BeginPass { pass: 4 }.cost(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind<'a> {
    /// Once, before anything is read.
    BeginTraining,
    /// Before the first batch of a pass.
    BeginPass {
        /// The number of the pass.
        pass: usize,
    },
    /// Before each batch.
    BeginIteration {
        /// The number of the pass.
        pass: usize,
        /// The number of the batch within the pass.
        batch: usize,
    },
    /// After each batch and the update that it led to.
    EndIteration {
        /// The number of the pass.
        pass: usize,
        /// The number of the batch within the pass.
        batch: usize,
        /// The cost of the batch, before the update.
        cost: f32,
        /// The metrics of the batch, in the order in which the network returns them.
        metrics: &'a [f32],
    },
    /// After the last batch of a pass.
    EndPass {
        /// The number of the pass.
        pass: usize,
        /// The mean cost of the pass's batches, each weighted by its rows.
        cost: f32,
        /// The means of the metrics, weighted as each metric asks.
        metrics: &'a [f32],
    },
    /// Once, after the last batch or a stop; not after an error.
    EndTraining,
}

impl<'a> EventKind<'a> {
    /// The cost of the batch or pass that ends here.
    pub fn cost(&self) -> Option<f32> {
        match *self {
            Self::EndIteration { cost, .. } | Self::EndPass { cost, .. } => Some(cost),
            Self::BeginTraining
            | Self::BeginPass { .. }
            | Self::BeginIteration { .. }
            | Self::EndTraining => None,
        }
    }

    /// The metrics of the batch or pass that ends here; empty at other events.
    pub fn metrics(&self) -> &'a [f32] {
        match *self {
            Self::EndIteration { metrics, .. } | Self::EndPass { metrics, .. } => metrics,
            Self::BeginTraining
            | Self::BeginPass { .. }
            | Self::BeginIteration { .. }
            | Self::EndTraining => &[],
        }
    }
}
