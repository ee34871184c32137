//! The steps of a trainer, whatever its updater and the form of its rows are: what is here is compiled once for each
//! backend.

use std::sync::{Arc, Weak};

use paddle_core::passes::clip::Clip;
use paddle_core::passes::optimize::{Decay, Settings};
use paddle_core::plan::Backend;

use super::not_finite::CostNotFinite;
use super::plan::{Moment, Plan};
use crate::Error;
use crate::batch::AnyRows;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::position::Position;
use crate::setting::{Range, SettingError};
use crate::train_loop::Step;
use crate::updater::Updater;
use crate::updater::states::States;

/// All of a trainer but its updater.
pub(crate) struct Steps<B: Backend> {
    pub(super) settings: Settings,
    pub(super) plans: Vec<Plan<B>>,
    pub(super) states: Vec<States<B>>,
    progress: Vec<(Weak<Model>, Progress)>,
    pub(super) seed: u64,
    #[cfg(feature = "cluster")]
    pub(super) on_cluster: Option<super::remote::OnCluster>,
}

/// The progress of a network's training.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) passes: usize,
    pub(super) steps: u64,
    /// The position at which the next reader is continued, if a checkpoint was read.
    pub(super) resumed: Option<Position>,
}

impl<B: Backend> Steps<B> {
    /// No steps yet. `decoupled` says whether the updater applies decay itself.
    pub(super) fn new(decoupled: bool) -> Self {
        let settings = Settings { decoupled, ..Settings::default() };
        Steps {
            settings,
            plans: Vec::new(),
            states: Vec::new(),
            progress: Vec::new(),
            seed: 0,
            #[cfg(feature = "cluster")]
            on_cluster: None,
        }
    }

    /// Errors if a setting is out of its range.
    pub(super) fn check(&self, updater: &dyn Updater) -> Result<(), SettingError> {
        updater.check()?;
        match self.settings.clip {
            Some(Clip::Value(bound)) => Range::Positive.check("the bound of `Clip::Value`", bound)?,
            Some(Clip::Norm(bound)) => Range::Positive.check("the bound of `Clip::Norm`", bound)?,
            Some(Clip::GlobalNorm(bound)) => {
                Range::Positive.check("the bound of `Clip::GlobalNorm`", bound)?
            }
            None => {}
        }
        match self.settings.decay {
            Some(Decay::L1(factor)) => Range::NotNegative.check("the factor of `Decay::L1`", factor),
            Some(Decay::L2(factor)) => Range::NotNegative.check("the factor of `Decay::L2`", factor),
            None => Ok(()),
        }
    }

    /// Whether this process is the one that writes files and says how far a training is.
    pub(super) fn is_first(&self) -> bool {
        #[cfg(feature = "cluster")]
        if let Some(on) = &self.on_cluster {
            return on.is_first();
        }
        true
    }

    /// Tells the cluster how what was done last went.
    #[cfg(feature = "cluster")]
    pub(super) fn went(&self, how: Result<(), &Error>) {
        if let Some(on) = &self.on_cluster {
            on.went(how);
        }
    }

    /// Whether ranks have parts of the network.
    #[cfg(feature = "cluster")]
    pub(super) fn is_in_stages(&self) -> bool {
        self.on_cluster.as_ref().is_some_and(super::remote::OnCluster::is_in_stages)
    }

    /// Whether to stop behind this step, if this process was `told` to or not. Ranks that train as equals stop together.
    pub(super) fn stops(&self, told: bool) -> bool {
        #[cfg(feature = "cluster")]
        if let Some(on) = &self.on_cluster {
            return on.stops(told);
        }
        told
    }

    pub(super) fn known_progress(&self, model: &Arc<Model>) -> Option<&Progress> {
        let of = |(other, _): &&(Weak<Model>, Progress)| Weak::as_ptr(other) == Arc::as_ptr(model);
        self.progress.iter().find(of).map(|(_, progress)| progress)
    }

    pub(super) fn progress(&mut self, model: &Arc<Model>) -> &mut Progress {
        let of = |(other, _): &(Weak<Model>, Progress)| Weak::as_ptr(other) == Arc::as_ptr(model);
        let at = self.progress.iter().position(of).unwrap_or_else(|| {
            self.progress.retain(|(other, _)| other.strong_count() > 0);
            self.progress.push((Arc::downgrade(model), Progress::default()));
            self.progress.len() - 1
        });
        &mut self.progress[at].1
    }
}

impl<B: Backend + Clone> Steps<B> {
    /// Runs a step. Returns the index of its plan, and the result of the step.
    #[inline(never)]
    pub(crate) fn step(
        &mut self,
        updater: &dyn Updater,
        model: &Arc<Model>,
        parameters: &mut Parameters<B>,
        rows: &dyn AnyRows,
        options: &Options,
    ) -> Result<(usize, Step), Error> {
        #[cfg(feature = "cluster")]
        if self.on_cluster.is_some() {
            let stepped = self.step_on_cluster(updater, model, parameters, rows, options);
            self.went(stepped.as_ref().map(drop));
            return stepped;
        }
        let (seed, step) = (self.seed, self.progress(model).steps);
        let (at, states) = self.plan(updater, model, parameters, options)?;
        let rate = updater.learning_rate(step);
        Range::NotNegative.check(format_args!("the learning rate of step {step}"), rate)?;
        let moment = Moment { seed, step, rate };
        let (plan, buffers) = (&mut self.plans[at], &mut self.states[states].buffers);
        plan.begin(moment);
        let (count, cost) = plan.compute(rows, parameters.buffers_mut()?, buffers)?;
        if !cost.is_finite() && !options.allows_nan {
            plan.go_back(parameters.buffers_mut()?)?;
            let cause = self.cause(updater, model, parameters, rows, options, states, moment).map(Box::new);
            return Err(CostNotFinite { step, cost, cause }.into());
        }
        plan.update(parameters.buffers_mut()?, buffers)?;
        self.progress(model).steps += 1;
        Ok((at, Step { cost: cost as f32, rows: count }))
    }

    /// The indices of the plan of a network, which is made when it is first needed, and of the states of its
    /// parameters.
    pub(super) fn plan(
        &mut self,
        updater: &dyn Updater,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        options: &Options,
    ) -> Result<(usize, usize), Error> {
        let states = match self.states.iter().position(|states| states.is_of(parameters)) {
            Some(at) => at,
            None => {
                self.states.retain(States::is_alive);
                self.states.push(States::new(parameters));
                self.states.len() - 1
            }
        };
        let known = |plan: &Plan<B>| plan.is_for(model, parameters.identity(), options);
        let at = match self.plans.iter().position(known) {
            Some(at) => at,
            None => {
                self.check(updater)?;
                self.plans.retain(|plan| plan.session.is_alive());
                let states = &mut self.states[states];
                self.plans.push(Plan::new(model, parameters, options, states, updater, &self.settings)?);
                self.plans.len() - 1
            }
        };
        Ok((at, states))
    }
}
