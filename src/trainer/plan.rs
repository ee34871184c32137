//! A network's training step, planned for one set of parameters.

use std::num::NonZero;
use std::sync::Arc;

use paddle_core::ops::Program;
use paddle_core::passes::Pipeline;
use paddle_core::passes::optimize::Settings;
use paddle_core::plan::{Arithmetic, Backend, Buffers, Executor, Part, RunError};
use paddle_core::program::VarId;

use super::shards::Shards;
use crate::Error;
use crate::batch::AnyRows;
use crate::element::Values;
use crate::frozen::Frozen;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::session::{Session, for_device};
use crate::updater::Updater;
use crate::updater::states::States;

/// The numbers that a step depends on, beside the batch and the parameters.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) seed: u64,
    pub(super) step: u64,
    /// The learning rate.
    pub(super) rate: f64,
}

/// The plan of a network's step, forward, backward and update, for one set of parameters. Some of these may be
/// frozen.
pub(super) struct Plan<B: Backend> {
    frozen: Frozen,
    arithmetic: Arithmetic,
    shards: NonZero<u32>,
    /// The session of the whole step. If batches are cut into shards, it has all but the update.
    pub(super) session: Session<B>,
    in_shards: Option<Shards<B>>,
    /// The learning rate, once for each element type of parameters.
    rates: Vec<Values>,
    pub(super) metrics: Metrics,
    #[cfg(feature = "cluster")]
    pub(super) remote: Option<super::remote::Remote>,
}

impl<B: Backend + Clone> Plan<B> {
    pub(super) fn new(
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        options: &Options,
        states: &mut States<B>,
        updater: &dyn Updater,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let (frozen, arithmetic) = (options.frozen.clone(), options.arithmetic);
        let shards = options.shard_count(&model.program)?;
        frozen.check(&model.program)?;
        let is_frozen = |name: &str| frozen.contains(name);
        if shards.get() > 1 {
            let (session, in_shards, metrics, rates) =
                Shards::new(model, parameters, options, states, &is_frozen, updater, settings)?;
            let in_shards = Some(in_shards);
            return Ok(Plan {
                frozen,
                arithmetic,
                shards,
                session,
                in_shards,
                rates,
                metrics,
                #[cfg(feature = "cluster")]
                remote: None,
            });
        }
        let mut program = model.program.clone();
        let metrics = Metrics::new(model, &mut program)?;
        for_device(parameters.backend(), &mut program)?;
        Pipeline::training(settings, &is_frozen, &|update| updater.update(update)).run(&mut program)?;
        states.extend(parameters.backend(), &program)?;
        let rates = scalars(&program, &program.inputs()[model.program.inputs().len()..]);
        let session = Session::new(model, &program, parameters, &states.storage, arithmetic)?;
        Ok(Plan {
            frozen,
            arithmetic,
            shards,
            session,
            in_shards: None,
            rates,
            metrics,
            #[cfg(feature = "cluster")]
            remote: None,
        })
    }
}

/// Values for these inputs, each of one element.
pub(super) fn scalars(program: &Program, inputs: &[VarId]) -> Vec<Values> {
    inputs.iter().map(|&input| Values::new(program.ty(input).dtype)).collect()
}

impl<B: Backend> Plan<B> {
    /// Whether the plan is for this network, these parameters, and the options that decide what is computed.
    pub(super) fn is_for(&self, model: &Arc<Model>, parameters: &Arc<()>, options: &Options) -> bool {
        let shards = options.shard_count(&model.program).ok();
        self.session.is_for(model, parameters)
            && self.frozen == options.frozen
            && self.arithmetic == options.arithmetic
            && shards == Some(self.shards)
    }

    /// Sets the numbers of the next step.
    pub(super) fn begin(&mut self, Moment { seed, step, rate }: Moment) {
        self.rates.iter_mut().for_each(|value| value.set_scalar(rate));
        for executor in self.executors() {
            executor.set_seed(seed);
            executor.set_step(step);
        }
    }

    /// The executors of a step: one or, in shards, two.
    pub(super) fn executors(&mut self) -> impl Iterator<Item = &mut Executor<B>> {
        let update = self.in_shards.as_mut().map(|shards| &mut shards.updating);
        [Some(&mut self.session.executor), update].into_iter().flatten()
    }

    /// Computes all but the update. Returns the number of rows and the cost. An error leaves the parameters as they
    /// were.
    pub(super) fn compute(
        &mut self,
        rows: &dyn AnyRows,
        parameters: &mut Buffers<B>,
        states: &mut Buffers<B>,
    ) -> Result<(usize, f64), Error> {
        match &mut self.in_shards {
            Some(shards) => shards.compute(&mut self.session, rows, &mut self.metrics, parameters, states),
            None => self.compute_whole(rows, parameters),
        }
    }

    fn compute_whole(
        &mut self,
        rows: &dyn AnyRows,
        parameters: &mut Buffers<B>,
    ) -> Result<(usize, f64), Error> {
        let rows = self.session.feed(rows, &self.rates)?;
        self.session.executor.run(Part::Compute, parameters)?;
        self.metrics.take(&self.session, rows);
        Ok((rows, self.session.scalar(0)))
    }

    /// Undoes the changes that [`compute`](Self::compute) made. In shards it makes none: an operator that changes
    /// statistics is no sum over rows, so it is refused.
    pub(super) fn go_back(&mut self, parameters: &mut Buffers<B>) -> Result<(), RunError> {
        match self.in_shards {
            Some(_) => Ok(()),
            None => self.session.executor.go_back(parameters),
        }
    }

    /// Updates the parameters.
    pub(super) fn update(
        &mut self,
        parameters: &mut Buffers<B>,
        states: &mut Buffers<B>,
    ) -> Result<(), RunError> {
        match &mut self.in_shards {
            Some(shards) => shards.update(&self.rates, parameters, states),
            None => self.session.executor.update(parameters, states),
        }
    }
}
