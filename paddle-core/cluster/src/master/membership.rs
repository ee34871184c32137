//! Who is in the job.

use crate::message::*;
use crate::planted::{Bug, planted};
use crate::timing::Micros;
use std::collections::BTreeMap;

/// A worker that was let in.
#[derive(Clone, Debug)]
pub(super) struct Worker<P> {
    pub(super) process: Process,
    pub(super) incarnation: Incarnation,
    pub(super) address: P,
    pub(super) expires: Micros,
    pub(super) leaving: bool,
}

/// What becomes of a `Hello`.
pub(super) enum Admission {
    /// It was in, and still is.
    Again(Incarnation),
    /// It is in now; if another process had the rank before, that one is out.
    New { incarnation: Incarnation, replaced: bool },
    /// A newer process has the rank.
    Superseded,
}

/// All workers, by role and rank.
#[derive(Clone, Debug)]
pub(super) struct Membership<P> {
    workers: BTreeMap<(Role, u32), Worker<P>>,
    /// Which master lets them in.
    election: u32,
    /// How many it has let in.
    count: u32,
    /// No lease ends before.
    pub(super) check: Option<Micros>,
}

impl<P: Clone> Membership<P> {
    pub(super) fn new(election: u32) -> Self {
        Self { workers: BTreeMap::new(), election, count: 0, check: None }
    }

    pub(super) fn get(&self, role: Role, rank: u32) -> Option<&Worker<P>> {
        self.workers.get(&(role, rank))
    }

    pub(super) fn get_mut(&mut self, role: Role, rank: u32) -> Option<&mut Worker<P>> {
        self.workers.get_mut(&(role, rank))
    }

    /// The workers of a role, by rank.
    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = (u32, &Worker<P>)> {
        self.workers.range((role, 0)..=(role, u32::MAX)).map(|(&(_, rank), worker)| (rank, worker))
    }

    /// The trainers that may get work.
    pub(super) fn ready_trainers(&self) -> impl Iterator<Item = u32> {
        self.of(Role::Trainer).filter(|(_, worker)| !worker.leaving).map(|(rank, _)| rank)
    }

    pub(super) fn find(&self, process: Process) -> Option<(Role, u32)> {
        self.workers.iter().find(|(_, worker)| worker.process == process).map(|(&key, _)| key)
    }

    /// Lets a worker in. A process that had the rank before a newer one got it does not get it back from that one,
    /// but a process that was never let in is newer than any other.
    pub(super) fn admit(&mut self, from: Sender, address: P, expires: Micros) -> Admission {
        let known = self.workers.get_mut(&(from.role, from.rank));
        let replaced = known.is_some();
        if let Some(worker) = known {
            if worker.process == from.process {
                worker.expires = expires;
                return Admission::Again(worker.incarnation);
            }
            if from.incarnation != Incarnation::default() && from.incarnation < worker.incarnation {
                return Admission::Superseded;
            }
        }
        self.count += 1;
        let incarnation = Incarnation { election: self.election, count: self.count };
        let worker = Worker { process: from.process, incarnation, address, expires, leaving: false };
        self.workers.insert((from.role, from.rank), worker);
        self.check = Some(self.check.map_or(expires, |check| check.min(expires)));
        Admission::New { incarnation, replaced }
    }

    /// Whether a message is of the process that has the rank. Otherwise it says why not.
    pub(super) fn knows(&self, from: Sender) -> Result<(), Refusal> {
        match self.workers.get(&(from.role, from.rank)) {
            Some(worker) if worker.process == from.process && worker.incarnation == from.incarnation => {
                Ok(())
            }
            Some(_) if planted(Bug::NoIncarnations) => Ok(()),
            Some(worker) if from.incarnation < worker.incarnation && worker.process != from.process => {
                Err(Refusal::Superseded(from.incarnation))
            }
            _ => Err(Refusal::Unknown),
        }
    }

    pub(super) fn remove(&mut self, role: Role, rank: u32) -> Option<Worker<P>> {
        self.workers.remove(&(role, rank))
    }

    /// Whose lease is over.
    pub(super) fn expired(&mut self, now: Micros) -> Vec<(Role, u32)> {
        if self.check.is_none_or(|check| now < check) {
            return Vec::new();
        }
        let (over, rest): (Vec<_>, Vec<_>) =
            self.workers.iter().partition(|(_, worker)| worker.expires <= now);
        self.check = rest.into_iter().map(|(_, worker)| worker.expires).min();
        over.into_iter().map(|(&key, _)| key).collect()
    }
}
