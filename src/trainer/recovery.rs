//! A training on a cluster whose master is started again: it goes on from the newest checkpoint in the job's store.

use std::sync::Arc;

use paddle_core::passes::accumulate::is_of_one_step;
use paddle_core::passes::stages::homes;
use paddle_core::plan::Backend;
use paddle_core::program::Type;

use super::Trainer;
use super::remote::placed;
use super::steps::Steps;
use crate::Error;
use crate::cluster::{Beginning, Cluster, ClusterError, Interrupted, Note, Placed};
use crate::files::checkpoint::{NetworkRecord, TrainerRecord};
use crate::metrics::{Mean, Metric};
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::options::Options;
use crate::parameters::Parameters;
use crate::position::Position;
use crate::updater::Updater;
use crate::updater::states::States;

/// Where the loop of a training on a cluster is. Commits say it, for a master that is started again.
pub(super) struct Place {
    /// The digest of the job.
    pub(super) job: String,
    pub(super) position: Position,
}

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Goes on where an earlier master of the job was, unless this trainer, from a checkpoint of the user's, is further. From
    /// now on commits say where the loop is. `is_resumed` says whether there was such a checkpoint.
    pub(crate) fn go_on<S: Spec>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        options: &Options,
        cluster: &Cluster,
        is_resumed: bool,
    ) -> Result<(), Error> {
        let model = net.model()?;
        let job = self.digest(model, parameters, options)?;
        let steps = self.steps.progress(model).steps;
        if let Some(interrupted) = cluster.interrupted(&job)? {
            let of_job = interrupted.record.networks.first().map_or(0, |network| network.steps);
            if is_resumed && steps >= of_job {
                eprintln!(
                    "cluster: the checkpoint of the options, of step {steps}, is not older than the job's own; going on from it"
                );
            } else {
                eprintln!("cluster: going on from the job's own checkpoint, of step {of_job}");
                self.steps.restore(model, parameters, interrupted)?;
            }
        }
        if let Some(on) = &mut self.steps.on_cluster {
            on.place = Some(Place { job, position: Position::default() });
        }
        Ok(())
    }
}

impl<B: Backend + Clone> Steps<B> {
    /// Takes parameters, states and progress of a job that was interrupted.
    fn restore(
        &mut self,
        model: &Arc<Model>,
        parameters: &mut Parameters<B>,
        interrupted: Interrupted,
    ) -> Result<(), Error> {
        let user = self.on_cluster.as_ref().map(|on| on.user);
        let (mut values, mut states) = (Vec::new(), States::new(parameters));
        for Placed { parameter, state, dims, values: of } in interrupted.values(placed(parameters))? {
            match state {
                None => values.push((parameter, of)),
                Some((trainer, slot)) if Some(trainer) == user && !is_of_one_step(&slot) => {
                    let dtype = parameters.storage().find(&parameter).map(|stored| stored.dtype);
                    let dtype = dtype.ok_or(ClusterError::Message { what: "a checkpoint" })?;
                    let ty = Type::new(dtype, dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>());
                    states.insert(parameters.backend(), (&parameter, &slot), &ty, &of)?;
                }
                Some(_) => {}
            }
        }
        parameters.upload(&values);
        self.go_back(std::slice::from_ref(model), interrupted.record, states);
        Ok(())
    }
}

impl<B: Backend> Steps<B> {
    /// The loop is at a position.
    pub(super) fn reached(&mut self, position: &Position) {
        if let Some(place) = self.on_cluster.as_mut().and_then(|on| on.place.as_mut()) {
            place.position.clone_from(position);
        }
    }

    /// Where a job begins, before its first step.
    pub(super) fn beginning(&self, model: &Arc<Model>) -> Result<Beginning, Error> {
        let place = self.on_cluster.as_ref().and_then(|on| on.place.as_ref());
        let samples = place.map_or((0, 0), |place| (place.position.pass as u64, place.position.rows()));
        let version = self.known_progress(model).map_or(0, |progress| progress.steps);
        let stages = self.on_cluster.as_ref().and_then(|on| on.cluster.stage_count());
        let homes = stages.map(|count| homes(&model.program, count)).transpose()?;
        Ok(Beginning { version, note: self.note(model, None), samples, homes })
    }

    /// What the store is told of the loop; nothing of one that nobody could go on with. With a cost and metrics, it is where the
    /// loop is behind the step that has them.
    pub(super) fn note(&self, model: &Arc<Model>, step: Option<(Metric, Vec<Metric>)>) -> bytes::Bytes {
        let place = self.on_cluster.as_ref().and_then(|on| on.place.as_ref());
        let Some(Place { job, position }) = place else { return bytes::Bytes::new() };
        let mut position = position.clone();
        let mut steps = self.known_progress(model).map_or(0, |progress| progress.steps);
        if let Some((cost, metrics)) = step {
            position.means.resize(1 + metrics.len(), Mean::default());
            position.advance(cost, metrics.into_iter());
            steps += 1;
        }
        let network = NetworkRecord { name: Some(model.signature.network.clone()), steps, position };
        let record = TrainerRecord { seed: self.seed, networks: vec![network], states: Vec::new() };
        Note { job: job.clone(), record }.encode()
    }
}
