//! One call of `train`, which the training loop drives.

use std::iter;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

use paddle_core::plan::Backend;

use super::steps::Steps;
use crate::Error;
use crate::batch::{AnyRows, Rows, RowsOf};
use crate::error::BatchFailed;
use crate::event::{Event, EventKind};
use crate::files::keeper::{Keeper, warned};
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

    #[cfg(feature = "cluster")]
    fn begin(&mut self, batch: D, metrics: &mut [Metric]) -> Result<Option<Step>, Error> {
        self.call.begin_step(&RowsOf::<S, D>::new(&batch), metrics)
    }

    #[cfg(feature = "cluster")]
    fn ended(&mut self, all: bool, metrics: &mut [Metric]) -> Result<Option<Step>, Error> {
        self.call.end_step(all, metrics)
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
        // Of ranks that train as equals, one writes files and says how far they are.
        let is_first = steps.is_first();
        let keeper = options.checkpoint.as_deref().filter(|_| is_first).map(Keeper::of).transpose()?;
        let progress = steps.progress(model);
        let nothing = Options::default();
        let watched = if is_first { options } else { &nothing };
        let metrics = model.metrics().map(|(_, metric)| metric.name.clone());
        let names = iter::once("cost".to_string()).chain(metrics).collect();
        let watchers = Watchers::new(watched, &model.signature.network, names, progress.steps)?;
        let interrupt = Interrupt::wanted_by(options)?;
        let passes = progress.passes;
        let position = progress.resumed.take().unwrap_or_else(|| Position::before(passes));
        #[cfg(feature = "cluster")]
        steps.reached(&position);
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
        #[cfg(feature = "cluster")]
        self.steps.settle(self.model);
        self.steps.progress(self.model).passes = passes;
        #[cfg(feature = "cluster")]
        if let (Ok(_), Err(error)) = (&ended, self.steps.fetch_states(self.parameters)) {
            ended = Err(error);
        }
        #[cfg(feature = "cluster")]
        self.steps.went(ended.as_ref().map(drop));
        ended
    }

    #[inline(never)]
    pub(crate) fn step(&mut self, rows: &dyn AnyRows, metrics: &mut [Metric]) -> Result<Step, Error> {
        let stepped = self.steps.step(self.updater, self.model, self.parameters, rows, self.options);
        let stepped = stepped.map_err(|error| error.of_batch(self.at))?;
        Ok(self.report(stepped, metrics))
    }

    /// Takes the metrics of a step.
    fn report(&mut self, (plan, step): (usize, Step), metrics: &mut [Metric]) -> Step {
        let measured = self.steps.plans[plan].metrics.iter();
        metrics.iter_mut().zip(measured).for_each(|(to, metric)| *to = metric);
        (self.rows, self.plan) = (step.rows, Some(plan));
        step
    }

    /// Begins a step, and ends it too unless the cluster has several under way.
    #[cfg(feature = "cluster")]
    #[inline(never)]
    pub(crate) fn begin_step(
        &mut self,
        rows: &dyn AnyRows,
        metrics: &mut [Metric],
    ) -> Result<Option<Step>, Error> {
        if !self.steps.runs_ahead() {
            return self.step(rows, metrics).map(Some);
        }
        let Call { updater, model, parameters, options, at, .. } = self;
        let begun = self.steps.begin_step((*updater, model), parameters, rows, options, Some(*at));
        begun.map_err(|error| error.of_batch(self.at))?;
        Ok(None)
    }

    /// Ends the first step that is under way, if `all` are to end, if no more may be, or if a checkpoint is due, which
    /// contains whole steps.
    #[cfg(feature = "cluster")]
    #[inline(never)]
    pub(crate) fn end_step(&mut self, all: bool, metrics: &mut [Metric]) -> Result<Option<Step>, Error> {
        let steps = self.steps.progress(self.model).steps;
        let is_due = self.keeper.is_some() && steps.is_multiple_of(self.options.checkpoint_every);
        let ended = self.steps.end_step(self.model, self.options, all || is_due)?;
        Ok(ended.map(|ended| self.report(ended, metrics)))
    }

    #[inline(never)]
    pub(crate) fn reached(&mut self, position: &Position, stopped: bool) -> Result<(), Error> {
        #[cfg(feature = "cluster")]
        self.steps.reached(position);
        #[cfg(feature = "cluster")]
        if self.steps.is_under_way() {
            return Ok(());
        }
        let ends = position.batches() == 0 || stopped;
        let steps = self.steps.progress(self.model).steps;
        // No step but 0 is a multiple of 0, so with 0 a checkpoint is due only at an end.
        let is_due = ends || steps.is_multiple_of(self.options.checkpoint_every);
        #[cfg(feature = "cluster")]
        if is_due && (self.options.checkpoint.is_some() || self.steps.is_in_stages()) {
            self.steps.fetch_states(self.parameters)?;
        }
        // A cost can hide a parameter that is not finite: `relu` of NaN is 0.
        if is_due && !self.options.allows_nan {
            let (pass, batch) = self.at;
            let failed = |error| BatchFailed { pass, batch, error: Box::new(error) };
            self.parameters.check_finite().map_err(failed)?;
        }
        if let Some(keeper) = self.keeper.as_mut().filter(|_| is_due) {
            warned(self.steps.write_checkpoint(self.model, self.parameters, position, keeper))?;
            self.watchers.keep()?;
        }
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn handle(&mut self, kind: EventKind<'_>) -> Result<ControlFlow<()>, Error> {
        if let EventKind::BeginIteration { pass, batch } = kind {
            self.at = (pass, batch);
            // A step says which pass it belongs to. `end` counts those that have begun.
            self.steps.progress(self.model).passes = pass;
        }
        let ended = (kind == EventKind::EndTraining).then_some(self.stopped.unwrap_or(Ended::Finished));
        self.watchers.see(kind, self.rows, ended)?;
        let plan = matches!(kind, EventKind::EndIteration { .. }).then_some(self.plan).flatten();
        let stats = plan.map(|plan| self.steps.plans[plan].session.executor.stats());
        let states = self.steps.states_here(self.parameters);
        let event = Event::new(kind, self.model, self.parameters, states, stats, ended);
        self.watchers.aside(kind, || (self.handler)(&event))?;
        let stopped = match &self.interrupt {
            _ if ended.is_some() => None,
            Some(interrupt) if self.steps.stops(interrupt.came()) => Some(Ended::Interrupted),
            _ => event.stopped().then_some(Ended::Stopped),
        };
        self.stopped = self.stopped.or(stopped);
        Ok(if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
