//! All servers go back to a manifest together, and what was committed since is done again from the log.
//!
//! It is the way in which a job begins, too: with the manifest that the user's program has written.

use super::*;

/// What the master is doing.
#[derive(Clone, Debug)]
pub(super) enum Phase<P> {
    /// It waits for its election.
    Waiting,
    /// It waits for all servers.
    Gathering,
    /// It waits until all servers have the state of this manifest.
    Restoring { manifest: Arc<Manifest<P>>, servers: BTreeSet<u32> },
    /// Steps are done.
    Running,
    /// It does nothing more.
    Ended(End),
}

impl<P: Clone> Master<P> {
    pub(super) fn elected(
        &mut self,
        election: u32,
        mut manifests: Vec<Manifest<P>>,
        effects: &mut Vec<Effect<P>>,
    ) {
        manifests.sort_by_key(|manifest| manifest.id);
        manifests.retain(|manifest| manifest.digests.len() == self.settings.servers as usize);
        if manifests.is_empty() || self.settings.servers == 0 {
            return self.end(End::NoManifest, effects);
        }
        let surplus = manifests.len().saturating_sub(2);
        self.manifests = manifests.drain(surplus..).map(Arc::new).collect();
        self.epoch = Epoch { election, round: 0 };
        self.members = Membership::new(election);
        // Numbers of an earlier master are smaller.
        self.attempts = u64::from(election) << 32;
        self.tasks = u64::from(election) << 32;
        self.resumed = false;
        self.phase = Phase::Gathering;
    }

    /// The servers are not at one version any more: what is under way is void.
    pub(super) fn go_back(&mut self) {
        self.epoch.round += 1;
        self.phase = Phase::Gathering;
        self.outbox.clear();
        self.work = None;
        self.measures = None;
        if let Some(flights) = &mut self.flights {
            flights.go_back();
        }
        self.drop_checkpoint();
        if let Some(fetch) = &mut self.fetch {
            fetch.pull = None;
        }
    }

    /// Begins when all servers are there.
    pub(super) fn restore_if_gathered(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        if !matches!(self.phase, Phase::Gathering)
            || self.members.of(Role::Server).count() < self.settings.servers as usize
        {
            return;
        }
        let Some(manifest) = self.manifests.last().cloned() else {
            return self.end(End::NoManifest, effects);
        };
        effects.push(Effect::Warn(Warning::GoingBack(manifest.id)));
        self.post_to_servers(
            now,
            |server| Key::Restore { server },
            &Body::Restore(manifest.clone()),
            effects,
        );
        self.phase = Phase::Restoring { manifest, servers: BTreeSet::new() };
    }

    /// When all servers are back, the log is done again from there. After an election there is no log: the user's
    /// loop itself goes back.
    pub(super) fn restored(&mut self, rank: u32, id: ManifestId, effects: &mut Vec<Effect<P>>) {
        let Phase::Restoring { manifest, servers } = &mut self.phase else { return };
        if manifest.id != id {
            return;
        }
        servers.insert(rank);
        self.outbox.acknowledge(&Key::Restore { server: rank });
        if servers.len() < self.settings.servers as usize {
            return;
        }
        let note = manifest.note.clone();
        self.phase = Phase::Running;
        self.applied = id.version;
        if !self.resumed {
            self.resumed = true;
            self.log = CommitLog::new(id.version);
            effects.push(Effect::Resume { version: id.version, note });
        } else if self.log.start() > id.version {
            // The newest manifest was damaged after this master was elected.
            return self.end(End::Restart, effects);
        }
        if let Some(flights) = &mut self.flights {
            flights.went_back(id.version, self.log.end());
        }
        self.prune(effects);
    }

    /// Without this manifest the servers go back to the one before.
    pub(super) fn damaged(&mut self, id: ManifestId, effects: &mut Vec<Effect<P>>) {
        if !matches!(&self.phase, Phase::Restoring { manifest, .. } if manifest.id == id) {
            return;
        }
        effects.push(Effect::Warn(Warning::Damaged(id)));
        self.manifests.retain(|manifest| manifest.id != id);
        self.go_back();
    }
}
