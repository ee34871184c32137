//! The pool of plans for inference with one set of parameters. Calls that run at the same time have a plan each.
//!
//! A call takes an idle plan from a queue without locks, and gives it back, all without allocations. Only a call that has to make a plan takes
//! a lock: it looks in a list for the other plans of the network, which count its calls together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;

use crossbeam_queue::ArrayQueue;
use paddle_core::ops::Program;
use paddle_core::passes::Pipeline;
use paddle_core::passes::test_mode::test_mode;
use paddle_core::plan::{Arithmetic, Backend, Precision, Storage};

use crate::Error;
use crate::batch::AnyRows;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::outputs::{OutputError, Spare};
use crate::parameters::Parameters;
use crate::session::{Session, for_device};

/// The most idle plans of all networks, unless there are more cores.
const MOST_IDLE: usize = 1024;

/// The seed and the step that decide a run's random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) seed: u64,
    pub(crate) step: u64,
}

/// What is computed of a network, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The names of the values that are outputs, too.
    pub(crate) taps: &'a [&'a str],
    pub(crate) precision: Precision,
}

impl Wanted<'_> {
    /// The network's own outputs, computed as its program says.
    pub(crate) const OUTPUTS: Wanted<'static> = Wanted { taps: &[], precision: Precision::F32 };
}

/// A planned network, and its metrics.
pub(super) struct Plan<B: Backend> {
    kind: Arc<Kind>,
    pub(super) session: Session<B>,
    pub(super) metrics: Metrics,
}

/// The data that all plans of one network share of which the same is wanted.
struct Kind {
    model: Weak<Model>,
    taps: Vec<String>,
    precision: Precision,
    /// The number of calls of the network, whatever is wanted of it.
    calls: Arc<AtomicU64>,
    /// The number of these plans that are idle.
    idle: AtomicUsize,
    /// The memory of outputs of these plans that were dropped.
    spare: Arc<Spare>,
}

impl Kind {
    fn is_of(&self, model: &Arc<Model>) -> bool {
        Weak::as_ptr(&self.model) == Arc::as_ptr(model)
    }

    fn computes(&self, wanted: Wanted<'_>) -> bool {
        self.taps == wanted.taps && self.precision == wanted.precision
    }
}

impl<B: Backend + Clone> Plan<B> {
    fn new(
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        wanted: Wanted<'_>,
        kind: Arc<Kind>,
    ) -> Result<Self, Error> {
        let (program, metrics) = in_use(model, wanted.taps, parameters.backend())?;
        let arithmetic = Arithmetic { precision: wanted.precision, ..Arithmetic::default() };
        let session = Session::new(model, &program, parameters, &Storage::new(), arithmetic)?;
        Ok(Plan { kind, session, metrics })
    }
}

impl<B: Backend> Plan<B> {
    /// The memory of dropped outputs.
    pub(super) fn spare(&self) -> &Arc<Spare> {
        &self.kind.spare
    }

    /// The random numbers for the network's next call without a seed.
    pub(super) fn next_draws(&self) -> Draws {
        Draws { seed: 0, step: self.kind.calls.fetch_add(1, Ordering::Relaxed) }
    }

    /// Computes a batch, and returns its number of rows.
    pub(super) fn compute(
        &mut self,
        rows: &dyn AnyRows,
        Draws { seed, step }: Draws,
        parameters: &Parameters<B>,
    ) -> Result<usize, Error> {
        let count = self.session.feed(rows, &[])?;
        let executor = &mut self.session.executor;
        executor.set_seed(seed);
        executor.set_step(step);
        parameters.values()?.compute(parameters.backend(), executor)?;
        Ok(count)
    }

    fn is_for(&self, model: &Arc<Model>, wanted: Wanted<'_>) -> bool {
        self.kind.is_of(model) && self.kind.computes(wanted)
    }
}

/// The program for inference. The taps of these names are further outputs.
fn in_use<B: Backend>(model: &Model, taps: &[&str], backend: &B) -> Result<(Program, Metrics), Error> {
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
    // What training alone needs may be between operators that become one.
    test_mode(&mut program);
    for_device(backend, &mut program)?;
    Pipeline::inference().run(&mut program)?;
    Ok((program, metrics))
}

/// The idle plans, and the kinds of all plans.
pub(crate) struct Inference<B: Backend> {
    /// The idle plans. If there are too many, that which was used least recently is dropped.
    idle: ArrayQueue<Box<Plan<B>>>,
    /// Locked only when a plan is made.
    kinds: Mutex<Vec<Arc<Kind>>>,
}

impl<B: Backend> Inference<B> {
    pub(crate) fn new() -> Self {
        Inference { idle: ArrayQueue::new(MOST_IDLE.max(cores())), kinds: Mutex::new(Vec::new()) }
    }

    /// Takes an idle plan of a network for what is wanted, or makes a new one.
    pub(super) fn take(
        &self,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        wanted: Wanted<'_>,
    ) -> Result<Box<Plan<B>>, Error>
    where
        B: Clone,
    {
        // Looks once at each plan that is idle at the beginning. Plans of networks that are gone are dropped.
        for _ in 0..self.idle.len() {
            let Some(plan) = self.idle.pop() else { break };
            if plan.is_for(model, wanted) {
                plan.kind.idle.fetch_sub(1, Ordering::Relaxed);
                return Ok(plan);
            }
            if plan.session.is_alive() {
                self.keep(plan);
            }
        }
        Ok(Box::new(Plan::new(model, parameters, wanted, self.kind(model, wanted))?))
    }

    fn kind(&self, model: &Arc<Model>, wanted: Wanted<'_>) -> Arc<Kind> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|kind| kind.model.strong_count() > 0);
        let mut of_model = kinds.iter().filter(|kind| kind.is_of(model));
        let calls = of_model.clone().next().map(|kind| Arc::clone(&kind.calls)).unwrap_or_default();
        if let Some(known) = of_model.find(|kind| kind.computes(wanted)) {
            return Arc::clone(known);
        }
        let taps = wanted.taps.iter().map(|name| name.to_string()).collect();
        let (model, idle) = (Arc::downgrade(model), AtomicUsize::new(0));
        let kind = Arc::new(Kind {
            model,
            taps,
            precision: wanted.precision,
            calls,
            idle,
            spare: Arc::new(Spare::new(cores())),
        });
        kinds.push(Arc::clone(&kind));
        kind
    }

    /// Keeps a plan for later calls, unless as many plans of its kind are idle as there are cores.
    pub(super) fn give_back(&self, plan: Box<Plan<B>>) {
        match plan.kind.idle.fetch_add(1, Ordering::Relaxed) < cores() {
            true => self.keep(plan),
            false => drop(plan.kind.idle.fetch_sub(1, Ordering::Relaxed)),
        }
    }

    fn keep(&self, plan: Box<Plan<B>>) {
        if let Some(oldest) = self.idle.force_push(plan) {
            oldest.kind.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The number of cores that this process may use.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}
