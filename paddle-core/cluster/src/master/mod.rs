//! The master: it runs one step of the user's loop after the other on the workers.
//!
//! A step is *requested* by the user's loop, *computed* by trainers, *committed* when the loop has seen the results
//! and wants it, and *applied* by the servers. From the commit on it is in the log. What is in the log and not
//! applied is computed once more if need be: that is all that happens after a server was lost, too.

mod assignment;
mod checkpoint;
mod commit;
mod flights;
mod measure;
mod membership;
mod recovery;
mod work;

use crate::log::CommitLog;
use crate::machine::{Effect, End, Event, StepError, Warning};
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::pull::Pull;
use crate::retry::Outbox;
use crate::server::MOST_STEPS;
use crate::timing::{Micros, Timing};
use assignment::Assignment;
use checkpoint::{Checkpoint, Writing};
use flights::Flights;
use measure::Measures;
use membership::{Admission, Membership};
use recovery::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// When a step is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When all of the step before is applied and all of this one is computed: as on one machine, to the bit.
    Synchronous,
    /// When it is computed, each step by one trainer.
    Asynchronous {
        /// How many earlier steps the values may lack that a step is computed with.
        staleness: u64,
    },
}

/// What a job is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many servers there are; all of them are needed.
    pub servers: u32,
    /// Ranks of trainers are below. Any number of them may be there.
    pub trainers: u32,
    /// When a step is applied.
    pub mode: Mode,
    /// How long things may take.
    pub timing: Timing,
    /// A manifest is due after so many steps.
    pub checkpoint_steps: u64,
    /// A manifest is due when the requests since the last one take more memory.
    pub checkpoint_bytes: u64,
    /// After the deaths of so many trainers that computed the same leaves the step fails.
    pub deaths: u32,
    /// Spreads what many machines send again at once.
    pub seed: u64,
}

/// What waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Task { trainer: u32 },
    Measure { server: u32 },
    Commit { server: u32 },
    Save { server: u32 },
    Restore { server: u32 },
}

impl Key {
    fn tasks() -> RangeInclusive<Self> {
        Self::Task { trainer: 0 }..=Self::Task { trainer: u32::MAX }
    }

    fn measures() -> RangeInclusive<Self> {
        Self::Measure { server: 0 }..=Self::Measure { server: u32::MAX }
    }

    fn commits() -> RangeInclusive<Self> {
        Self::Commit { server: 0 }..=Self::Commit { server: u32::MAX }
    }

    fn saves() -> RangeInclusive<Self> {
        Self::Save { server: 0 }..=Self::Save { server: u32::MAX }
    }
}

/// A request of the user's loop.
#[derive(Clone, Debug)]
struct Wish<P> {
    request: Arc<Request<P>>,
    /// The step whose results the loop has. It decides what becomes of it.
    asked: Option<Step>,
}

/// Values of a plan that the user's loop wants.
#[derive(Clone, Debug)]
struct Fetch<P> {
    plan: u32,
    /// None before the servers are asked.
    pull: Option<Pull<P>>,
    /// What has come, by the rank of the server and its parts.
    values: BTreeMap<(u32, u32), P>,
}

/// The state machine of the master.
#[derive(Clone, Debug)]
pub struct Master<P> {
    settings: Settings,
    process: Process,
    epoch: Epoch,
    phase: Phase<P>,
    members: Membership<P>,
    plans: BTreeMap<u32, Arc<Plan<P>>>,
    log: CommitLog<P>,
    /// At which version the servers are, or will be when they have the commits that were sent.
    applied: u64,
    attempts: u64,
    tasks: u64,
    wish: Option<Wish<P>>,
    work: Option<Assignment<P>>,
    /// What the servers have found out about the sums of the work, if its plan needs that.
    measures: Option<Measures<P>>,
    /// In asynchronous training, instead of a wish and its work.
    flights: Option<Flights<P>>,
    /// What a run of leaves took lately.
    usual: Micros,
    /// The manifests of the store, the newest last.
    manifests: Vec<Arc<Manifest<P>>>,
    checkpoint: Option<Checkpoint<P>>,
    writing: Option<Writing<P>>,
    checkpoint_wanted: bool,
    /// At which version the servers could not save last.
    not_saved: Option<u64>,
    fetch: Option<Fetch<P>>,
    /// Whether the user's loop was told where it goes on.
    resumed: bool,
    outbox: Outbox<Key, P>,
}

impl<P: Clone> Master<P> {
    /// A master that waits for its election.
    pub fn new(process: Process, settings: Settings) -> Self {
        Self {
            settings,
            process,
            epoch: Epoch::default(),
            phase: Phase::Waiting,
            members: Membership::new(0),
            plans: BTreeMap::new(),
            log: CommitLog::new(0),
            applied: 0,
            attempts: 0,
            tasks: 0,
            wish: None,
            work: None,
            measures: None,
            flights: match settings.mode {
                Mode::Synchronous => None,
                Mode::Asynchronous { staleness } => Some(Flights::new(staleness.min(MOST_STEPS))),
            },
            usual: 0,
            manifests: Vec::new(),
            checkpoint: None,
            writing: None,
            checkpoint_wanted: false,
            not_saved: None,
            fetch: None,
            resumed: false,
            outbox: Outbox::new(settings.timing, settings.seed),
        }
    }

    /// The epoch of the job.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The workers that are in the job: roles, ranks and processes.
    pub fn members(&self) -> impl Iterator<Item = (Role, u32, Process)> {
        [Role::Server, Role::Trainer]
            .into_iter()
            .flat_map(|role| self.members.of(role).map(move |(rank, worker)| (role, rank, worker.process)))
    }

    /// When the next tick is due.
    pub fn deadline(&self) -> Option<Micros> {
        if matches!(self.phase, Phase::Waiting | Phase::Ended(_)) {
            return None;
        }
        let work = self.work.as_ref().and_then(Assignment::deadline);
        let fetch = self.fetch.as_ref().and_then(|fetch| fetch.pull.as_ref()?.deadline());
        let writing = self.writing.as_ref().and_then(|writing| writing.again);
        [self.outbox.deadline(), self.members.check, work, fetch, writing].into_iter().flatten().min()
    }

    /// Takes an event. Those of other roles are passed over.
    pub fn step(&mut self, now: Micros, event: Event<P>, effects: &mut Vec<Effect<P>>) {
        match (&self.phase, event) {
            (Phase::Waiting, Event::Elected { election, manifests }) => {
                self.elected(election, manifests, effects);
            }
            // Plans are known before the election, so that the first welcome has them.
            (Phase::Waiting, Event::Plan(plan)) => self.plan(plan, effects),
            (Phase::Waiting, _) => return,
            (&Phase::Ended(end), Event::Received(message)) => {
                if end == End::Finished && message.from.role != Role::Master {
                    self.send(message.from.process, Body::Refused(Refusal::Finished), effects);
                }
                return;
            }
            (Phase::Ended(_), _) => return,
            (_, event) => self.take(now, event, effects),
        }
        if !matches!(self.phase, Phase::Ended(_)) {
            self.tick(now, effects);
            self.advance(now, effects);
        }
    }

    fn take(&mut self, now: Micros, event: Event<P>, effects: &mut Vec<Effect<P>>) {
        match event {
            Event::Received(message) => self.receive(now, message, effects),
            Event::Disconnected(process) => {
                if let Some((role, rank)) = self.members.find(process) {
                    self.lost(role, rank, true, effects);
                }
            }
            Event::Plan(plan) => self.plan(plan, effects),
            Event::Request(request) => self.request(request, effects),
            Event::Verdict { step, verdict } => self.verdict(step, verdict, effects),
            Event::Fetch(plan) => {
                if self.plans.contains_key(&plan) && self.fetch.is_none() {
                    self.fetch = Some(Fetch { plan, pull: None, values: BTreeMap::new() });
                } else {
                    effects.push(Effect::StepFailed(StepError::Invalid));
                }
            }
            Event::Save => {
                self.checkpoint_wanted = true;
                self.not_saved = None;
            }
            Event::Finish => self.end(End::Finished, effects),
            Event::Manifest { manifest, outcome } => self.manifest(now, manifest, outcome, effects),
            _ => {}
        }
    }

    fn end(&mut self, end: End, effects: &mut Vec<Effect<P>>) {
        if end == End::Finished {
            for (_, worker) in self.members.of(Role::Server).chain(self.members.of(Role::Trainer)) {
                self.send(worker.process, Body::Refused(Refusal::Finished), effects);
            }
        }
        self.phase = Phase::Ended(end);
        effects.push(Effect::End(end));
    }

    fn message(&self, body: Body<P>) -> Message<P> {
        let incarnation = Incarnation { election: self.epoch.election, count: 0 };
        let from = Sender { role: Role::Master, rank: 0, process: self.process, incarnation };
        Message { epoch: self.epoch, from, body }
    }

    fn send(&self, to: Process, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        effects.push(Effect::Send { to: To::Process(to), message: self.message(body) });
    }

    /// Sends it to all servers until they answer.
    fn post_to_servers(
        &mut self,
        now: Micros,
        key: impl Fn(u32) -> Key,
        body: &Body<P>,
        effects: &mut Vec<Effect<P>>,
    ) {
        let message = self.message(body.clone());
        for (rank, worker) in self.members.of(Role::Server) {
            self.outbox.post(now, key(rank), To::Process(worker.process), message.clone(), effects);
        }
    }

    fn is_busy(&self, trainer: u32) -> bool {
        self.work.as_ref().is_some_and(|work| work.is_busy(trainer))
            || self.flights.as_ref().is_some_and(|flights| flights.is_busy(trainer))
    }

    fn plan(&mut self, plan: Plan<P>, effects: &mut Vec<Effect<P>>) {
        let ascending = plan.pieces.is_sorted_by(|a, b| a.id < b.id);
        if !ascending || plan.pieces.iter().any(|piece| piece.server >= self.settings.servers) {
            return effects.push(Effect::Warn(Warning::InvalidPlan(plan.id)));
        }
        self.plans.insert(plan.id, Arc::new(plan));
    }

    fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        for (role, rank) in self.members.expired(now) {
            self.lost(role, rank, true, effects);
        }
        self.outbox.tick(now, effects);
        if let Some(Fetch { pull: Some(pull), .. }) = &mut self.fetch {
            pull.tick(now, effects);
        }
        self.write_again(now, effects);
    }

    /// Does what can be done by now.
    fn advance(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        self.restore_if_gathered(now, effects);
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        if self.flights.is_some() {
            return self.advance_flights(now, effects);
        }
        self.save_if_due(now, effects);
        if !matches!(self.phase, Phase::Running) {
            // A server that wanted to leave was let go.
            return;
        }
        self.fetch_if_current(now, effects);
        self.measure_if_computed(now, effects);
        self.commit_if_computed(now, effects);
        self.begin_work();
        self.give_work(now, effects);
    }

    fn receive(&mut self, now: Micros, message: Message<P>, effects: &mut Vec<Effect<P>>) {
        let from = message.from;
        if message.epoch.election > self.epoch.election {
            // Somebody has heard of a newer master.
            return self.end(End::Deposed, effects);
        }
        if let Body::Hello { sent, address } = message.body {
            return self.hello(now, from, sent, address, effects);
        }
        if let Err(refusal) = self.members.knows(from) {
            // A refusal of a refusal would have no end.
            if !matches!(message.body, Body::Refused(_)) {
                self.send(from.process, Body::Refused(refusal), effects);
            }
            return;
        }
        match message.body {
            Body::Heartbeat { sent } => self.heartbeat(now, from, sent, effects),
            Body::Leave => self.leave(from, effects),
            Body::AskPlan(plan) => {
                if let Some(plan) = self.plans.get(&plan) {
                    self.send(from.process, Body::Plan(plan.clone()), effects);
                }
            }
            body if message.epoch == self.epoch || planted(Bug::NoEpochs) => match from.role {
                Role::Trainer => self.report(now, from, body, effects),
                Role::Server => self.answer(now, from, body, effects),
                Role::Master => {}
            },
            // The worker does not know yet that the servers went back. The answer to its next heartbeat tells it.
            _ => {}
        }
    }

    fn hello(&mut self, now: Micros, from: Sender, sent: u64, address: P, effects: &mut Vec<Effect<P>>) {
        let most = match from.role {
            Role::Server => self.settings.servers,
            Role::Trainer => self.settings.trainers,
            Role::Master => 0,
        };
        if from.rank >= most {
            return self.send(from.process, Body::Refused(Refusal::Invalid), effects);
        }
        let expires = now.saturating_add(self.settings.timing.lease);
        let incarnation = match self.members.admit(from, address, expires) {
            Admission::Superseded => {
                let refusal = Refusal::Superseded(from.incarnation);
                return self.send(from.process, Body::Refused(refusal), effects);
            }
            Admission::Again(incarnation) => incarnation,
            Admission::New { incarnation, replaced } => {
                if replaced {
                    self.lost(from.role, from.rank, false, effects);
                }
                if let Some(work) = &mut self.work {
                    work.trainers_changed();
                }
                incarnation
            }
        };
        let plans = self.plans.values().cloned().collect();
        self.send(from.process, Body::Welcome { sent, incarnation, plans }, effects);
    }

    fn heartbeat(&mut self, now: Micros, from: Sender, sent: u64, effects: &mut Vec<Effect<P>>) {
        let lease = self.settings.timing.lease;
        if let Some(worker) = self.members.get_mut(from.role, from.rank) {
            worker.expires = now.saturating_add(lease);
            self.send(from.process, Body::Alive { sent }, effects);
        }
    }

    /// A worker is gone, or another process has its rank: `remove` says that the rank is free.
    fn lost(&mut self, role: Role, rank: u32, remove: bool, effects: &mut Vec<Effect<P>>) {
        effects.push(Effect::Warn(Warning::Dead(role, rank)));
        if remove {
            self.members.remove(role, rank);
        }
        match role {
            Role::Trainer => self.take_work_back(rank, true, effects),
            Role::Server => self.go_back(),
            Role::Master => {}
        }
    }

    /// A worker that was told to stop gets no more work. It is let go when nothing of its work is needed.
    fn leave(&mut self, from: Sender, effects: &mut Vec<Effect<P>>) {
        let Some(worker) = self.members.get_mut(from.role, from.rank) else { return };
        let first = !worker.leaving;
        worker.leaving = true;
        match from.role {
            Role::Trainer if !self.is_busy(from.rank) => {
                self.members.remove(from.role, from.rank);
                self.outbox.acknowledge(&Key::Task { trainer: from.rank });
                self.send(from.process, Body::Farewell, effects);
            }
            // With a manifest nothing is lost when the servers go back to it.
            Role::Server if first => self.checkpoint_wanted = true,
            _ => {}
        }
    }

    /// Asks for values that are wanted as soon as all committed steps are applied.
    fn fetch_if_current(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(&Fetch { plan, pull: None, .. }) = self.fetch.as_ref() else { return };
        if self.applied != self.log.end() {
            return;
        }
        // In asynchronous training nothing is under way now, and servers do not count versions.
        let version = self.flights.is_none().then_some(self.applied);
        let wanted = Wanted { plan, version, have: None };
        let message = self.message(Body::Pull(wanted));
        let servers = self.servers();
        let pull = Pull::new(now, self.settings.timing, wanted, &servers, message, effects);
        self.fetch = Some(Fetch { plan, pull: Some(pull), values: BTreeMap::new() });
    }

    fn values(
        &mut self,
        now: Micros,
        from: Sender,
        (wanted, version, part): (Wanted, u64, [u32; 2]),
        values: P,
        effects: &mut Vec<Effect<P>>,
    ) {
        let Some(Fetch { pull: Some(pull), values: came, .. }) = &mut self.fetch else { return };
        let Some(arrival) = pull.answered(now, from, wanted, version, part) else { return };
        came.insert((from.rank, part[0]), values);
        if arrival.is_all
            && let Some(Fetch { plan, values, .. }) = self.fetch.take()
        {
            let values = values.into_values().collect();
            effects.push(Effect::Fetched { plan, version: self.applied, values });
        }
    }

    /// Where the servers are, by rank.
    fn servers(&self) -> Arc<[Server<P>]> {
        let server = |worker: &membership::Worker<P>| Server {
            process: worker.process,
            address: worker.address.clone(),
        };
        self.members.of(Role::Server).map(|(_, worker)| server(worker)).collect()
    }

    /// What a server says.
    fn answer(&mut self, now: Micros, from: Sender, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        match body {
            Body::Values { wanted, version, part, values } => {
                self.values(now, from, (wanted, version, part), values, effects);
            }
            Body::Measured { step, measure } => self.measured(from.rank, step, measure),
            Body::Committed(version) if version >= self.applied => {
                self.outbox.acknowledge(&Key::Commit { server: from.rank });
            }
            // It holds no sums of a step that was to be committed: it is not the server that trainers sent them to.
            Body::Refused(Refusal::Unknown) => {
                effects.push(Effect::Warn(Warning::Dead(Role::Server, from.rank)));
                self.go_back();
            }
            Body::Saving(manifest) => self.saving(from.rank, manifest),
            Body::Saved { manifest, digest } => self.saved(now, from.rank, manifest, digest, effects),
            Body::NotSaved(manifest) => self.not_saved(manifest, effects),
            Body::Restored(manifest) => self.restored(from.rank, manifest, effects),
            Body::Damaged(manifest) => self.damaged(manifest, effects),
            _ => {}
        }
    }
}
