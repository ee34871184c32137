//! One call of `train`, which the training loop drives.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

use paddle_core::plan::Backend;

use super::Trainer;
use crate::Error;
use crate::batch::Rows;
use crate::error::BatchFailed;
use crate::event::{Event, EventKind};
use crate::files::keeper::{Keeper, warn};
use crate::interrupt::Interrupt;
use crate::metrics::Metric;
use crate::model::Model;
use crate::network::Spec;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::position::Position;
use crate::progress::Watchers;
use crate::train_loop::{Ended, Step, Training};
use crate::updater::Updater;

/// One call of [`Trainer::train`]. `D` is the type of the reader's batches.
pub(super) struct Call<'a, S: Spec, D, U, B: Backend, H> {
    pub(super) trainer: &'a mut Trainer<U, B>,
    pub(super) model: &'a Arc<Model>,
    pub(super) parameters: &'a mut Parameters<B>,
    pub(super) options: &'a Options,
    pub(super) handler: H,
    pub(super) watchers: Watchers,
    pub(super) interrupt: Option<Interrupt>,
    pub(super) keeper: Option<Keeper>,
    /// The current pass and batch.
    pub(super) at: (usize, usize),
    /// The rows of the step before.
    pub(super) rows: usize,
    /// The index of the plan that computed the step before.
    pub(super) plan: Option<usize>,
    /// The reason for ending before the reader does, if there is one.
    pub(super) stopped: Option<Ended>,
    pub(super) batch: PhantomData<fn(S, D)>,
}

impl<S, D, U, B, H> Training for Call<'_, S, D, U, B, H>
where
    S: Spec,
    D: Rows<S>,
    U: Updater,
    B: Backend + Clone,
    H: FnMut(&Event<'_, B>) -> Result<(), Error>,
{
    type Batch = D;
    type Error = Error;

    fn metrics(&self) -> usize {
        self.model.metrics().count()
    }

    fn step(&mut self, batch: D, metrics: &mut [Metric]) -> Result<Step, Error> {
        let (plan, step) = self
            .trainer
            .step_planned::<S>(self.model, self.parameters, &batch, self.options)
            .map_err(|error| error.of_batch(self.at))?;
        let measured = self.trainer.plans[plan].metrics.iter();
        metrics.iter_mut().zip(measured).for_each(|(to, metric)| *to = metric);
        (self.rows, self.plan) = (step.rows, Some(plan));
        Ok(step)
    }

    fn reached(&mut self, position: &Position, stopped: bool) -> Result<(), Error> {
        let ends = position.batches() == 0 || stopped;
        let steps = self.trainer.progress(self.model).steps;
        // No step but 0 is a multiple of 0, so with 0 a checkpoint is due only at an end.
        let is_due = ends || steps.is_multiple_of(self.options.checkpoint_every);
        // A cost can hide a parameter that is not finite: `relu` of NaN is 0.
        if is_due && !self.options.allows_nan {
            let (pass, batch) = self.at;
            let failed = |error| BatchFailed { pass, batch, error: Box::new(Error::from(error)) };
            self.parameters.check_finite().map_err(failed)?;
        }
        if let Some(keeper) = self.keeper.as_mut().filter(|_| is_due) {
            match self.trainer.write_checkpoint(self.model, self.parameters, position, keeper) {
                Err(error) if error.fault.is_written() => warn(error),
                written => written?,
            }
            self.watchers.keep()?;
        }
        Ok(())
    }

    fn handle(&mut self, kind: EventKind<'_>) -> Result<ControlFlow<()>, Error> {
        if let EventKind::BeginIteration { pass, batch } = kind {
            self.at = (pass, batch);
        }
        let ended = (kind == EventKind::EndTraining).then_some(self.stopped.unwrap_or(Ended::Finished));
        self.watchers.see(kind, self.rows, ended)?;
        let plan = matches!(kind, EventKind::EndIteration { .. }).then_some(self.plan).flatten();
        let stats = plan.map(|plan| self.trainer.plans[plan].session.executor.stats());
        let event = Event::new(kind, self.model, self.parameters, stats, ended);
        self.watchers.aside(kind, || (self.handler)(&event))?;
        let stopped = match &self.interrupt {
            _ if ended.is_some() => None,
            Some(interrupt) if interrupt.came() => Some(Ended::Interrupted),
            _ => event.stopped().then_some(Ended::Stopped),
        };
        self.stopped = self.stopped.or(stopped);
        Ok(if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
