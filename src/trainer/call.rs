//! One call of `train`, which the training loop drives.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

use paddle_core::plan::Backend;

use super::steps::Steps;
use crate::Error;
use crate::batch::{AnyRows, Rows, RowsOf};
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

/// One call of [`Trainer::train`](super::Trainer::train), whatever its reader is.
pub(crate) struct Call<'a, B: Backend> {
    steps: &'a mut Steps<B>,
    updater: &'a dyn Updater,
    model: &'a Arc<Model>,
    parameters: &'a mut Parameters<B>,
    options: &'a Options,
    handler: &'a mut Handler<'a, B>,
    watchers: Watchers,
    interrupt: Option<Interrupt>,
    keeper: Option<Keeper>,
    /// The current pass and batch.
    at: (usize, usize),
    /// The rows of the step before.
    rows: usize,
    /// The index of the plan that computed the step before.
    plan: Option<usize>,
    /// The reason for ending before the reader does, if there is one.
    stopped: Option<Ended>,
}

/// The user's function that gets the events.
pub(crate) type Handler<'a, B> = dyn FnMut(&Event<'_, B>) -> Result<(), Error> + 'a;

/// A call, with the networks' and the batches' types of its reader.
pub(super) struct Reading<'c, 'a, S, D, B: Backend> {
    pub(super) call: &'c mut Call<'a, B>,
    pub(super) batch: PhantomData<fn(S, D)>,
}

impl<S: Spec, D: Rows<S>, B: Backend + Clone> Training for Reading<'_, '_, S, D, B> {
    type Batch = D;
    type Error = Error;

    fn metrics(&self) -> usize {
        self.call.model.metrics().count()
    }

    fn step(&mut self, batch: D, metrics: &mut [Metric]) -> Result<Step, Error> {
        self.call.step(&RowsOf::<S, D>::new(&batch), metrics)
    }

    fn reached(&mut self, position: &Position, stopped: bool) -> Result<(), Error> {
        self.call.reached(position, stopped)
    }

    fn handle(&mut self, kind: EventKind<'_>) -> Result<ControlFlow<()>, Error> {
        self.call.handle(kind)
    }
}

impl<'a, B: Backend + Clone> Call<'a, B> {
    /// Begins a call, and returns the position at which its reader is continued. Invalid settings are errors.
    #[inline(never)]
    pub(crate) fn begin(
        steps: &'a mut Steps<B>,
        updater: &'a dyn Updater,
        model: &'a Arc<Model>,
        parameters: &'a mut Parameters<B>,
        options: &'a Options,
        handler: &'a mut Handler<'a, B>,
    ) -> Result<(Self, Position), Error> {
        steps.check(updater)?;
        options.check()?;
        let keeper = options.checkpoint.as_deref().map(Keeper::of).transpose()?;
        let progress = steps.progress(model);
        let watchers = Watchers::new(options, model, progress.steps)?;
        let interrupt = Interrupt::wanted_by(options)?;
        let passes = progress.passes;
        let position = progress.resumed.take().unwrap_or_else(|| Position::before(passes));
        let call = Call {
            steps,
            updater,
            model,
            parameters,
            options,
            handler,
            watchers,
            interrupt,
            keeper,
            at: (0, 0),
            rows: 0,
            plan: None,
            stopped: None,
        };
        Ok((call, position))
    }

    /// The passes that have begun before.
    pub(super) fn passes(&mut self) -> usize {
        self.steps.progress(self.model).passes
    }

    /// Ends a call. `passes` have begun.
    #[inline(never)]
    pub(crate) fn end(mut self, mut ended: Result<Ended, Error>, passes: usize) -> Result<Ended, Error> {
        match &mut ended {
            Ok(ended) => *ended = self.stopped.unwrap_or(Ended::Finished),
            Err(error) => self.watchers.fail(error),
        }
        self.steps.progress(self.model).passes = passes;
        ended
    }

    #[inline(never)]
    pub(crate) fn step(&mut self, rows: &dyn AnyRows, metrics: &mut [Metric]) -> Result<Step, Error> {
        let stepped = self.steps.step(self.updater, self.model, self.parameters, rows, self.options);
        let (plan, step) = stepped.map_err(|error| error.of_batch(self.at))?;
        let measured = self.steps.plans[plan].metrics.iter();
        metrics.iter_mut().zip(measured).for_each(|(to, metric)| *to = metric);
        (self.rows, self.plan) = (step.rows, Some(plan));
        Ok(step)
    }

    #[inline(never)]
    pub(crate) fn reached(&mut self, position: &Position, stopped: bool) -> Result<(), Error> {
        let ends = position.batches() == 0 || stopped;
        let steps = self.steps.progress(self.model).steps;
        // No step but 0 is a multiple of 0, so with 0 a checkpoint is due only at an end.
        let is_due = ends || steps.is_multiple_of(self.options.checkpoint_every);
        // A cost can hide a parameter that is not finite: `relu` of NaN is 0.
        if is_due && !self.options.allows_nan {
            let (pass, batch) = self.at;
            let failed = |error| BatchFailed { pass, batch, error: Box::new(error) };
            self.parameters.check_finite().map_err(failed)?;
        }
        if let Some(keeper) = self.keeper.as_mut().filter(|_| is_due) {
            match self.steps.write_checkpoint(self.model, self.parameters, position, keeper) {
                Err(Error::File(error)) if error.fault.is_written() => warn(error),
                written => written?,
            }
            self.watchers.keep()?;
        }
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn handle(&mut self, kind: EventKind<'_>) -> Result<ControlFlow<()>, Error> {
        if let EventKind::BeginIteration { pass, batch } = kind {
            self.at = (pass, batch);
        }
        let ended = (kind == EventKind::EndTraining).then_some(self.stopped.unwrap_or(Ended::Finished));
        self.watchers.see(kind, self.rows, ended)?;
        let plan = matches!(kind, EventKind::EndIteration { .. }).then_some(self.plan).flatten();
        let stats = plan.map(|plan| self.steps.plans[plan].session.executor.stats());
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
