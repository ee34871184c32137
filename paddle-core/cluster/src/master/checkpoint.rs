//! Manifests: states of all servers at one version.

use super::*;
use crate::machine;

/// A state that the servers are saving.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint<P> {
    id: ManifestId,
    note: P,
    servers: usize,
    /// Whose state is fixed.
    fixed: BTreeSet<u32>,
    digests: BTreeMap<u32, P>,
}

impl<P> Checkpoint<P> {
    /// Whether further steps do not change what is saved.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed.len() == self.servers
    }
}

/// A manifest that the store is to enter.
#[derive(Clone, Debug)]
pub(super) struct Writing<P> {
    manifest: Arc<Manifest<P>>,
    /// When it is tried again.
    pub(super) again: Option<Micros>,
}

impl<P: Clone> Master<P> {
    /// Whether the last manifest is old enough, or another one is wanted.
    pub(super) fn checkpoint_is_due(&self, version: u64) -> bool {
        let since = self.manifests.last().map_or(0, |newest| newest.id.version);
        let Settings { checkpoint_steps, checkpoint_bytes, .. } = self.settings;
        let under_way = self.checkpoint.is_some() || self.writing.is_some();
        !under_way
            && self.not_saved != Some(version)
            && (self.checkpoint_wanted
                || version.saturating_sub(since) >= checkpoint_steps.max(1)
                || self.log.bytes_since(since) > checkpoint_bytes)
    }

    /// Begins to save when all servers are at one version and the last manifest is old enough.
    pub(super) fn save_if_due(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(newest) = self.manifests.last() else { return };
        let since = newest.id.version;
        if !self.checkpoint_is_due(self.applied) || self.outbox.has_any(Key::commits()) {
            return;
        }
        let last = self.applied.checked_sub(1).and_then(|version| self.log.get(version));
        let note = match last {
            _ if since >= self.applied => {
                // There is a manifest of this version. Servers that want to leave may do so.
                self.checkpoint_wanted = false;
                return self.let_servers_go(effects);
            }
            Some(step) => step.note.clone(),
            None => return,
        };
        self.checkpoint_wanted = false;
        let id = ManifestId { version: self.applied, epoch: self.epoch };
        self.checkpoint = Some(Checkpoint {
            id,
            note,
            servers: self.settings.servers as usize,
            fixed: BTreeSet::new(),
            digests: BTreeMap::new(),
        });
        self.post_to_servers(
            now,
            |server| Key::Save { server },
            &Body::Save { manifest: id, alone: self.flights.is_some() },
            effects,
        );
    }

    pub(super) fn saving(&mut self, rank: u32, manifest: ManifestId) {
        if let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| checkpoint.id == manifest) {
            checkpoint.fixed.insert(rank);
        }
    }

    /// When all servers have saved, the manifest can be entered into the store.
    pub(super) fn saved(
        &mut self,
        now: Micros,
        rank: u32,
        manifest: ManifestId,
        digest: P,
        effects: &mut Vec<Effect<P>>,
    ) {
        self.saving(rank, manifest);
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| checkpoint.id == manifest) else {
            return;
        };
        checkpoint.digests.insert(rank, digest);
        self.outbox.acknowledge(&Key::Save { server: rank });
        if checkpoint.digests.len() < checkpoint.servers {
            return;
        }
        let Some(Checkpoint { id, note, digests, .. }) = self.checkpoint.take() else { return };
        let manifest = Manifest { id, digests: digests.into_values().collect(), note };
        self.writing = Some(Writing { manifest: Arc::new(manifest), again: Some(now) });
        self.write_again(now, effects);
    }

    /// One that cannot be saved is given up; the next step begins another.
    pub(super) fn not_saved(&mut self, manifest: ManifestId, effects: &mut Vec<Effect<P>>) {
        if self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.id == manifest) {
            self.drop_checkpoint();
            self.not_saved = Some(manifest.version);
            effects.push(Effect::Warn(Warning::NotSaved(manifest)));
        }
    }

    pub(super) fn drop_checkpoint(&mut self) {
        self.checkpoint = None;
        self.outbox.drop_all(Key::saves());
    }

    pub(super) fn write_again(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(writing) = &mut self.writing else { return };
        if writing.again.is_none_or(|again| now < again) {
            return;
        }
        writing.again = None;
        let manifest = writing.manifest.clone();
        let keep = self.manifests.last().map(|manifest| manifest.id).into_iter().collect();
        effects.push(Effect::CommitManifest { manifest, keep });
    }

    /// What became of a manifest. When it is in the store, the oldest one is not needed any more.
    pub(super) fn manifest(
        &mut self,
        now: Micros,
        manifest: ManifestId,
        outcome: machine::Writing,
        effects: &mut Vec<Effect<P>>,
    ) {
        let retry = now.saturating_add(self.settings.timing.retry_limit);
        let Some(writing) = self.writing.as_mut().filter(|writing| writing.manifest.id == manifest) else {
            return;
        };
        match outcome {
            machine::Writing::Lost => return self.end(End::Deposed, effects),
            machine::Writing::Failed => {
                writing.again = Some(retry);
                effects.push(Effect::Warn(Warning::NotSaved(manifest)));
                return;
            }
            machine::Writing::Done => {}
        }
        if let Some(Writing { manifest, .. }) = self.writing.take() {
            self.manifests.push(manifest);
        }
        self.prune(effects);
        self.let_servers_go(effects);
    }

    /// Keeps two manifests, and the log since the older one.
    pub(super) fn prune(&mut self, effects: &mut Vec<Effect<P>>) {
        // While the servers go back to a manifest, that one stays.
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        let surplus = self.manifests.len().saturating_sub(2);
        self.manifests.drain(..surplus);
        if let Some(oldest) = self.manifests.first() {
            let missing = u64::from(planted(Bug::LostRequest));
            self.log.drop_before(oldest.id.version + missing);
        }
        effects.push(Effect::Prune(self.manifests.iter().map(|manifest| manifest.id).collect()));
    }

    /// Servers that want to leave may, when there is a manifest of what they hold. The others then wait for their
    /// replacements.
    fn let_servers_go(&mut self, effects: &mut Vec<Effect<P>>) {
        let leaving: Vec<(u32, Process)> = (self.members.of(Role::Server))
            .filter(|(_, worker)| worker.leaving)
            .map(|(rank, worker)| (rank, worker.process))
            .collect();
        for (rank, process) in leaving {
            self.members.remove(Role::Server, rank);
            self.send(process, Body::Farewell, effects);
            self.go_back();
        }
    }
}
