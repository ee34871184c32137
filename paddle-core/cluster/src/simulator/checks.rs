//! What has to hold at all times.

use super::model::{self, Reference, Training};
use super::store::{State, Store};
use crate::machine::{Effect, Entry, Warning};
use crate::message::*;
use crate::timing::Micros;
use crate::tree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// What did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When, in microseconds since the start.
    pub at: Micros,
    /// What.
    pub what: String,
}

/// What a message that a machine has received says of its sender's intent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    from: Sender,
    epoch: Epoch,
    is_hello: bool,
    /// Whether it asks for what needs the sums of a step.
    wants_sums: bool,
    /// Whether a trainer has come to the end of a task.
    is_report: bool,
}

impl Received {
    pub(crate) fn of(message: &Message<u64>) -> Self {
        let body = &message.body;
        Self {
            from: message.from,
            epoch: message.epoch,
            is_hello: matches!(body, Body::Hello { .. }),
            wants_sums: matches!(body, Body::Commit { .. } | Body::Measure { .. }),
            is_report: matches!(body, Body::Computed { .. } | Body::Failed { .. }),
        }
    }
}

/// Something for each of many numbers from 0.
#[derive(Debug)]
struct ByNumber<T>(Vec<T>);

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByNumber<T> {
    fn at(&mut self, number: u64) -> &mut T {
        let place = usize::try_from(number).expect("processes are counted");
        if self.0.len() <= place {
            self.0.resize_with(place + 1, T::default);
        }
        &mut self.0[place]
    }
}

/// The newest incarnations that a process has heard of, by role and rank. Most processes hear of none: a trainer does not refuse servers,
/// nor a server the master. For them there is nothing in here, so that these numbers, which are looked up at random, are few.
#[derive(Debug, Default)]
struct Known([ByNumber<Incarnation>; 3]);

impl Known {
    /// The default is that of a process that was never heard of, and older than any other.
    fn of(&self, role: Role, rank: u32) -> Incarnation {
        let Self([master, server, trainer]) = self;
        let ByNumber(of_role) = match role {
            Role::Master => master,
            Role::Server => server,
            Role::Trainer => trainer,
        };
        of_role.get(rank as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, role: Role, rank: u32, incarnation: Incarnation) {
        let Self([master, server, trainer]) = self;
        let of_role = match role {
            Role::Master => master,
            Role::Server => server,
            Role::Trainer => trainer,
        };
        *of_role.at(u64::from(rank)) = incarnation;
    }
}

/// What was seen of a process.
#[derive(Debug, Default)]
struct Seen {
    /// The newest epoch that it has answered in.
    epoch: Option<Epoch>,
    /// When a master heard of it last, and whether it took it for dead since.
    heard: Option<(Micros, bool)>,
    /// What it has heard of others.
    known: Known,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) violation: Option<Violation>,
    /// Steps that a server has applied, by epoch and version, or by attempt in asynchronous training.
    applied: BTreeSet<(Epoch, u32, u64)>,
    processes: ByNumber<Seen>,
    /// Whom a master let in last.
    ranks: BTreeMap<(Role, u32), Process>,
    lease: Micros,
    /// How many earlier steps values may lack, in asynchronous training.
    staleness: Option<u64>,
    /// Steps that are under way, by task.
    under_way: BTreeMap<(Epoch, u64), u64>,
    /// How many workers masters took for dead.
    pub(crate) deaths: u64,
    /// How often workers said `Hello` that had been let in.
    pub(crate) rejoins: u64,
}

impl Checks {
    pub(crate) fn fail(&mut self, at: Micros, what: String) {
        self.violation.get_or_insert(Violation { at, what });
    }

    /// `lease` is how long a lease is at least.
    pub(crate) fn new(lease: Micros, staleness: Option<u64>) -> Self {
        Self { lease, staleness, ..Self::default() }
    }

    pub(crate) fn epoch(&mut self, process: Process) -> Epoch {
        self.processes.at(process).epoch.unwrap_or_default()
    }

    /// Compares a server's state with that of the training on one machine.
    pub(crate) fn state(
        &mut self,
        now: Micros,
        reference: &Reference,
        rank: u32,
        version: u64,
        state: &State,
    ) {
        let Some(expected) = reference.states.get(usize::try_from(version).unwrap_or(usize::MAX)) else {
            return self.fail(now, format!("server {rank} is at version {version}, which there is not"));
        };
        if state.iter().any(|(&piece, &(value, _))| expected.get(piece as usize) != Some(&value)) {
            self.fail(
                now,
                format!("the state of server {rank} at version {version} is not that of one machine"),
            );
        }
    }

    /// A server applies a step once in an epoch.
    pub(crate) fn apply(&mut self, now: Micros, epoch: Epoch, server: u32, step: u64) {
        if !self.applied.insert((epoch, server, step)) {
            self.fail(now, format!("server {server} applies {step} twice in {epoch:?}"));
        }
    }

    pub(crate) fn results(
        &mut self,
        now: Micros,
        reference: &Reference,
        version: u64,
        leaves: u32,
        results: &[(Node, u64)],
    ) {
        let expected = reference.costs.get(usize::try_from(version).unwrap_or(usize::MAX));
        if model::cost(leaves, results).as_ref() != expected {
            self.fail(now, format!("the results of version {version} are not those of one machine"));
        }
    }

    /// The log is that of the training on one machine, so each batch is in it once.
    pub(crate) fn committed(&mut self, now: Micros, reference: &Reference, log: &[Entry], entry: Entry) {
        let place = log.len();
        if entry.version != place as u64 || reference.log.get(place) != Some(&entry) {
            self.fail(now, format!("{entry:?} is committed as the step {place}"));
        }
    }

    pub(crate) fn fetched(
        &mut self,
        now: Micros,
        training: &Training,
        reference: &Reference,
        log: &[Entry],
        (plan, version, values): (u32, u64, &[u64]),
    ) {
        let expected = reference.states.get(log.len()).map(|states| training.values(plan, states));
        let got = values.iter().fold(0, |sum: u64, &values| sum.wrapping_add(values));
        if version != log.len() as u64 || expected != Some(got) {
            self.fail(
                now,
                format!("the values that are fetched at version {version} are not those of one machine"),
            );
        }
    }

    /// A manifest is in the store only if its objects are, and if they have the states of its version.
    pub(crate) fn manifest(
        &mut self,
        now: Micros,
        store: &Store,
        reference: &Reference,
        manifest: &Manifest<u64>,
    ) {
        if !store.is_whole(manifest) {
            self.fail(now, format!("{:?} is entered, but its objects are not what was written", manifest.id));
        }
        for rank in 0..u32::try_from(manifest.digests.len()).unwrap_or(0) {
            if let Some(state) = store.objects.get(&(manifest.id, rank)) {
                self.state(now, reference, rank, manifest.id.version, &state.clone());
            }
        }
    }

    /// What a machine does after a message: nothing that the sender may not want any more, and nothing without a
    /// lease.
    pub(crate) fn reaction(
        &mut self,
        now: Micros,
        me: (Process, Role),
        received: Option<Received>,
        effects: &[Effect<u64>],
    ) {
        let acts = effects.iter().any(|effect| match effect {
            Effect::Apply { .. }
            | Effect::Measure { .. }
            | Effect::Save(_)
            | Effect::Restore(_)
            | Effect::Read(_)
            | Effect::Compute { .. }
            | Effect::Arrived { .. } => true,
            Effect::Send { message, .. } => matches!(
                message.body,
                Body::Pushed { .. }
                    | Body::Measured { .. }
                    | Body::Committed(_)
                    | Body::Taken(_)
                    | Body::Restored(_)
                    | Body::Recorded(_)
                    | Body::Alive { .. }
            ),
            _ => false,
        });
        if let Some(message) = received.filter(|_| me.1 != Role::Master) {
            let newest = self.epoch(me.0);
            if acts && message.epoch < newest {
                self.fail(now, format!("process {} in {newest:?} acts on {:?}", me.0, message.epoch));
            }
        }
        if let Some(message) = received {
            let from = message.from;
            let Seen { epoch, known, .. } = self.processes.at(me.0);
            let hears = me.1 == Role::Server && from.role == Role::Trainer && *epoch == Some(message.epoch);
            if acts || hears {
                let newest = known.of(from.role, from.rank);
                if hears && newest < from.incarnation {
                    known.set(from.role, from.rank, from.incarnation);
                }
                if acts && from.incarnation < newest && !message.is_hello {
                    self.fail(now, format!("process {} acts on {from:?}, but has heard of {newest:?}", me.0));
                }
            }
        }
        let refuses = |effect: &Effect<u64>| matches!(effect, Effect::Send { message, .. } if message.body == Body::Refused(Refusal::Unknown));
        if received.is_some_and(|received| received.wants_sums) && effects.iter().any(refuses) {
            self.fail(now, format!("process {} is to apply a step whose sums it does not have", me.0));
        }
        if let (Role::Master, Some(limit)) = (me.1, self.staleness) {
            self.stale(now, limit, received, effects);
        }
        for effect in effects {
            match effect {
                Effect::Send { message, .. } => {
                    let Seen { epoch, known, .. } = self.processes.at(me.0);
                    let newest = epoch.get_or_insert_default();
                    if message.epoch > *newest {
                        *newest = message.epoch;
                        if me.1 != Role::Master {
                            *known = Known::default();
                        }
                    }
                    let was_in = message.from.incarnation != Incarnation::default();
                    self.rejoins += u64::from(was_in && matches!(message.body, Body::Hello { .. }));
                    match (&message.body, received) {
                        (Body::Welcome { incarnation, .. }, Some(received)) => {
                            let from = received.from;
                            self.processes.at(me.0).known.set(from.role, from.rank, *incarnation);
                            self.ranks.insert((from.role, from.rank), from.process);
                            self.processes.at(from.process).heard = Some((now, false));
                        }
                        (Body::Alive { .. }, Some(received)) => {
                            self.processes.at(received.from.process).heard = Some((now, false));
                        }
                        _ => {}
                    }
                }
                Effect::Warn(Warning::Dead(role, rank)) => self.dead(now, *role, *rank),
                Effect::Apply { .. } | Effect::Save(_) | Effect::Read(_)
                    if self.processes.at(me.0).heard.is_some_and(|(_, dead)| dead) =>
                {
                    self.fail(now, format!("process {} serves, but the master took it for dead", me.0));
                }
                _ => {}
            }
        }
    }

    /// A step that begins lacks no more than so many of those before it.
    fn stale(&mut self, now: Micros, limit: u64, received: Option<Received>, effects: &[Effect<u64>]) {
        for effect in effects {
            let Effect::Send { message, .. } = effect else { continue };
            match (&message.body, received) {
                (Body::Task(task), _) => {
                    self.under_way.insert((message.epoch, task.number), task.step.attempt);
                    let of_epoch = self.under_way.range((message.epoch, 0)..=(message.epoch, u64::MAX));
                    let lowest = of_epoch.map(|(_, &attempt)| attempt).min().unwrap_or(0);
                    if task.step.attempt - lowest > limit {
                        let attempt = task.step.attempt;
                        self.fail(now, format!("{attempt} begins while {lowest} is under way"));
                    }
                }
                (Body::Recorded(task), Some(received)) if received.is_report => {
                    if let Some(attempt) = self.under_way.remove(&(message.epoch, *task)) {
                        // The attempt may have been given to several trainers, one after the death of the other.
                        self.under_way.retain(|_, other| *other != attempt);
                    }
                }
                _ => {}
            }
        }
    }

    /// A master takes the process of a rank for dead. If its lease is over, the process may not serve any more.
    fn dead(&mut self, now: Micros, role: Role, rank: u32) {
        self.deaths += 1;
        let process = self.ranks.get(&(role, rank)).copied();
        if let Some((heard, dead)) = process.and_then(|process| self.processes.at(process).heard.as_mut()) {
            *dead |= now - *heard >= self.lease / 10 * 9;
        }
    }
}
