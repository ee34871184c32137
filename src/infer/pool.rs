//! The plans of the networks that are run with a set of parameters: one for each call that runs at the same time.

use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use paddle_core::ops::Program;
use paddle_core::passes::Pipeline;
use paddle_core::plan::{Backend, Numbers, Part, Storage};

use crate::Error;
use crate::batch::Rows;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::network::Spec;
use crate::outputs::OutputError;
use crate::parameters::Parameters;
use crate::session::Session;

/// Which random numbers a run draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) seed: u64,
    pub(crate) step: u64,
}

/// A plan, and what it computes beside the outputs.
pub(super) struct Plan<B: Backend> {
    taps: Vec<String>,
    pub(super) session: Session<B>,
    pub(super) metrics: Metrics,
}

impl<B: Backend + Clone> Plan<B> {
    pub(super) fn new(model: &Arc<Model>, parameters: &Parameters<B>, taps: &[&str]) -> Result<Self, Error> {
        let (program, metrics) = in_use(model, taps)?;
        let session = Session::new(model, &program, parameters, &Storage::new(), Numbers::Any)?;
        Ok(Plan { taps: taps.iter().map(|name| name.to_string()).collect(), session, metrics })
    }
}

impl<B: Backend> Plan<B> {
    /// Computes a batch, and returns its number of rows.
    pub(super) fn compute<S: Spec>(
        &mut self,
        rows: &impl Rows<S>,
        Draws { seed, step }: Draws,
        parameters: &Parameters<B>,
    ) -> Result<usize, Error> {
        let count = self.session.feed(rows, &[])?;
        let executor = &mut self.session.executor;
        executor.set_seed(seed);
        executor.set_step(step);
        match executor.changes_parameters() {
            // What others wrote may count something, or train itself.
            true => parameters.with(|buffer| executor.run(Part::Compute, buffer))?,
            false => parameters.read_with(|buffer| executor.run_shared(buffer))?,
        }
        Ok(count)
    }

    fn is_for(&self, model: &Arc<Model>, parameters: &Arc<()>, taps: &[&str]) -> bool {
        self.session.is_for(model, parameters) && self.taps == taps
    }
}

/// What the network computes when it is used, and the taps of these names as further outputs.
fn in_use(model: &Model, taps: &[&str]) -> Result<(Program, Metrics), Error> {
    let mut program = model.program.clone();
    let mut outputs = program.outputs().to_vec();
    for name in taps {
        let found = program.taps().iter().find(|tap| tap.name == *name).map(|tap| tap.var);
        outputs.push(found.ok_or_else(|| OutputError::NoSuchTap {
            tap: name.to_string(),
            taps: program.taps().iter().map(|tap| tap.name.clone()).collect(),
        })?);
    }
    program.set_outputs(&outputs)?;
    let metrics = Metrics::new(model, &mut program)?;
    Pipeline::inference().run(&mut program)?;
    Ok((program, metrics))
}

/// The plans that no call uses now, and how often each network was called.
pub(crate) struct Inference<B: Backend> {
    /// Those that were used last are behind.
    idle: Vec<Plan<B>>,
    calls: Vec<(Weak<Model>, u64)>,
}

impl<B: Backend> Inference<B> {
    pub(crate) fn new() -> Self {
        Inference { idle: Vec::new(), calls: Vec::new() }
    }

    /// What the next call of a network draws that has no seed.
    pub(super) fn next_draws(&mut self, model: &Arc<Model>) -> Draws {
        let known = self.calls.iter().position(|(of, _)| Weak::as_ptr(of) == Arc::as_ptr(model));
        let at = known.unwrap_or_else(|| {
            self.calls.retain(|(of, _)| of.strong_count() > 0);
            self.calls.push((Arc::downgrade(model), 0));
            self.calls.len() - 1
        });
        let calls = &mut self.calls[at].1;
        *calls += 1;
        Draws { seed: 0, step: *calls - 1 }
    }

    /// An idle plan of a network. There may be none.
    pub(super) fn take(
        &mut self,
        model: &Arc<Model>,
        parameters: &Arc<()>,
        taps: &[&str],
    ) -> Option<Plan<B>> {
        let at = self.idle.iter().rposition(|plan| plan.is_for(model, parameters, taps));
        if at.is_none() {
            self.idle.retain(|plan| plan.session.is_alive());
        }
        Some(self.idle.remove(at?))
    }

    /// Keeps a plan for later calls, unless there are as many of its kind as can compute at a time.
    pub(super) fn give_back(&mut self, plan: Plan<B>) {
        let same = |other: &&Plan<B>| other.session.is_like(&plan.session) && other.taps == plan.taps;
        if self.idle.iter().filter(same).count() < cores() {
            self.idle.push(plan);
        }
    }
}

/// The cores of the machine for this process.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}
