//! Calls of `infer` that are measured.

use std::sync::Arc;

use paddle_core::plan::{Backend, Clock, Peaks, PlanProfile};

use super::pool::{Draws, Plan, Wanted};
use crate::Error;
use crate::batch::AnyRows;
use crate::model::Model;
use crate::outputs::Outputs;
use crate::parameters::Parameters;
use crate::profile::Measured;

struct Inference<'a, B: Backend> {
    model: &'a Model,
    parameters: &'a Parameters<B>,
    plan: Box<Plan<B>>,
    wanted: Wanted<'a>,
    draws: Option<Draws>,
}

/// Calls of `infer` for a network, for measurement. Without `draws`, each draws other numbers.
#[inline(never)]
pub(crate) fn inference<'a, B: Backend + Clone>(
    model: &'a Arc<Model>,
    parameters: &'a Parameters<B>,
    wanted: Wanted<'a>,
    draws: Option<Draws>,
) -> Result<Box<dyn Measured + 'a>, Error> {
    let plan = parameters.inference().take(model, parameters, wanted)?;
    Ok(Box::new(Inference { model, parameters, plan, wanted, draws }))
}

impl<B: Backend + Clone> Measured for Inference<'_, B> {
    fn peaks(&self) -> Option<Peaks> {
        Peaks::measure(self.parameters.backend())
    }

    fn begin(&mut self, clock: Clock) -> Result<(), Error> {
        Ok(self.plan.session.executor.begin_profile(clock)?)
    }

    fn step(&mut self, rows: &dyn AnyRows) -> Result<(), Error> {
        let draws = self.draws.unwrap_or_else(|| self.plan.next_draws());
        self.plan.compute(rows, draws, self.parameters)?;
        let names =
            self.model.outputs.iter().map(|spec| spec.name.as_str()).chain(self.wanted.taps.iter().copied());
        Outputs::fetch(&self.plan.session, names, self.plan.spare())?;
        Ok(())
    }

    fn end(&mut self) -> Result<Vec<PlanProfile>, Error> {
        Ok(self.plan.session.executor.end_profile().into_iter().collect())
    }
}
