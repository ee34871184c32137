//! The user's loop, and the process that it runs in.

use super::model::{self, Kind};
use super::store::{self, State};
use super::world::World;
use crate::machine::{Effect, Event, StepError, Verdict};
use crate::master::Mode;
use crate::message::{Manifest, ManifestId};
use crate::timing::Micros;

/// Where the loop is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct User {
    /// Which master's.
    pub(super) election: u32,
    /// Which batch is next.
    position: usize,
    /// In asynchronous training: which batch is requested next.
    requested: usize,
}

impl World {
    /// The program writes the first manifest before there is a master.
    pub(super) fn place(&mut self) {
        let id = ManifestId::default();
        let mut digests = Vec::new();
        for rank in 0..self.scenario.settings.servers {
            let pieces = (0..).zip(&self.scenario.training.pieces);
            let state: State =
                pieces.filter(|(_, piece)| piece.1 == rank).map(|(id, piece)| (id, (piece.0, 0))).collect();
            digests.push(store::digest(&state));
            self.store.objects.insert((id, rank), state);
        }
        self.store.manifests.push(Manifest { id, digests, note: 0 });
    }

    pub(super) fn elect(&mut self, at: usize) {
        self.store.election += 1;
        self.store.master = at as u64;
        let election = self.store.election;
        self.hosts[at].memory.user.election = election;
        for plan in self.scenario.training.plans.clone() {
            self.feed(at, Event::Plan(plan));
        }
        let manifests = self.store.manifests.clone();
        self.feed(at, Event::Elected { election, manifests });
    }

    /// The loop's next step.
    fn next(&mut self, at: usize, delay: Micros) {
        let position = self.hosts[at].memory.user.position;
        if let Mode::Asynchronous { staleness } = self.scenario.settings.mode {
            return self.request_several(at, delay, staleness);
        }
        let event = match self.scenario.training.batches.get(position) {
            Some(batch) => Event::Request(batch.request.clone()),
            None => Event::Fetch(0),
        };
        self.later(at, delay, event);
    }

    /// Requests as many steps as may be under way.
    fn request_several(&mut self, at: usize, delay: Micros, staleness: u64) {
        let User { position, requested, .. } = self.hosts[at].memory.user;
        let batches = &self.scenario.training.batches;
        let end = batches.len().min(position + usize::try_from(staleness).unwrap_or(0) + 1);
        let requests: Vec<_> = batches[requested..end.max(requested)].to_vec();
        self.hosts[at].memory.user.requested = end.max(requested);
        for batch in requests {
            self.later(at, delay, Event::Request(batch.request));
        }
        if position == self.scenario.training.batches.len() {
            self.later(at, delay, Event::Fetch(0));
        }
    }

    fn go_on(&mut self, at: usize) {
        self.hosts[at].memory.user.position += 1;
        self.next(at, 200);
    }

    pub(super) fn tell_user(&mut self, at: usize, effect: Effect<u64>) {
        let alone = self.scenario.training.alone;
        let User { election, position, .. } = self.hosts[at].memory.user;
        // What an old master does is not in the history that survives; it is not compared with it.
        let newest = election == self.store.election;
        let batch = self.scenario.training.batches.get(position).cloned();
        let now = self.now;
        match effect {
            Effect::Resume { version, note } => {
                self.hosts[at].memory.user.position = usize::try_from(note).unwrap_or(0);
                self.hosts[at].memory.user.requested = self.hosts[at].memory.user.position;
                if newest {
                    self.store.resume(version);
                    if self.store.log.len() as u64 != version {
                        self.checks.fail(now, format!("the log does not reach to version {version}"));
                    }
                }
                self.next(at, 200);
            }
            Effect::Results { step, results } => {
                let Some(batch) = batch else {
                    return self.checks.fail(now, format!("{step:?} has results without a request"));
                };
                let leaves = u32::try_from(batch.request.leaves.len()).unwrap_or(0);
                let mut verdict = Verdict::Abandon;
                if batch.kind == Kind::Normal {
                    verdict = Verdict::Commit { note: position as u64 + 1 };
                    if !alone {
                        self.checks.results(now, &self.reference, step.version, leaves, &results);
                    }
                }
                let delay = self.random.range(50, 3_000);
                let abandoned = verdict == Verdict::Abandon;
                self.later(at, delay, Event::Verdict { step, verdict });
                if abandoned {
                    // The verdict comes before the next request.
                    self.hosts[at].memory.user.position += 1;
                    self.next(at, delay);
                }
            }
            Effect::Committed(entry) => {
                if newest {
                    if self.committed_at > 0 {
                        self.longest = self.longest.max(now - self.committed_at);
                    }
                    self.committed_at = now;
                    self.checks.committed(now, &self.reference, &self.store.log, entry);
                    self.store.log.push(entry);
                }
                match batch {
                    Some(batch) if batch.fetch => self.later(at, 100, Event::Fetch(batch.request.plan)),
                    _ => self.go_on(at),
                }
            }
            Effect::StepFailed(StepError::User(error)) => {
                if !batch.is_some_and(|batch| batch.kind == Kind::Error && batch.request.header == error) {
                    self.checks.fail(now, format!("the batch {position} has no error"));
                }
                self.go_on(at);
            }
            Effect::StepFailed(StepError::Poison { .. })
                if batch.as_ref().is_some_and(|batch| batch.kind == Kind::Deadly) =>
            {
                self.go_on(at);
            }
            Effect::StepFailed(error) => self.checks.fail(now, format!("the step failed: {error:?}")),
            // It is computed with other values than the first time.
            Effect::Replayed { .. } if alone => {}
            Effect::Replayed { version, results } => {
                let entry = self.reference.log.get(usize::try_from(version).unwrap_or(usize::MAX));
                let batches = &self.scenario.training.batches;
                let of_entry = |batch: &&model::Batch| {
                    entry.is_some_and(|entry| {
                        (batch.request.pass, batch.request.batch) == (entry.pass, entry.batch)
                    })
                };
                let leaves = batches.iter().find(of_entry).map_or(0, |batch| batch.request.leaves.len());
                let leaves = u32::try_from(leaves).unwrap_or(0);
                self.checks.results(now, &self.reference, version, leaves, &results);
            }
            Effect::Fetched { plan, version, values } => {
                if newest {
                    let fetched = (plan, version, values.as_slice());
                    let training = &self.scenario.training;
                    self.checks.fetched(now, training, &self.reference, &self.store.log, fetched);
                }
                if batch.is_some() {
                    return self.go_on(at);
                }
                // That the job is over is entered into the store, which an old master cannot do.
                if newest {
                    self.later(at, 100, Event::Finish);
                    if self.store.log != self.reference.log {
                        self.checks.fail(now, "the log is not that of one machine".into());
                    }
                    self.done = true;
                } else {
                    self.hosts[at].alive = false;
                }
            }
            _ => {}
        }
    }
}
