//! Steps on a cluster.

use std::collections::VecDeque;
use std::sync::Arc;

use paddle_core::passes::Pipeline;
use paddle_core::passes::distribute::{self, DistributedTraining, Placement};
use paddle_core::passes::optimize::Settings;
use paddle_core::passes::stages::{StagedTraining, balanced};
use paddle_core::plan::{Backend, StoredValues};

use super::ahead::Flight;
use super::plan::Moment;
use super::recovery::Place;
use super::shards::{FedShards, rows_of_batch};
use super::steps::Steps;
use super::{CostNotFinite, Trainer};
use crate::Error;
use crate::batch::{AnyRows, Table};
use crate::cluster::{
    AnyJob, Beginning, Begun, Cluster, ClusterError, Placed, SharedJob, StepOf, digest, lock,
};
use crate::element::Values;
use crate::first_values::Elsewhere;
use crate::metrics::{Metric, MetricSums};
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::setting::Range;
use crate::train_loop::Step;
use crate::updater::Updater;
use crate::updater::states::States;

/// A trainer's place on a cluster.
pub(crate) struct OnCluster {
    pub(super) cluster: Cluster,
    /// The number of the trainer there.
    pub(super) user: u32,
    /// Whether the updater's states there are newer than those here.
    is_ahead: bool,
    /// Where the loop is, if a master that is started again can go on from there.
    pub(super) place: Option<Place>,
    pub(super) flights: VecDeque<Flight>,
}

/// A step that the cluster computes.
pub(super) struct Requested {
    /// The index of its plan.
    pub(super) plan: usize,
    /// The index of its states.
    states: usize,
    pub(super) moment: Moment,
    /// The number of rows of its batch.
    pub(super) rows: usize,
    begun: Begun,
}

/// A plan's part on a cluster.
pub(super) struct Remote {
    /// The number of the plan there.
    plan: u32,
    fed: FedShards,
    metrics: MetricSums,
    scratch: Table,
}

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Has a cluster compute all steps, from the next one on. Their bits are those of steps with as many
    /// [shards](Options::shards) on one machine.
    ///
    /// The parameters and the updater's states are on the cluster then. What is read of parameters is what they are after
    /// the steps so far; states are fetched at the end of [`train`](Self::train).
    ///
    /// Behind [`step`](Self::step)s alone, the states are not here: what reads or saves them is an error.
    ///
    /// Without a cluster, steps are computed here, as they are without this call: an `Option` may be given.
    pub fn on<'c>(mut self, cluster: impl Into<Option<&'c Cluster>>) -> Self {
        let Some(cluster) = cluster.into() else { return self };
        let user = cluster.add_user();
        self.steps.on_cluster = Some(OnCluster {
            cluster: cluster.clone(),
            user,
            is_ahead: false,
            place: None,
            flights: VecDeque::new(),
        });
        self.steps.plans.clear();
        self
    }
}

impl<B: Backend + Clone> Steps<B> {
    /// Runs a step on the cluster.
    pub(super) fn step_on_cluster(
        &mut self,
        updater: &dyn Updater,
        model: &Arc<Model>,
        parameters: &mut Parameters<B>,
        rows: &dyn AnyRows,
        options: &Options,
    ) -> Result<(usize, Step), Error> {
        if self.runs_ahead() {
            self.begin_step((updater, model), parameters, rows, options, None)?;
            let ended = self.end_step(model, options, true)?;
            return ended.ok_or(ClusterError::Message { what: "a step" }.into());
        }
        let mut requested = self.request((updater, model), parameters, rows, options)?;
        let cost = self.cost(&mut requested)?;
        let Requested { plan, states, moment, rows: count, .. } = requested;
        let Some(on) = &self.on_cluster else { return Err(ClusterError::Message { what: "a step" }.into()) };
        let shared = on.cluster.job();
        if !cost.is_finite() && !options.allows_nan {
            if let Some(job) = lock(&shared).as_mut() {
                job.abandon()?;
            }
            let cause = self.cause(updater, model, parameters, rows, options, states, moment).map(Box::new);
            return Err(CostNotFinite { step: moment.step, cost, cause }.into());
        }
        let of_cost = Metric { value: cost as f32, weight: count as f64 };
        let of_metrics = self.plans[plan].metrics.iter().collect();
        let note = self.note(model, Some((of_cost, of_metrics)));
        if let Some(job) = lock(&shared).as_mut() {
            job.commit(note)?;
        }
        self.leave_states();
        self.progress(model).steps += 1;
        Ok((plan, Step { cost: cost as f32, rows: count }))
    }

    /// Has the cluster compute a step.
    pub(super) fn request(
        &mut self,
        (updater, model): (&dyn Updater, &Arc<Model>),
        parameters: &mut Parameters<B>,
        rows: &dyn AnyRows,
        options: &Options,
    ) -> Result<Requested, Error> {
        let (seed, step, pass) = {
            let progress = self.progress(model);
            let (step, pass) = (progress.steps, progress.passes as u64);
            (self.seed, step, pass)
        };
        let (at, states) = self.plan(updater, model, parameters, options)?;
        let rate = updater.learning_rate(step);
        Range::NotNegative.check(format_args!("the learning rate of step {step}"), rate)?;
        let Some(on) = &self.on_cluster else { return Err(ClusterError::Message { what: "a step" }.into()) };
        let shared = on.cluster.job();
        if lock(&shared).is_none() {
            on.begin(parameters, &self.states[states], self.beginning(model)?)?;
        } else if !parameters.is_elsewhere() {
            return Err(ClusterError::Changed { what: "parameters" }.into());
        }
        // From here on, also behind a step that fails, they are what the cluster has.
        parameters.leave(Arc::new(OnServers(Arc::clone(&shared))));
        let plan = &mut self.plans[at];
        let mut job = lock(&shared);
        let job = job.as_mut().ok_or(ClusterError::Ended { why: "it is over".to_string() })?;
        let remote = match &mut plan.remote {
            Some(remote) => remote,
            none => none.insert(Remote::new(model, options, updater, &self.settings, job, on.user)?),
        };
        let table = rows.columns(&mut remote.scratch)?;
        let count = table.rows()?;
        let of = StepOf { plan: remote.plan, seed, step, rate, at: (pass, step) };
        let begun = job.begin(of, table, &mut remote.fed)?;
        Ok(Requested { plan: at, states, moment: Moment { seed, step, rate }, rows: count, begun })
    }

    /// Waits for a step that was requested, and takes its metrics. Returns its cost.
    pub(super) fn cost(&mut self, requested: &mut Requested) -> Result<f64, Error> {
        let shared = self.on_cluster.as_ref().map(|on| on.cluster.job()).unwrap_or_default();
        let outputs = match lock(&shared).as_mut() {
            Some(job) => job.outputs(&mut requested.begun)?,
            None => return Err(ClusterError::Ended { why: "it is over".to_string() }.into()),
        };
        let plan = &mut self.plans[requested.plan];
        let Some(remote) = &mut plan.remote else {
            return Err(ClusterError::Message { what: "a result" }.into());
        };
        let mut cost = 0.0;
        remote.metrics.begin();
        for outputs in &outputs {
            let scalar = |output: usize| outputs.get(output).copied().unwrap_or(0.0);
            cost += scalar(0);
            remote.metrics.add(&scalar);
        }
        remote.metrics.finish(requested.rows, &mut plan.metrics);
        Ok(cost)
    }

    /// From here on the newest states are on the cluster.
    pub(super) fn leave_states(&mut self) {
        if let Some(on) = &mut self.on_cluster {
            on.is_ahead = true;
        }
    }

    /// Fetches the updater's states, if they are on a cluster.
    pub(super) fn fetch_states(&mut self, parameters: &Parameters<B>) -> Result<(), Error> {
        let Some(on) = &self.on_cluster else { return Ok(()) };
        let shared = on.cluster.job();
        let user = on.user;
        let values = match lock(&shared).as_mut() {
            Some(job) => job.fetch()?,
            None => return Ok(()),
        };
        let Some(states) = self.states.iter_mut().find(|states| states.is_of(parameters)) else {
            return Ok(());
        };
        for Placed { parameter, state, values, .. } in values {
            let Some((_, slot)) = state.filter(|(trainer, _)| *trainer == user) else { continue };
            states.set(parameters.backend(), &parameter, &slot, &values);
        }
        if let Some(on) = &mut self.on_cluster {
            on.is_ahead = false;
        }
        Ok(())
    }
}

impl<B: Backend> Steps<B> {
    /// Errors if the updater's states here are older than those on the cluster.
    pub(crate) fn check_states(&self) -> Result<(), ClusterError> {
        match &self.on_cluster {
            Some(on) if on.is_ahead => Err(ClusterError::Behind),
            _ => Ok(()),
        }
    }
}

impl OnCluster {
    pub(super) fn is_first(&self) -> bool {
        self.cluster.rank() == 0
    }

    pub(super) fn went(&self, how: Result<(), &Error>) {
        self.cluster.went(how);
    }

    pub(super) fn is_in_stages(&self) -> bool {
        self.cluster.stage_count().is_some()
    }

    pub(super) fn stops(&self, told: bool) -> bool {
        lock(&self.cluster.job()).as_mut().map_or(told, |job| job.stops(told))
    }

    /// Begins the job with these parameters.
    fn begin<B: Backend + Clone>(
        &self,
        parameters: &Parameters<B>,
        states: &States<B>,
        beginning: Beginning,
    ) -> Result<(), Error> {
        let mut values = Vec::new();
        for stored in parameters.iter() {
            let mut of = Values::zeros(stored.dtype, stored.elements())?;
            parameters.values()?.download(parameters.backend(), stored, 0, of.as_slice_mut());
            let (parameter, dims) = (stored.name.clone(), stored.dims.clone());
            values.push(Placed { parameter, state: None, dims, values: of });
        }
        for ((parameter, slot), stored) in states.iter() {
            let mut of = Values::zeros(stored.dtype, stored.elements())?;
            states.buffers.download(parameters.backend(), stored, 0, of.as_slice_mut());
            let state = Some((self.user, slot.to_string()));
            values.push(Placed {
                parameter: parameter.to_string(),
                state,
                dims: stored.dims.clone(),
                values: of,
            });
        }
        let placed: Vec<_> = placed(parameters).collect();
        self.cluster.begin(&placed, values, beginning)
    }
}

impl Remote {
    fn new(
        model: &Arc<Model>,
        options: &Options,
        updater: &dyn Updater,
        settings: &Settings,
        job: &mut AnyJob,
        user: u32,
    ) -> Result<Self, Error> {
        if job.is_in_stages() {
            let (training, metrics) = staged(model, options, updater, settings, job.placement())?;
            let plan = job.plan_stages(&training, user, options.arithmetic)?;
            let own = model.program.inputs().len();
            let Some(stage) = training.stages.first() else { unreachable!("there is a rank") };
            let fed = FedShards::new(&stage.compute, own, training.sharding.inputs);
            return Ok(Remote { plan, fed, metrics, scratch: Table::new(&model.signature) });
        }
        let (training, metrics) = distributed(model, options, updater, settings, job.placement())?;
        let plan = job.plan(&training, user, options.arithmetic)?;
        let fed = FedShards::new(&training.trainer, model.program.inputs().len(), training.sharding.inputs);
        Ok(Remote { plan, fed, metrics, scratch: Table::new(&model.signature) })
    }
}

/// The programs of a step in stages.
fn staged(
    model: &Arc<Model>,
    options: &Options,
    updater: &dyn Updater,
    settings: &Settings,
    placement: &Placement,
) -> Result<(StagedTraining, MetricSums), Error> {
    let mut network = balanced(&model.program, placement.servers().get())?;
    network.set_shards(options.shard_count(&network)?);
    let metrics = MetricSums::new(model, &mut network)?;
    let batch = rows_of_batch(model)?;
    // Workers compute on the CPU, which has a kernel for every operator.
    Pipeline::for_device(&|_, _| true).run(&mut network)?;
    options.frozen.check(&model.program)?;
    let is_frozen = |name: &str| options.frozen.contains(name);
    let rule = |update: &mut paddle_core::passes::optimize::Update<'_>| updater.update(update);
    let training = StagedTraining::new(&network, batch, settings, &is_frozen, &rule, placement)?;
    metrics.check(model, &training.sharding)?;
    Ok((training, metrics))
}

/// The programs of a step on a cluster.
fn distributed(
    model: &Arc<Model>,
    options: &Options,
    updater: &dyn Updater,
    settings: &Settings,
    placement: &Placement,
) -> Result<(DistributedTraining, MetricSums), Error> {
    let mut network = model.program.clone();
    network.set_shards(options.shard_count(&network)?);
    let metrics = MetricSums::new(model, &mut network)?;
    let batch = rows_of_batch(model)?;
    // Workers compute on the CPU, which has a kernel for every operator.
    Pipeline::for_device(&|_, _| true).run(&mut network)?;
    options.frozen.check(&model.program)?;
    let is_frozen = |name: &str| options.frozen.contains(name);
    let rule = |update: &mut paddle_core::passes::optimize::Update<'_>| updater.update(update);
    let training = DistributedTraining::new(&network, batch, settings, &is_frozen, &rule, placement)?;
    metrics.check(model, &training.sharding)?;
    Ok((training, metrics))
}

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// A digest of the job that trains a network with these options, on however many machines.
    pub(super) fn digest(
        &self,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        options: &Options,
    ) -> Result<String, Error> {
        let Steps { settings, seed, .. } = &self.steps;
        let placement = Placement::new(placed(parameters), std::num::NonZero::<u32>::MIN, true);
        let (training, _) = distributed(model, options, &self.updater, settings, &placement)?;
        Ok(digest(&training, &format!("{seed} {:?}", options.arithmetic)))
    }
}

#[cfg(feature = "kubernetes")]
impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Errors where a training on a cluster would be refused.
    pub(crate) fn check_distributed<S: crate::network::Spec>(
        &self,
        net: &crate::network::Network<S>,
        parameters: &Parameters<B>,
        options: &Options,
        cluster: &Cluster,
    ) -> Result<(), Error> {
        self.steps.check(&self.updater)?;
        options.check()?;
        let (servers, whole) = cluster.placed();
        let placement = Placement::new(placed(parameters), servers, whole);
        let (training, _) =
            distributed(net.model()?, options, &self.updater, &self.steps.settings, &placement)?;
        match cluster.staleness().is_some() && training.shares {
            true => Err(ClusterError::Asynchronous.into()),
            false => Ok(()),
        }
    }
}

/// The parameters, as they are placed on servers.
pub(super) fn placed<B: Backend>(parameters: &Parameters<B>) -> impl Iterator<Item = distribute::Placed<'_>> {
    parameters.iter().map(|stored| distribute::Placed {
        name: &stored.name,
        dtype: stored.dtype,
        dims: &stored.dims,
    })
}

/// Parameters whose values are on the servers of a job.
struct OnServers(SharedJob);

impl Elsewhere for OnServers {
    fn fetch(&self) -> Result<Vec<(String, Values)>, String> {
        let mut job = lock(&self.0);
        let job = job.as_mut().ok_or("the job on the cluster is over")?;
        job.parameters().map_err(|error| error.to_string())
    }

    fn agree(&self, own: u64) -> Result<(u64, bool), String> {
        let mut job = lock(&self.0);
        let job = job.as_mut().ok_or("the job on the cluster is over")?;
        job.agree(own).map_err(|error| error.to_string())
    }
}
