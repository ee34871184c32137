//! Committing a checkpoint, and removing those before.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::ObjectStoreExt;

use super::manifest::{self, MANIFESTS, Manifest, Piece};
use super::{Checkpoints, StoreError};

/// How many checkpoints are kept: the newest, and the one to fall back to.
const KEPT: usize = 2;
const CLAIMS: &str = "claim";

/// The right to commit checkpoints for an epoch of the job.
///
/// A store cannot compare epochs and write in one step. So a master that has been replaced may, in the worst case, add one more manifest
/// after it has looked for claims. Its manifest is whole, and its epoch puts it behind each manifest of the new master.
#[derive(Debug)]
pub struct Committer {
    checkpoints: Checkpoints,
    epoch: u64,
}

impl Checkpoints {
    /// Claims an epoch, which coordination hands out: the next master gets a larger one.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if a larger epoch was claimed already, or if the store fails.
    pub async fn claim(&self, epoch: u64) -> Result<Committer, StoreError> {
        let committer = Committer { checkpoints: self.clone(), epoch };
        committer.check().await?;
        self.create(&format!("{CLAIMS}/{epoch:020}"), Bytes::new()).await?;
        Ok(committer)
    }

    /// The largest epoch that was claimed. A master that nobody hands out epochs to takes one behind it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn last_claim(&self) -> Result<Option<u64>, StoreError> {
        let newest = self.names(CLAIMS).await?.pop();
        Ok(newest.and_then(|name| name.rsplit('/').next().and_then(|epoch| epoch.parse().ok())))
    }

    /// Names in a folder, the smallest first.
    pub(super) async fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let found: Vec<_> = self
            .store
            .list(Some(&self.place(folder)))
            .try_collect()
            .await
            .map_err(|error| StoreError::of(folder, &error))?;
        let root = self.root.parts().count();
        let name = |path: &object_store::path::Path| {
            path.parts().skip(root).map(|part| part.as_ref().to_string()).collect::<Vec<_>>().join("/")
        };
        let mut names: Vec<String> = found.iter().map(|object| name(&object.location)).collect();
        names.sort();
        Ok(names)
    }
}

impl Committer {
    /// Commits the pieces of all servers as the checkpoint of a version. It can be repeated when the answer was lost.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if another master has taken over; [`StoreError::Missing`] or [`StoreError::Damaged`] if a piece is not
    /// there in its full size; or if the store fails.
    pub async fn commit(&self, version: u64, pieces: Vec<Piece>, note: String) -> Result<(), StoreError> {
        let Committer { checkpoints, epoch } = self;
        self.check().await?;
        for piece in &pieces {
            checkpoints.check_size(piece).await?;
        }
        let manifest = Manifest { epoch: *epoch, version, pieces, note };
        let name = manifest::name(*epoch, version);
        let content = serde_json::to_vec(&manifest)
            .map_err(|error| StoreError::Failed { object: name.clone(), reason: error.to_string() })?;
        checkpoints.create(&name, content.into()).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        match self.checkpoints.last_claim().await? {
            Some(by) if by > self.epoch => Err(StoreError::Fenced { epoch: self.epoch, by }),
            _ => Ok(()),
        }
    }

    /// Removes all checkpoints but the newest two, after a commit: old manifests first, so that none of them ever lacks a piece, then
    /// pieces that no manifest has. Pieces of later versions stay: their manifest may be the next.
    ///
    /// # Errors
    /// If the store fails. The newest two checkpoints are untouched, and the next call removes what was left.
    pub async fn prune(&self) -> Result<(), StoreError> {
        let checkpoints = &self.checkpoints;
        let manifests = checkpoints.names(MANIFESTS).await?;
        let (old, kept) = manifests.split_at(manifests.len().saturating_sub(KEPT));
        let mut used = BTreeSet::new();
        let mut newest = None;
        for name in kept {
            match Manifest::parse(name, &checkpoints.read(name).await?) {
                Ok(manifest) => {
                    newest = Some(manifest.version);
                    used.extend(manifest.pieces.into_iter().map(|piece| piece.object));
                }
                // It holds nothing any more.
                Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let is_done = |name: &String| {
            let of = name.split('/').nth(1).and_then(|version| version.parse::<u64>().ok());
            of.is_some_and(|of| newest.is_some_and(|newest| of <= newest)) && !used.contains(name)
        };
        let pieces = checkpoints.names("ckpt").await?;
        let claims = checkpoints.names(CLAIMS).await?;
        let claims = claims.split_last().map_or(&[][..], |(_, old)| old);
        for name in old.iter().chain(pieces.iter().filter(|name| is_done(name))).chain(claims) {
            match checkpoints.store.delete(&checkpoints.place(name)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(StoreError::of(name, &error)),
            }
        }
        Ok(())
    }
}
