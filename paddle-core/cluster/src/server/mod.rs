//! A parameter server: it holds pieces of the parameters and updates them, one version after the other.
//!
//! Whatever a server sends is an answer, so whoever asks it has the deadlines. It does nothing without a lease, and
//! has no state until the master has it restored from a manifest.

mod alone;
mod measure;
mod sums;

pub use alone::MOST_STEPS;

use crate::machine::{Effect, Event, Reader, Restoration, Update};
use crate::member::{Heard, Identity, Member};
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::timing::{Micros, Timing};
use alone::UnderWay;
use std::collections::BTreeMap;
use std::sync::Arc;
use sums::Sums;

/// What is saved.
#[derive(Clone, Debug)]
enum Saved<P> {
    Writing,
    Written(P),
}

/// The state machine of a parameter server.
#[derive(Clone, Debug)]
pub struct ParameterServer<P> {
    member: Member<P>,
    rank: u32,
    /// Ranks of trainers are below.
    trainers: u32,
    plans: BTreeMap<u32, Arc<Plan<P>>>,
    /// How many updates the state contains.
    version: u64,
    /// The manifest that the state comes from.
    restored: Option<ManifestId>,
    restoring: Option<ManifestId>,
    sums: Option<Sums<P>>,
    /// What has come of the steps of asynchronous training.
    under_way: UnderWay<P>,
    /// Whether sums were applied in asynchronous training since the version was last known.
    changed: bool,
    applying: Option<Step>,
    /// The step whose sums were measured last, and what was found out when that is done.
    measured: Option<(Step, Option<P>)>,
    saved: Option<(ManifestId, Saved<P>)>,
    /// Who waits for a later version or for a plan, by role and rank.
    parked: BTreeMap<(Role, u32), (Process, Wanted)>,
    /// Whether each of these was looked at since the version or the plans have changed. Then none of them can be answered, and who comes
    /// next is the only one to look at: while a version is awaited, all trainers come.
    parked_in_vain: bool,
    /// The newest incarnation of each trainer that was heard of, by rank.
    incarnations: Vec<Incarnation>,
}

impl<P: Clone> ParameterServer<P> {
    /// A server that is not in the job yet. It says `Hello` at its first tick. Ranks of trainers are below
    /// `trainers`.
    pub fn new(identity: Identity<P>, trainers: u32, timing: Timing) -> Self {
        Self {
            rank: identity.rank,
            member: Member::new(Role::Server, identity, timing),
            trainers,
            plans: BTreeMap::new(),
            version: 0,
            restored: None,
            restoring: None,
            sums: None,
            under_way: UnderWay::default(),
            changed: false,
            applying: None,
            measured: None,
            saved: None,
            parked: BTreeMap::new(),
            parked_in_vain: true,
            incarnations: Vec::new(),
        }
    }

    /// When the next tick is due.
    pub fn deadline(&self) -> Option<Micros> {
        self.member.deadline()
    }

    /// Takes an event. Those of other roles are passed over.
    pub fn step(&mut self, now: Micros, event: Event<P>, effects: &mut Vec<Effect<P>>) {
        if self.member.ended() {
            return;
        }
        match event {
            Event::Received(message) => self.receive(now, message, effects),
            Event::Drain => self.member.drain(),
            Event::Values { reader, part, values } => self.read(now, reader, (part, values), effects),
            Event::Measured { step, measure } => self.measured(now, step, measure, effects),
            Event::Applied(step) => self.applied(now, step, effects),
            Event::SaveDone { manifest, digest } => self.save_done(manifest, digest, effects),
            Event::RestoreDone { manifest, outcome } => self.restore_done(manifest, outcome, effects),
            _ => {}
        }
        self.member.tick(now, effects);
    }

    fn receive(&mut self, now: Micros, message: Message<P>, effects: &mut Vec<Effect<P>>) {
        let from = message.from;
        match from.role {
            Role::Master => match self.member.hear(now, message, effects) {
                Heard::Nothing => {}
                Heard::Body(body) => self.order(now, from, body, effects),
                Heard::Anew(body) => {
                    self.forget();
                    if let Some(body) = body {
                        self.order(now, from, body, effects);
                    }
                }
            },
            Role::Trainer => self.serve(now, message, effects),
            Role::Server => {}
        }
    }

    /// Without a manifest it serves nobody.
    fn forget(&mut self) {
        self.restored = None;
        self.restoring = None;
        self.sums = None;
        self.under_way = UnderWay::default();
        self.changed = false;
        self.applying = None;
        self.measured = None;
        self.saved = None;
        self.parked.clear();
        self.parked_in_vain = true;
        self.incarnations.clear();
    }

    /// What a trainer wants, if it is one of this epoch.
    fn serve(&mut self, now: Micros, message: Message<P>, effects: &mut Vec<Effect<P>>) {
        let from = message.from;
        let refusal = if from.rank >= self.trainers {
            Some(Refusal::Invalid)
        } else if message.epoch != self.member.epoch() && !planted(Bug::NoEpochs) {
            Some(Refusal::Epoch)
        } else {
            // Nothing is older than the default, which stands for a rank that was not heard of.
            let rank = from.rank as usize;
            if self.incarnations.len() <= rank {
                self.incarnations.resize(rank + 1, Incarnation::default());
            }
            let newest = &mut self.incarnations[rank];
            *newest = from.incarnation.max(*newest);
            let stale = from.incarnation < *newest && !planted(Bug::NoIncarnations);
            stale.then_some(Refusal::Superseded(from.incarnation))
        };
        if let Some(refusal) = refusal {
            return self.member.send(To::Process(from.process), Body::Refused(refusal), effects);
        }
        if self.restored.is_none() || !self.member.serves(now) {
            return;
        }
        match message.body {
            Body::Pull(wanted) => self.pull(now, from, wanted, effects),
            Body::Push { task, step, plan, leaves, alone, header, number, parts } => {
                let answer = match alone {
                    Some(low) => {
                        let trainer = (from.rank, task);
                        self.apply_alone(step, low, (plan, header), leaves, (trainer, &parts), effects)
                    }
                    None => self.push(step, plan, leaves, &parts, effects),
                };
                let answer = answer.map_or_else(Body::Refused, |()| Body::Pushed { task, number });
                self.member.send(To::Process(from.process), answer, effects);
            }
            _ => self.member.send(To::Process(from.process), Body::Refused(Refusal::Invalid), effects),
        }
    }

    /// What the master wants.
    fn order(&mut self, now: Micros, from: Sender, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        let serves = self.restored.is_some() && self.member.serves(now);
        match body {
            Body::Welcome { plans, .. } => {
                self.plans.extend(plans.into_iter().map(|plan| (plan.id, plan)));
                self.parked_in_vain = false;
            }
            Body::Plan(plan) => {
                effects.push(Effect::Learn(plan.clone()));
                self.plans.insert(plan.id, plan);
                self.parked_in_vain = false;
                self.answer_parked(now, effects);
            }
            Body::Restore(manifest) => self.restore(manifest, effects),
            Body::Pull(wanted) if serves => self.pull(now, from, wanted, effects),
            Body::Measure { step, plan, header, leaves } if serves => {
                self.measure(step, plan, header, leaves, effects);
            }
            Body::Commit { step, plan, header, leaves, measures } if serves => {
                self.commit(step, (plan, header), leaves, measures, effects);
            }
            Body::Save { manifest, alone } if serves => self.save(manifest, alone, effects),
            _ => {}
        }
    }

    /// Answers when the version is exactly the wanted one. Before, the question waits; only the last of each reader
    /// does.
    fn pull(&mut self, now: Micros, from: Sender, wanted: Wanted, effects: &mut Vec<Effect<P>>) {
        if !self.plans.contains_key(&wanted.plan) {
            self.member.send(To::Master, Body::AskPlan(wanted.plan), effects);
        }
        match wanted.version {
            Some(version) if version < self.version && !planted(Bug::AnyVersion) => {
                let refusal = Body::Refused(Refusal::Version(self.version));
                self.member.send(To::Process(from.process), refusal, effects);
            }
            _ if self.parked_in_vain && self.reads_now(now) => {
                // It waits no longer for what it has asked before.
                self.parked.remove(&(from.role, from.rank));
                if self.is_current(wanted) {
                    effects.push(Effect::Read(self.reader(vec![from.process], wanted)));
                } else {
                    self.parked.insert((from.role, from.rank), (from.process, wanted));
                }
            }
            _ => {
                self.parked.insert((from.role, from.rank), (from.process, wanted));
                self.parked_in_vain = false;
                self.answer_parked(now, effects);
            }
        }
    }

    /// Whether values may be read.
    fn reads_now(&self, now: Micros) -> bool {
        self.applying.is_none() && self.member.serves(now)
    }

    /// Whether the values that are wanted are those that are there.
    fn is_current(&self, wanted: Wanted) -> bool {
        wanted.version.is_none_or(|version| version == self.version || planted(Bug::AnyVersion))
            && self.plans.contains_key(&wanted.plan)
    }

    fn reader(&self, to: Vec<Process>, wanted: Wanted) -> Reader {
        Reader { to, wanted, version: self.version, epoch: self.member.epoch() }
    }

    fn answer_parked(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        if !self.reads_now(now) {
            return;
        }
        let mut readers: Vec<Reader> = Vec::new();
        let parked = std::mem::take(&mut self.parked);
        for (reader, (to, wanted)) in parked {
            if !self.is_current(wanted) {
                self.parked.insert(reader, (to, wanted));
                continue;
            }
            match readers.iter_mut().find(|reader| reader.wanted == wanted) {
                Some(reader) => reader.to.push(to),
                None => readers.push(self.reader(vec![to], wanted)),
            }
        }
        self.parked_in_vain = true;
        effects.extend(readers.into_iter().map(Effect::Read));
    }

    fn read(
        &mut self,
        now: Micros,
        reader: Reader,
        (part, values): ([u32; 2], P),
        effects: &mut Vec<Effect<P>>,
    ) {
        if reader.epoch == self.member.epoch() && self.member.serves(now) {
            let Reader { to, wanted, version, .. } = reader;
            for to in to {
                let values = Body::Values { wanted, version, part, values: values.clone() };
                self.member.send(To::Process(to), values, effects);
            }
        }
    }

    /// Holds sums of the current version; those of versions before are not needed any more.
    fn push(
        &mut self,
        step: Step,
        plan: u32,
        leaves: u32,
        parts: &[Part<P>],
        effects: &mut Vec<Effect<P>>,
    ) -> Result<(), Refusal> {
        if step.version < self.version {
            return Ok(());
        }
        if step.version > self.version || self.applying.is_some() {
            return Err(Refusal::Version(self.version));
        }
        self.hold(step, plan, leaves, parts, effects)
    }

    /// Applies a step as soon as its sums are there. The answer to some may go before: if the server is lost, so is what it has answered,
    /// and all go back.
    fn apply_alone(
        &mut self,
        step: Step,
        low: u64,
        (plan, header): (u32, P),
        leaves: u32,
        (trainer, parts): ((u32, u64), &[Part<P>]),
        effects: &mut Vec<Effect<P>>,
    ) -> Result<(), Refusal> {
        let Some(known) = self.plans.get(&plan) else {
            self.member.send(To::Master, Body::AskPlan(plan), effects);
            return Err(Refusal::Unknown);
        };
        let step_of = (self.member.epoch(), step);
        let updates = self.under_way.take(step_of, low, (known, self.rank, leaves), trainer, parts)?;
        if let Some(updates) = updates {
            self.changed = true;
            let measures = Vec::new();
            effects.push(Effect::Apply { step, plan, header, leaves, updates, measures });
        }
        Ok(())
    }

    fn hold(
        &mut self,
        step: Step,
        plan: u32,
        leaves: u32,
        parts: &[Part<P>],
        effects: &mut Vec<Effect<P>>,
    ) -> Result<(), Refusal> {
        let held = self.sums.as_ref().map(|sums| sums.step);
        if held.is_some_and(|held| step.attempt < held.attempt && !planted(Bug::NoAttempts)) {
            return Ok(());
        }
        if held.is_none_or(|held| held.attempt < step.attempt && !planted(Bug::NoAttempts)) {
            let Some(plan) = self.plans.get(&plan) else {
                self.member.send(To::Master, Body::AskPlan(plan), effects);
                return Err(Refusal::Unknown);
            };
            self.sums = Some(Sums::new(step, plan, self.rank, leaves).ok_or(Refusal::Invalid)?);
        }
        let sums = self.sums.as_mut().filter(|sums| sums.is_of(plan, leaves));
        if sums.is_some_and(|sums| sums.hold(parts)) { Ok(()) } else { Err(Refusal::Invalid) }
    }

    /// Applies a step once, when all of its sums are there.
    fn commit(
        &mut self,
        step: Step,
        (plan, header): (u32, P),
        leaves: u32,
        measures: Vec<P>,
        effects: &mut Vec<Effect<P>>,
    ) {
        if step.version < self.version && !planted(Bug::EarlierSteps) {
            return self.member.send(To::Master, Body::Committed(self.version), effects);
        }
        if step.version > self.version || self.applying.is_some() {
            return;
        }
        let updates = self.updates(step, plan, leaves).filter(|_| self.has_measured(step, plan));
        let Some(updates) = updates else {
            // The master has seen that all sums are here. So this is not the state that it takes it for.
            return self.member.send(To::Master, Body::Refused(Refusal::Unknown), effects);
        };
        self.applying = Some(step);
        effects.push(Effect::Apply { step, plan, header, leaves, updates, measures });
    }

    fn updates(&self, step: Step, plan: u32, leaves: u32) -> Option<Vec<Update<P>>> {
        match &self.sums {
            Some(sums) if sums.step == step || planted(Bug::EarlierSteps) || planted(Bug::NoAttempts) => {
                if !sums.is_of(plan, leaves) {
                    return None;
                }
                sums.updates()
            }
            // No trainer has sent anything if the server has no piece of the plan.
            _ => Sums::new(step, self.plans.get(&plan)?, self.rank, leaves)?.updates(),
        }
    }

    fn applied(&mut self, now: Micros, step: Step, effects: &mut Vec<Effect<P>>) {
        if self.applying != Some(step) {
            return;
        }
        self.applying = None;
        self.sums = None;
        self.measured = None;
        self.version = self.version.saturating_add(1);
        self.parked_in_vain = false;
        self.member.send(To::Master, Body::Committed(self.version), effects);
        self.answer_parked(now, effects);
    }

    /// Whether the state is that of a version. In asynchronous training only the master has counted; but it does not
    /// want the same version with other content, so a message that wants that has come late.
    fn can_save(&self, version: u64, alone: bool) -> bool {
        let current = if alone {
            version > self.version || version == self.version && !self.changed
        } else {
            version == self.version || planted(Bug::SaveOfLaterStep)
        };
        current && self.applying.is_none()
    }

    fn save(&mut self, manifest: ManifestId, alone: bool, effects: &mut Vec<Effect<P>>) {
        let answer = match &self.saved {
            Some((saved, Saved::Writing)) if *saved == manifest => Body::Saving(manifest),
            Some((saved, Saved::Written(digest))) if *saved == manifest => {
                Body::Saved { manifest, digest: digest.clone() }
            }
            _ if !self.can_save(manifest.version, alone) => Body::Refused(Refusal::Version(self.version)),
            _ => {
                self.saved = Some((manifest, Saved::Writing));
                self.version = self.version.max(manifest.version);
                self.parked_in_vain = false;
                self.changed = false;
                effects.push(Effect::Save(manifest));
                Body::Saving(manifest)
            }
        };
        self.member.send(To::Master, answer, effects);
    }

    fn save_done(&mut self, manifest: ManifestId, digest: Option<P>, effects: &mut Vec<Effect<P>>) {
        if !matches!(self.saved, Some((saved, Saved::Writing)) if saved == manifest) {
            return;
        }
        let answer = if let Some(digest) = digest {
            self.saved = Some((manifest, Saved::Written(digest.clone())));
            Body::Saved { manifest, digest }
        } else {
            self.saved = None;
            Body::NotSaved(manifest)
        };
        self.member.send(To::Master, answer, effects);
    }

    fn restore(&mut self, manifest: Arc<Manifest<P>>, effects: &mut Vec<Effect<P>>) {
        if self.restored == Some(manifest.id) {
            return self.member.send(To::Master, Body::Restored(manifest.id), effects);
        }
        if self.restoring != Some(manifest.id) {
            self.forget();
            self.restoring = Some(manifest.id);
            effects.push(Effect::Restore(manifest));
        }
    }

    fn restore_done(&mut self, manifest: ManifestId, outcome: Restoration, effects: &mut Vec<Effect<P>>) {
        if self.restoring != Some(manifest) {
            return;
        }
        self.restoring = None;
        match outcome {
            Restoration::Done => {
                self.restored = Some(manifest);
                self.version = manifest.version;
                self.parked_in_vain = false;
                self.member.send(To::Master, Body::Restored(manifest), effects);
            }
            Restoration::Damaged => self.member.send(To::Master, Body::Damaged(manifest), effects),
            // The master asks again.
            Restoration::Unavailable => {}
        }
    }
}
