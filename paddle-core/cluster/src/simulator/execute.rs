//! What processes do for their machines, in symbols.

use super::model::{self, Batch, Kind};
use super::mutants::Mutant;
use super::store::{self, State};
use super::world::{Computes, What, World};
use crate::machine::{Effect, End, Event, Reader, Restoration, Update, Warning, Writing};
use crate::message::*;
use crate::timing::Micros;
use crate::tree::{self, Node};
use std::sync::Arc;

impl World {
    pub(super) fn later(&mut self, to: usize, delay: Micros, event: Event<u64>) {
        self.schedule(delay, What::Event { to, event });
    }

    pub(super) fn execute(&mut self, at: usize, effect: Effect<u64>) {
        match effect {
            Effect::Send { to, message } => self.send(at, to, message),
            Effect::End(end) => self.ended(at, end),
            Effect::Warn(Warning::GoingBack(_)) => self.goings_back += 1,
            Effect::Warn(Warning::InvalidSum(piece)) => {
                self.checks.fail(self.now, format!("the sum of piece {piece} is refused"));
            }
            Effect::Connect(_) | Effect::Learn(_) | Effect::Warn(_) | Effect::Cancel(_) => {}
            Effect::Compute { task, have } => {
                let values = vec![(0, false); task.servers.len()];
                let (delta, missing) = (have.is_some(), values.len());
                self.hosts[at].computes =
                    Some(Box::new(Computes { number: task.number, task, delta, values, missing }));
            }
            Effect::Arrived { task, server, values, is_last } => {
                self.arrived(at, task, server, values, is_last);
            }
            Effect::Read(reader) => self.read(at, reader),
            Effect::Measure { step, leaves, updates, .. } => {
                let sum = |update: &Update<u64>| Some((update.piece, model::sum(leaves, update)?));
                let measure = model::measure(updates.iter().filter_map(sum));
                let delay = self.random.range(10, 2_000);
                self.later(at, delay, Event::Measured { step, measure });
            }
            Effect::Apply { step, plan, header, leaves, updates, measures } => {
                self.apply(at, step, (header, plan), leaves, &updates, &measures);
            }
            Effect::Save(manifest) => self.save(at, manifest),
            Effect::Restore(manifest) => self.restore(at, &manifest),
            Effect::CommitManifest { manifest, keep } => self.enter(at, &manifest, &keep),
            Effect::Prune(mut keep) => {
                if self.mutant == Some(Mutant::OneManifest) {
                    keep.drain(..keep.len().saturating_sub(1));
                }
                if self.hosts[at].memory.user.election == self.store.election {
                    self.store.prune(&keep);
                }
            }
            Effect::Resume { .. }
            | Effect::Results { .. }
            | Effect::Committed(_)
            | Effect::StepFailed(_)
            | Effect::Replayed { .. }
            | Effect::Fetched { .. } => self.tell_user(at, effect),
        }
    }

    fn ended(&mut self, at: usize, end: End) {
        let (role, rank) = (self.hosts[at].role, self.hosts[at].rank);
        self.hosts[at].alive = false;
        match end {
            End::Finished => {}
            End::NoManifest | End::ReplayFailed => {
                self.checks.fail(self.now, format!("the master ends: {end:?}"));
            }
            End::Left | End::Superseded | End::Deposed | End::Restart => {
                if self.current.get(&(role, rank)) == Some(&at) {
                    self.restart(role, rank, 300_000);
                }
            }
        }
    }

    /// Values for the task that a trainer computes have come. It is computed when all are there.
    fn arrived(&mut self, at: usize, task: u64, server: u32, values: u64, is_last: bool) {
        let computes = self.hosts[at].computes.as_mut();
        let Some(computes) = computes.filter(|computes| computes.number == task) else {
            return self.checks.fail(self.now, format!("values come for task {task}, which is not computed"));
        };
        let (sum, all) = &mut computes.values[server as usize];
        computes.missing = computes.missing + usize::from(*all) - usize::from(is_last);
        (*sum, *all) = (sum.wrapping_add(values), is_last);
        if computes.missing == 0
            && let Some(computes) = self.hosts[at].computes.take()
        {
            let Computes { task, delta, values, .. } = *computes;
            let values = values.into_iter().map(|(sum, _)| sum).collect();
            self.compute(at, &task, values, delta);
        }
    }

    fn compute(&mut self, at: usize, task: &Arc<Task<u64>>, mut values: Vec<u64>, delta: bool) {
        let host = &mut self.hosts[at];
        let cache = host.memory.cache.entry(task.plan).or_default();
        for (rank, value) in values.iter_mut().enumerate() {
            if delta && *value == model::UNCHANGED {
                *value = cache.get(rank).copied().unwrap_or(0);
            }
        }
        cache.clone_from(&values);
        let values = values.iter().fold(0, |sum: u64, &values| sum.wrapping_add(values));
        let (fast, slow) = self.scenario.compute;
        let mut time = self.random.range(fast, slow);
        if self.now < host.memory.straggles_until {
            time *= 20;
        }
        let batches = &self.scenario.training.batches;
        // The error is one of the rows of the first leaf.
        let of_task = |batch: &&Batch| task.run.start == 0 && batch.request.header == task.header;
        match batches.iter().find(of_task).map(|batch| batch.kind) {
            Some(Kind::Error) => {
                let error = task.header;
                return self.later(at, time, Event::Failed { task: task.number, error });
            }
            Some(Kind::Deadly) => return self.kill(Role::Trainer, self.hosts[at].rank, 100_000),
            _ => {}
        }
        let pieces = &self.scenario.training.plans[task.plan as usize].pieces;
        let leaves = model::Leaves::new((task.plan, task.header), values, task.run.start, &task.rows);
        let nodes: Vec<Node> = tree::nodes_of(task.run, task.leaves).collect();
        let mut parts = leaves.parts(pieces, &nodes);
        let results = nodes.iter().map(|&node| (node, leaves.result(node))).collect();
        // The sums are there one after the other.
        if parts.len() < 100 {
            let middle = pieces[pieces.len() / 2].id;
            let rest = parts.split_off(parts.partition_point(|part| part.piece < middle));
            self.later(at, time / 2, Event::Sums { task: task.number, parts: rest });
        }
        self.later(at, time, Event::Sums { task: task.number, parts });
        self.later(at, time + 1, Event::Computed { task: task.number, results });
    }

    fn read(&mut self, at: usize, reader: Reader) {
        let pieces = &self.scenario.training.plans[reader.wanted.plan as usize].pieces;
        // A server has a few of a plan's pieces.
        let own = self.hosts[at]
            .memory
            .state
            .iter()
            .filter(|&(id, _)| pieces.binary_search_by_key(id, |piece| piece.id).is_ok());
        let since = reader.wanted.have;
        let unchanged = since.is_some_and(|since| own.clone().all(|(_, &(_, changed))| changed <= since));
        let pieces = if unchanged { 0 } else { own.clone().count() };
        let mut own = own.map(|(&piece, &(value, _))| (piece, value));
        // Each part goes when it is read.
        let mut delay = self.random.below(300);
        // Of a few pieces, the last one goes by itself.
        if (2..100).contains(&pieces) {
            let values = model::values(own.by_ref().take(pieces - 1));
            let last = own.next().map_or(0, |(piece, value)| model::value(piece, value));
            self.later(at, delay, Event::Values { reader: reader.clone(), part: [0, 2], values });
            delay += self.random.below(300);
            return self.later(at, delay, Event::Values { reader, part: [1, 2], values: last });
        }
        let values = if unchanged { model::UNCHANGED } else { model::values(own) };
        self.later(at, delay, Event::Values { reader, part: [0, 1], values });
    }

    fn apply(
        &mut self,
        at: usize,
        step: Step,
        of: (u64, u32),
        leaves: u32,
        updates: &[Update<u64>],
        measures: &[u64],
    ) {
        let alone = self.scenario.training.alone;
        let version = self.hosts[at].memory.version;
        let mut changed = State::new();
        for update in updates {
            let sum = if self.mutant == Some(Mutant::OrderOfArrival) {
                let offset = self.random.below(update.cover.len() as u64);
                let (behind, before) = update.cover.split_at(usize::try_from(offset).unwrap_or(0));
                before.iter().chain(behind).map(|&(_, sum)| sum).reduce(model::add)
            } else {
                model::sum(leaves, update)
            };
            let old = self.hosts[at].memory.state.get(&update.piece).map_or(0, |&(value, _)| value);
            let new = model::updated(alone, old, of, sum.unwrap_or(0), measures);
            changed.insert(update.piece, (new, version + 1));
        }
        let delay = self.random.range(10, 2_000);
        if self.mutant == Some(Mutant::TornValues) {
            let piece = changed.keys().nth(changed.len() / 2).copied().unwrap_or(0);
            let states = changed.split_off(&piece);
            self.schedule(delay + 3_000, What::Rest { to: at, states });
        }
        let rank = self.hosts[at].rank;
        let epoch = self.epoch_of(at);
        // One program updates all pieces of a server.
        let own = self.scenario.training.plans[of.1 as usize].pieces.iter();
        if updates.len() != own.filter(|piece| piece.server == rank).count() {
            self.checks.fail(self.now, format!("server {rank} applies a part of {step:?}"));
        }
        self.checks.apply(self.now, epoch, rank, if alone { step.attempt } else { version });
        if alone {
            return self.hosts[at].memory.state.extend(changed);
        }
        let host = &mut self.hosts[at];
        host.memory.state.extend(changed);
        host.memory.version = version + 1;
        if step.version != version {
            self.checks.fail(self.now, format!("server {rank} at {version} applies {step:?}"));
        }
        if self.mutant != Some(Mutant::TornValues) {
            let state = &self.hosts[at].memory.state;
            self.checks.state(self.now, &self.reference, rank, version + 1, state);
        }
        self.later(at, delay, Event::Applied(step));
    }

    fn save(&mut self, at: usize, manifest: ManifestId) {
        let state = self.hosts[at].memory.state.clone();
        let rank = self.hosts[at].rank;
        if !self.scenario.training.alone {
            self.checks.state(self.now, &self.reference, rank, manifest.version, &state);
        }
        let delay = self.random.range(1_000, 150_000);
        if self.mutant == Some(Mutant::SavedBeforeWritten) {
            let digest = Some(store::digest(&state));
            self.later(at, 10, Event::SaveDone { manifest, digest });
        }
        self.schedule(delay, What::Written { to: at, manifest, state });
    }

    pub(super) fn written(&mut self, at: usize, manifest: ManifestId, state: State) {
        if self.now < self.storage_fails_until {
            return self.feed(at, Event::SaveDone { manifest, digest: None });
        }
        let digest = match self.mutant {
            Some(Mutant::DigestOfNothing) => 7,
            _ => store::digest(&state),
        };
        let rank = self.hosts[at].rank;
        self.store.objects.insert((manifest, rank), state);
        self.feed(at, Event::SaveDone { manifest, digest: Some(digest) });
    }

    fn restore(&mut self, at: usize, manifest: &Manifest<u64>) {
        let rank = self.hosts[at].rank;
        let key = match self.mutant {
            Some(Mutant::WrongKey) => (rank + 1) % self.scenario.settings.servers,
            _ => rank,
        };
        let check = self.mutant != Some(Mutant::DigestOfNothing);
        let outcome = if self.now < self.storage_fails_until {
            Restoration::Unavailable
        } else {
            match self.store.load(manifest, key, check) {
                Ok(_)
                    if self.mutant == Some(Mutant::PartialRollback)
                        && !self.hosts[at].memory.state.is_empty() =>
                {
                    self.hosts[at].memory.version = manifest.id.version;
                    Restoration::Done
                }
                Ok(state) => {
                    self.hosts[at].memory.state = state;
                    self.hosts[at].memory.version = manifest.id.version;
                    Restoration::Done
                }
                Err(outcome) => outcome,
            }
        };
        let delay = self.random.range(1_000, 100_000);
        self.later(at, delay, Event::RestoreDone { manifest: manifest.id, outcome });
    }

    fn enter(&mut self, at: usize, manifest: &Manifest<u64>, keep: &[ManifestId]) {
        let election = match self.mutant {
            Some(Mutant::UnconditionalPut) => self.store.election,
            _ => self.hosts[at].memory.user.election,
        };
        let fails = self.now < self.storage_fails_until;
        let mut outcome = Writing::Failed;
        // When the answer is lost, the manifest is there all the same.
        if !fails || self.random.per_mille(500) {
            let known = self.store.manifests.iter().any(|old| old.id == manifest.id);
            let keep = if self.mutant == Some(Mutant::OneManifest) { &[] } else { keep };
            outcome = self.store.enter(election, manifest, keep);
            if outcome == Writing::Done {
                if self.hosts[at].memory.user.election != self.store.election {
                    self.checks.fail(self.now, format!("{:?} is entered by an old master", manifest.id));
                }
                if !known && self.mutant != Some(Mutant::DigestOfNothing) {
                    self.checks.manifest(self.now, &self.store, &self.reference, manifest);
                }
            }
        }
        if fails {
            outcome = Writing::Failed;
        }
        let delay = self.random.range(500, 20_000);
        self.later(at, delay, Event::Manifest { manifest: manifest.id, outcome });
    }
}
