//! Training steps that are measured.

use std::sync::Arc;

use paddle_core::plan::{Backend, Clock, Executor, Peaks, PlanProfile};

use super::steps::Steps;
use crate::Error;
use crate::batch::AnyRows;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::profile::Measured;
use crate::updater::Updater;

struct Training<'a, B: Backend> {
    steps: &'a mut Steps<B>,
    updater: &'a dyn Updater,
    model: &'a Arc<Model>,
    parameters: &'a mut Parameters<B>,
    options: &'a Options,
}

/// The steps of a trainer, for measurement.
#[inline(never)]
pub(crate) fn training<'a, B: Backend + Clone>(
    steps: &'a mut Steps<B>,
    updater: &'a dyn Updater,
    model: &'a Arc<Model>,
    parameters: &'a mut Parameters<B>,
    options: &'a Options,
) -> Box<dyn Measured + 'a> {
    Box::new(Training { steps, updater, model, parameters, options })
}

impl<B: Backend + Clone> Training<'_, B> {
    fn executors(&mut self) -> Result<impl Iterator<Item = &mut Executor<B>>, Error> {
        let (at, _) = self.steps.plan(self.updater, self.model, self.parameters, self.options)?;
        Ok(self.steps.plans[at].executors())
    }
}

impl<B: Backend + Clone> Measured for Training<'_, B> {
    fn peaks(&self) -> Option<Peaks> {
        Peaks::measure(self.parameters.backend())
    }

    fn begin(&mut self, clock: Clock) -> Result<(), Error> {
        Ok(self.executors()?.try_for_each(|executor| executor.begin_profile(clock))?)
    }

    fn step(&mut self, rows: &dyn AnyRows) -> Result<(), Error> {
        self.steps.step(self.updater, self.model, self.parameters, rows, self.options).map(drop)
    }

    fn end(&mut self) -> Result<Vec<PlanProfile>, Error> {
        Ok(self.executors()?.filter_map(Executor::end_profile).collect())
    }
}
