//! What a master leaves in the store for the one that is started in its place: of which job a checkpoint is, and where the
//! user's loop was.
//!
//! It is the note of each commit, and so of each manifest. A job that has ended says so; its manifests are not gone on from.

use std::collections::BTreeMap;
use std::num::NonZero;

use bytes::Bytes;
use paddle_cluster::message::Manifest;
use paddle_core::passes::distribute::{self, DistributedTraining, Placement};
use prost::Message;
use serde_json::{Value, json};

use super::job::whole;
use super::pieces::Object;
use super::store::Store;
use super::{Cluster, ClusterError, Kind, Placed};
use crate::files::checkpoint::{Checkpoint, TrainerRecord};

/// Where the user's loop is, and in which job.
pub(crate) struct Note {
    /// The [digest](digest) of the job.
    pub(crate) job: String,
    pub(crate) record: TrainerRecord,
}

impl Note {
    pub(crate) fn encode(self) -> Bytes {
        let checkpoint = Checkpoint { trainers: vec![self.record] }.text();
        json!({ "job": self.job, "checkpoint": checkpoint }).to_string().into()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ClusterError> {
        let failed = |why: &str| ClusterError::Store { message: format!("what it says of the loop: {why}") };
        let value: Value = serde_json::from_slice(bytes).map_err(|error| failed(&error.to_string()))?;
        let text = |name: &str| value[name].as_str().ok_or(failed("a text is missing"));
        let mut trainers = Checkpoint::parse(text("checkpoint")?).map_err(failed)?.trainers;
        let record = trainers.pop().ok_or(failed("it is of no trainer"))?;
        Ok(Note { job: text("job")?.to_string(), record })
    }
}

/// A digest of a job: the programs that its machines execute, and further settings. Rates of learning, initial values and the
/// reader's data are not in it.
pub(crate) fn digest(training: &DistributedTraining, settings: &str) -> String {
    let mut of_servers = crc32fast::Hasher::new();
    training.servers.iter().for_each(|program| of_servers.update(program.to_string().as_bytes()));
    of_servers.update(settings.as_bytes());
    let of_trainers = crc32fast::hash(training.trainer.to_string().as_bytes());
    format!("{of_trainers:08x}{:08x}", of_servers.finalize())
}

/// A job whose master has ended before the job did.
pub(crate) struct Interrupted {
    store: Store,
    manifest: Manifest<Bytes>,
    whole: bool,
    /// Where the user's loop was.
    pub(crate) record: TrainerRecord,
}

impl Cluster {
    /// What an earlier master of this job has left, if the job has not ended.
    pub(crate) fn interrupted(&self, job: &str) -> Result<Option<Interrupted>, ClusterError> {
        let (store, lock, whole) = {
            let inner = self.inner();
            let Kind::Ranks(ranks) = &inner.kind else { return Ok(None) };
            (ranks.store.clone(), ranks.lock.clone(), inner.whole)
        };
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        let known = lock.map_or(Ok(None), |lock| lock.newest())?;
        let Some(manifest) = store.newest(known).map_err(failed)? else { return Ok(None) };
        // Of a loop that this library does not run nothing is known.
        if manifest.note.is_empty() || store.has_ended(manifest.id.epoch.election).map_err(failed)? {
            return Ok(None);
        }
        let Note { job: found, record } = Note::decode(&manifest.note)?;
        if found != job {
            return Err(ClusterError::OtherJob { found, expected: job.to_string() });
        }
        Ok(Some(Interrupted { store, manifest, whole, record }))
    }

    /// Writes down that the job has ended, so that the same program, started again, begins anew.
    pub(super) fn end_job(&self) -> Result<(), ClusterError> {
        let inner = self.inner();
        let (Kind::Ranks(ranks), Some(election)) = (&inner.kind, inner.running.election) else {
            return Ok(());
        };
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        if let Some(lock) = &ranks.lock {
            lock.check()?;
        }
        ranks.store.end(election).map_err(failed)
    }
}

impl Interrupted {
    /// The values of these parameters, and of the updater's states, on however many servers they were.
    pub(crate) fn values<'a>(
        &self,
        parameters: impl Iterator<Item = distribute::Placed<'a>>,
    ) -> Result<Vec<Placed>, ClusterError> {
        let Interrupted { store, manifest, .. } = self;
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        let senseless = || ClusterError::Message { what: "a checkpoint" };
        let mut pieces = BTreeMap::new();
        for (rank, digest) in (0..).zip(&manifest.digests) {
            let object = store.get(manifest.id, rank, Some(digest)).map_err(failed)?.ok_or_else(senseless)?;
            let object = Object::decode(object).map_err(|_| senseless())?;
            pieces.extend(object.pieces.into_iter().map(|piece| (piece.desc.id, piece.values)));
        }
        let servers = u32::try_from(manifest.digests.len()).ok().and_then(NonZero::new);
        let placement = Placement::new(parameters, servers.ok_or_else(senseless)?, self.whole);
        whole(&placement, &pieces).ok_or_else(senseless)
    }
}
