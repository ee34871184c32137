//! The coordination store and the storage of objects.

use crate::machine::{Entry, Restoration, Writing};
use crate::message::{Manifest, ManifestId, Process};
use crate::retry::mix;
use std::collections::BTreeMap;

/// The state of a piece and the version since which it is unchanged.
pub(crate) type State = BTreeMap<u32, (u64, u64)>;

/// A digest of a state.
pub(crate) fn digest(state: &State) -> u64 {
    state
        .iter()
        .fold(7, |hash, (&piece, &(value, changed))| mix(mix(hash ^ u64::from(piece)) ^ value ^ mix(changed)))
}

/// What outlives processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) election: u32,
    pub(crate) master: Process,
    pub(crate) manifests: Vec<Manifest<u64>>,
    pub(crate) objects: BTreeMap<(ManifestId, u32), State>,
    pub(crate) log: Vec<Entry>,
    /// Whether a manifest was entered since the last one was given up: then there should be two.
    entered: bool,
}

impl Store {
    /// Whether every object of a manifest is there, and what was written.
    pub(crate) fn is_whole(&self, manifest: &Manifest<u64>) -> bool {
        (0..).zip(&manifest.digests).all(|(rank, &expected)| {
            self.objects.get(&(manifest.id, rank)).is_some_and(|state| digest(state) == expected)
        })
    }

    /// Enters a manifest, if the newest master wants it.
    pub(crate) fn enter(&mut self, election: u32, manifest: &Manifest<u64>, keep: &[ManifestId]) -> Writing {
        if election != self.election {
            return Writing::Lost;
        }
        self.manifests.retain(|old| keep.contains(&old.id) && old.id != manifest.id);
        self.manifests.push(manifest.clone());
        self.entered = true;
        Writing::Done
    }

    /// The job goes on from a version: what is behind it is void.
    pub(crate) fn resume(&mut self, version: u64) {
        self.log.truncate(usize::try_from(version).unwrap_or(0));
        let manifests = self.manifests.len();
        self.manifests.retain(|manifest| manifest.id.version <= version);
        self.entered &= self.manifests.len() == manifests;
    }

    /// Deletes the objects of all manifests before the last of `keep` that are not of `keep`.
    pub(crate) fn prune(&mut self, keep: &[ManifestId]) {
        if let Some(&newest) = keep.iter().max() {
            self.objects.retain(|(manifest, _), _| *manifest >= newest || keep.contains(manifest));
        }
    }

    /// The state of a server in a manifest.
    pub(crate) fn load(
        &self,
        manifest: &Manifest<u64>,
        rank: u32,
        check: bool,
    ) -> Result<State, Restoration> {
        let state = self.objects.get(&(manifest.id, rank)).ok_or(Restoration::Damaged)?;
        if check && manifest.digests.get(rank as usize) != Some(&digest(state)) {
            return Err(Restoration::Damaged);
        }
        Ok(state.clone())
    }

    /// Damages the newest manifest, if masters should have kept another one.
    pub(crate) fn damage_newest(&mut self, rank: u32) -> bool {
        let Some((newest, others)) = self.manifests.split_last() else { return false };
        if !self.entered || !others.iter().all(|manifest| self.is_whole(manifest)) {
            return false;
        }
        match self.objects.get_mut(&(newest.id, rank)).and_then(|state| state.values_mut().next()) {
            Some((value, _)) => {
                *value ^= 1;
                true
            }
            None => false,
        }
    }
}
