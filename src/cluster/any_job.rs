//! A job, whatever computes its steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use paddle_core::passes::distribute::{DistributedTraining, Placement};
use paddle_core::passes::stages::StagedTraining;
use paddle_core::plan::Arithmetic;

use super::ClusterError;
use super::all_reduce::GroupJob;
use super::job::{Job, Placed, StepOf};
use crate::Error;
use crate::batch::Table;
use crate::element::Values;
use crate::trainer::FedShards;

/// What trains one set of parameters.
pub(crate) enum AnyJob {
    /// Parameter servers and trainers, and this process as their master.
    Servers(Job),
    /// Ranks that train as equals, of which this process is one.
    Group(Box<GroupJob>),
}

/// A step that was begun.
pub(crate) enum Begun {
    /// A job of servers computes it, and knows it by this ticket.
    UnderWay(u64),
    /// The outputs of each shard.
    Done(Vec<Vec<f64>>),
}

impl AnyJob {
    /// The placement of the parameters.
    pub(crate) fn placement(&self) -> &Placement {
        match self {
            AnyJob::Servers(job) => job.placement(),
            AnyJob::Group(job) => job.placement(),
        }
    }

    /// Adds the programs of a training step. Returns the number of the plan.
    pub(crate) fn plan(
        &mut self,
        training: &DistributedTraining,
        trainer: u32,
        arithmetic: Arithmetic,
    ) -> Result<u32, Error> {
        match self {
            AnyJob::Servers(job) => Ok(job.plan(training, trainer, arithmetic)?),
            AnyJob::Group(job) => job.plan(training, trainer, arithmetic),
        }
    }

    /// Whether ranks have parts of the network.
    pub(crate) fn is_in_stages(&self) -> bool {
        matches!(self, AnyJob::Group(job) if job.is_in_stages())
    }

    /// Adds the programs of a training step in stages. Returns the number of the plan.
    pub(crate) fn plan_stages(
        &mut self,
        training: &StagedTraining,
        trainer: u32,
        arithmetic: Arithmetic,
    ) -> Result<u32, Error> {
        match self {
            AnyJob::Servers(_) => Err(ClusterError::Message { what: "a plan" }.into()),
            AnyJob::Group(job) => job.plan_stages(training, trainer, arithmetic),
        }
    }

    /// Has the gradients of a batch computed, or begins to.
    pub(crate) fn begin(
        &mut self,
        step: StepOf,
        table: &Table,
        shards: &mut FedShards,
    ) -> Result<Begun, Error> {
        match self {
            AnyJob::Servers(job) => job.compute(step, table, shards).map(Begun::UnderWay),
            AnyJob::Group(job) => job.compute(step, table, shards).map(Begun::Done),
        }
    }

    /// The outputs of each shard of a step. Unless steps are asynchronous, [`commit`](Self::commit) or
    /// [`abandon`](Self::abandon) has to follow.
    pub(crate) fn outputs(&mut self, begun: &mut Begun) -> Result<Vec<Vec<f64>>, Error> {
        match (self, begun) {
            (AnyJob::Servers(job), Begun::UnderWay(ticket)) => Ok(job.outputs(*ticket)?),
            (AnyJob::Group(_), Begun::UnderWay(_)) => Err(ClusterError::Message { what: "a step" }.into()),
            (_, Begun::Done(outputs)) => Ok(std::mem::take(outputs)),
        }
    }

    /// Applies the step that was computed. `note` says where the user's loop is behind it; of a group nobody goes on from there.
    pub(crate) fn commit(&mut self, note: Bytes) -> Result<(), Error> {
        match self {
            AnyJob::Servers(job) => Ok(job.commit(note)?),
            AnyJob::Group(job) => job.commit(),
        }
    }

    /// Applies nothing of the step that was computed.
    pub(crate) fn abandon(&mut self) -> Result<(), Error> {
        match self {
            AnyJob::Servers(job) => job.abandon()?,
            AnyJob::Group(job) => job.abandon(),
        }
        Ok(())
    }

    /// Whether to stop behind this step, if this process was `told` to or not.
    pub(crate) fn stops(&mut self, told: bool) -> bool {
        match self {
            AnyJob::Servers(_) => told,
            AnyJob::Group(job) => job.stops(told),
        }
    }

    /// The number that the first of the ranks has, and whether this process is the first. In a group, all ranks have to ask.
    pub(crate) fn agree(&mut self, own: u64) -> Result<(u64, bool), Error> {
        match self {
            AnyJob::Servers(_) => Ok((own, true)),
            AnyJob::Group(job) => Ok(job.agree(own)?),
        }
    }

    /// All values, with the updaters' states, as they are after the steps so far. In a group, all ranks have to ask.
    pub(crate) fn fetch(&mut self) -> Result<Vec<Placed>, Error> {
        match self {
            AnyJob::Servers(job) => Ok(job.fetch()?),
            AnyJob::Group(job) => job.fetch(),
        }
    }

    /// The values of the parameters as they are after the steps so far.
    pub(crate) fn parameters(&mut self) -> Result<Vec<(String, Values)>, Error> {
        match self {
            AnyJob::Servers(job) => {
                let parameters = job.fetch()?.into_iter().filter(|value| value.state.is_none());
                Ok(parameters.map(|value| (value.parameter, value.values)).collect())
            }
            AnyJob::Group(job) => job.parameters(),
        }
    }

    /// Ends the job.
    pub(super) fn finish(&mut self) {
        match self {
            AnyJob::Servers(job) => job.finish(),
            AnyJob::Group(job) => job.finish(),
        }
    }
}

/// A job that several trainers and a set of parameters share.
pub(crate) type SharedJob = Arc<Mutex<Option<AnyJob>>>;

/// Locks a job.
pub(crate) fn lock(job: &SharedJob) -> MutexGuard<'_, Option<AnyJob>> {
    job.lock().unwrap_or_else(PoisonError::into_inner)
}
