//! A trainer: it computes the gradients of the leaves that the master gives it.
//!
//! A task goes through three stages: compute while the values come and the sums go, have all sums at the servers, report to the master.
//! The trainer reports when all servers have its sums: so a step of which the master has all reports can be
//! committed, whatever becomes of the trainers.

use crate::machine::{Effect, Event, Warning};
use crate::member::{Heard, Identity, Member};
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::pull::{Arrival, Pull};
use crate::retry::Outbox;
use crate::timing::{Micros, Timing};
use crate::tree::{self, MOST_LEAVES, Node};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Push { server: u32, number: u32 },
    Report,
}

#[derive(Clone, Debug)]
struct Job<P> {
    /// That of the task, which everything that comes is compared with.
    number: u64,
    task: Arc<Task<P>>,
    plan: Arc<Plan<P>>,
    stage: Stage<P>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a trainer has one, and looks at its pull for nearly every message"
)]
#[derive(Clone, Debug)]
enum Stage<P> {
    /// Values come, and so many messages of sums were sent to every server.
    Computing {
        pull: Pull<P>,
        pushes: u32,
    },
    /// All is computed. Servers do not have all sums yet.
    Pushing {
        results: Vec<(Node, P)>,
    },
    Reporting,
}

/// The state machine of a trainer.
#[derive(Clone, Debug)]
pub struct Trainer<P> {
    member: Member<P>,
    timing: Timing,
    plans: BTreeMap<u32, Arc<Plan<P>>>,
    /// At which version it last had the values of a plan.
    have: BTreeMap<u32, u64>,
    /// The greatest number of a task so far.
    latest: Option<u64>,
    job: Option<Job<P>>,
    outbox: Outbox<Key, P>,
}

impl<P: Clone> Trainer<P> {
    /// A trainer that is not in the job yet. It says `Hello` at its first tick.
    pub fn new(identity: Identity<P>, timing: Timing) -> Self {
        let seed = identity.process;
        Self {
            member: Member::new(Role::Trainer, identity, timing),
            timing,
            plans: BTreeMap::new(),
            have: BTreeMap::new(),
            latest: None,
            job: None,
            outbox: Outbox::new(timing, seed),
        }
    }

    /// When the next tick is due.
    pub fn deadline(&self) -> Option<Micros> {
        let member = self.member.deadline()?;
        let pull = match &self.job {
            Some(Job { stage: Stage::Computing { pull, .. }, .. }) => pull.deadline(),
            _ => None,
        };
        [Some(member), self.outbox.deadline(), pull].into_iter().flatten().min()
    }

    /// Takes an event. Those of other roles are passed over.
    pub fn step(&mut self, now: Micros, event: Event<P>, effects: &mut Vec<Effect<P>>) {
        if self.member.ended() {
            return;
        }
        match event {
            Event::Received(message) => self.receive(now, message, effects),
            Event::Drain => self.member.drain(),
            Event::Sums { task, parts } => self.sums(now, task, parts, effects),
            Event::Computed { task, results } => self.computed(now, task, results, effects),
            Event::Failed { task, error } => self.failed(now, task, error, effects),
            _ => {}
        }
        self.member.tick(now, effects);
        if self.member.serves(now) {
            self.outbox.tick(now, effects);
            if let Some(Job { stage: Stage::Computing { pull, .. }, .. }) = &mut self.job {
                pull.tick(now, effects);
            }
        } else {
            self.suspend(now);
        }
    }

    /// Without a lease nothing is sent again; what waits is due when the master has answered.
    fn suspend(&mut self, now: Micros) {
        let until = now.saturating_add(self.timing.retry);
        self.outbox.postpone(until);
        if let Some(Job { stage: Stage::Computing { pull, .. }, .. }) = &mut self.job {
            pull.postpone(until);
        }
    }

    fn receive(&mut self, now: Micros, message: Message<P>, effects: &mut Vec<Effect<P>>) {
        let from = message.from;
        match from.role {
            Role::Master => match self.member.hear(now, message, effects) {
                Heard::Nothing => {}
                Heard::Body(body) => self.order(now, body, effects),
                Heard::Anew(body) => {
                    // A task for it as what it is now may have come before it was told that it is that. It comes again.
                    if let Some(job) = &self.job {
                        self.latest = job.number.checked_sub(1);
                    }
                    self.drop_job(effects);
                    self.have.clear();
                    if let Some(body) = body {
                        self.order(now, body, effects);
                    }
                }
            },
            Role::Server if message.epoch == self.member.epoch() => match message.body {
                Body::Values { wanted, version, part, values } => {
                    self.values(now, from, (wanted, version, part), values, effects);
                }
                Body::Pushed { task, number } => self.pushed(now, from.rank, task, number, effects),
                // Of a server that was at another version: the master will say what is to be done.
                _ => {}
            },
            _ => {}
        }
    }

    /// What the master wants.
    fn order(&mut self, now: Micros, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        match body {
            Body::Welcome { plans, .. } => self.plans.extend(plans.into_iter().map(|plan| (plan.id, plan))),
            Body::Plan(plan) => {
                effects.push(Effect::Learn(plan.clone()));
                self.plans.insert(plan.id, plan);
            }
            Body::Task(task) => self.take(now, task, effects),
            Body::Recorded(task) if self.has(task) && self.outbox.acknowledge(&Key::Report) => {
                self.job = None
            }
            _ => {}
        }
    }

    fn has(&self, task: u64) -> bool {
        self.job.as_ref().is_some_and(|job| job.number == task)
    }

    fn drop_job(&mut self, effects: &mut Vec<Effect<P>>) {
        self.outbox.clear();
        if let Some(job) = self.job.take() {
            effects.push(Effect::Cancel(job.number));
        }
    }

    /// Begins a task, unless it is an old one.
    fn take(&mut self, now: Micros, task: Arc<Task<P>>, effects: &mut Vec<Effect<P>>) {
        let sensible = task.leaves <= MOST_LEAVES
            && task.run.start < task.run.end
            && task.run.end <= task.leaves
            && task.rows.len() == task.run.leaves() as usize
            && !task.servers.is_empty();
        if !sensible {
            return self.member.send(To::Master, Body::Refused(Refusal::Invalid), effects);
        }
        let Some(plan) = self.plans.get(&task.plan).cloned() else {
            // The master sends the task again, too.
            return self.member.send(To::Master, Body::AskPlan(task.plan), effects);
        };
        self.member.send(To::Master, Body::Taken(task.number), effects);
        if self.latest.is_some_and(|latest| task.number <= latest) {
            return;
        }
        self.drop_job(effects);
        self.latest = Some(task.number);
        effects.push(Effect::Connect(task.servers.clone()));
        let wanted = Wanted {
            plan: task.plan,
            version: task.alone.is_none().then_some(task.step.version),
            have: self.have.get(&task.plan).copied(),
        };
        let message = self.member.message(Body::Pull(wanted));
        let pull = Pull::new(now, self.timing, wanted, &task.servers, message, effects);
        effects.push(Effect::Compute { task: task.clone(), have: wanted.have });
        self.job = Some(Job { number: task.number, task, plan, stage: Stage::Computing { pull, pushes: 0 } });
    }

    fn values(
        &mut self,
        now: Micros,
        from: Sender,
        (wanted, version, part): (Wanted, u64, [u32; 2]),
        values: P,
        effects: &mut Vec<Effect<P>>,
    ) {
        let Some(Job { number, stage: Stage::Computing { pull, .. }, .. }) = &mut self.job else { return };
        let arrived = pull.answered(now, from, wanted, version, part);
        let Some(Arrival { is_last, is_all }) = arrived else { return };
        effects.push(Effect::Arrived { task: *number, server: from.rank, values, is_last });
        // What is current differs from server to server, so there is no one version to compare with later.
        if is_all && wanted.version.is_some() {
            self.have.insert(wanted.plan, pull.version());
        }
    }

    /// Sends sums to the servers of their pieces.
    fn sums(&mut self, now: Micros, task: u64, parts: Vec<Part<P>>, effects: &mut Vec<Effect<P>>) {
        let Some(job) = self.job.as_mut().filter(|job| job.number == task) else { return };
        let Stage::Computing { pushes, .. } = &mut job.stage else { return };
        let number = *pushes;
        *pushes = pushes.saturating_add(1);
        let mut of_servers: Vec<(u32, Part<P>)> = Vec::with_capacity(parts.len());
        for part in parts {
            let piece = job.plan.pieces.binary_search_by_key(&part.piece, |piece| piece.id);
            match piece.ok().and_then(|place| job.plan.pieces.get(place)) {
                Some(piece)
                    if job.task.run.contains(part.node) && tree::is_node(part.node, job.task.leaves) =>
                {
                    of_servers.push((piece.server, part));
                }
                _ => effects.push(Effect::Warn(Warning::InvalidSum(part.piece))),
            }
        }
        of_servers.sort_by_key(|&(server, _)| server);
        for parts in of_servers.chunk_by(|(one, _), (other, _)| one == other) {
            self.push(now, parts[0].0, number, parts.iter().map(|(_, part)| part.clone()).collect(), effects);
        }
    }

    fn push(
        &mut self,
        now: Micros,
        server: u32,
        number: u32,
        parts: Arc<[Part<P>]>,
        effects: &mut Vec<Effect<P>>,
    ) {
        let Some(Job { task, .. }) = &self.job else { return };
        let Some(process) = task.servers.get(server as usize).map(|server| server.process) else { return };
        let message = self.member.message(Body::Push {
            task: task.number,
            step: task.step,
            plan: task.plan,
            leaves: task.leaves,
            alone: task.alone,
            header: task.header.clone(),
            number,
            parts,
        });
        self.outbox.post(now, Key::Push { server, number }, To::Process(process), message, effects);
    }

    fn computed(&mut self, now: Micros, task: u64, results: Vec<(Node, P)>, effects: &mut Vec<Effect<P>>) {
        let Some(job) = self.job.as_mut().filter(|job| job.number == task) else { return };
        let Stage::Computing { .. } = job.stage else { return };
        job.stage = Stage::Pushing { results };
        self.report_if_pushed(now, effects);
    }

    fn pushed(&mut self, now: Micros, server: u32, task: u64, number: u32, effects: &mut Vec<Effect<P>>) {
        if self.has(task) && self.outbox.acknowledge(&Key::Push { server, number }) {
            self.report_if_pushed(now, effects);
        }
    }

    fn report_if_pushed(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        if self.outbox.has_any(..Key::Report) && !planted(Bug::ReportBeforePush) {
            return;
        }
        let Some(job) = &mut self.job else { return };
        if !matches!(job.stage, Stage::Pushing { .. }) {
            return;
        }
        let Stage::Pushing { results } = std::mem::replace(&mut job.stage, Stage::Reporting) else { return };
        let message = self.member.message(Body::Computed { task: job.number, results });
        self.outbox.post(now, Key::Report, To::Master, message, effects);
    }

    fn failed(&mut self, now: Micros, task: u64, error: P, effects: &mut Vec<Effect<P>>) {
        let Some(job) = self.job.as_mut().filter(|job| job.number == task) else { return };
        let Stage::Computing { .. } = job.stage else { return };
        job.stage = Stage::Reporting;
        self.outbox.clear();
        let message = self.member.message(Body::Failed { task, error });
        self.outbox.post(now, Key::Report, To::Master, message, effects);
    }
}
