//! Steps of which several are under way on a cluster whose steps are asynchronous.

use std::sync::Arc;

use paddle_core::plan::Backend;

use super::CostNotFinite;
use super::remote::Requested;
use super::steps::Steps;
use crate::Error;
use crate::batch::AnyRows;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::train_loop::Step;
use crate::updater::Updater;

/// A step that is under way.
pub(super) struct Flight {
    requested: Requested,
    /// The pass and the batch, for messages of `train`.
    at: Option<(usize, usize)>,
}

impl<B: Backend + Clone> Steps<B> {
    /// Whether steps begin before those before them have ended.
    pub(super) fn runs_ahead(&self) -> bool {
        self.on_cluster.as_ref().is_some_and(|on| on.cluster.staleness().is_some())
    }

    /// Whether a step is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.on_cluster.as_ref().is_some_and(|on| !on.flights.is_empty())
    }

    /// Begins a step. It counts from here on.
    pub(super) fn begin_step(
        &mut self,
        of: (&dyn Updater, &Arc<Model>),
        parameters: &mut Parameters<B>,
        rows: &dyn AnyRows,
        options: &Options,
        at: Option<(usize, usize)>,
    ) -> Result<(), Error> {
        let requested = self.request(of, parameters, rows, options)?;
        self.leave_states();
        self.progress(of.1).steps += 1;
        if let Some(on) = &mut self.on_cluster {
            on.flights.push_back(Flight { requested, at });
        }
        Ok(())
    }

    /// Ends the first step that is under way, if there is one, and if `all` are to end or no more may be under way. Returns the
    /// index of its plan, and its result.
    pub(super) fn end_step(
        &mut self,
        model: &Arc<Model>,
        options: &Options,
        all: bool,
    ) -> Result<Option<(usize, Step)>, Error> {
        let Some(on) = &mut self.on_cluster else { return Ok(None) };
        let most = on.cluster.staleness().unwrap_or(0);
        if !all && on.flights.len() as u64 <= most {
            return Ok(None);
        }
        let Some(Flight { mut requested, at }) = on.flights.pop_front() else { return Ok(None) };
        let placed = |error: Error| match at {
            Some(at) => error.of_batch(at),
            None => error,
        };
        let cost = match self.cost(&mut requested) {
            Ok(cost) => cost,
            Err(error) => {
                // Nothing of it was applied.
                let progress = self.progress(model);
                progress.steps = progress.steps.saturating_sub(1);
                return Err(placed(error));
            }
        };
        if !cost.is_finite() && !options.allows_nan {
            // It is applied, and others are, too: what it was computed with is nowhere any more.
            let step = requested.moment.step;
            return Err(placed(CostNotFinite { step, cost, cause: None }.into()));
        }
        Ok(Some((requested.plan, Step { cost: cost as f32, rows: requested.rows })))
    }

    /// Waits for the steps that are under way after an error. They count, and nobody asks for their results.
    pub(super) fn settle(&mut self, model: &Arc<Model>) {
        let options = Options::default().allow_nan();
        while self.is_under_way() {
            // The error that the user gets came first.
            let _ = self.end_step(model, &options, true);
        }
    }
}
