//! Reading a checkpoint, whose every byte is checked.

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::ObjectStoreExt;
use sha2::{Digest, Sha256};

use super::manifest::{self, MANIFESTS, Manifest, Piece, hex};
use super::{Checkpoints, StoreError};

/// The newest checkpoint that is whole.
#[derive(Clone, Debug)]
pub struct Newest {
    /// What it consists of.
    pub manifest: Manifest,
    /// What is wrong with newer ones. If there is something, say it: the job falls back behind them.
    pub damaged: Vec<StoreError>,
}

impl Checkpoints {
    /// The newest checkpoint whose pieces are all there with their digests, and `None` if nothing was ever committed.
    ///
    /// # Errors
    /// [`StoreError::NoneWhole`] if there are manifests, but each is broken; or if the store cannot be read. A store that fails is no
    /// reason to fall back.
    pub async fn newest(&self) -> Result<Option<Newest>, StoreError> {
        self.newest_until(None).await
    }

    /// The newest one up to that of an epoch and a version, which coordination has as the last: a master that was replaced may have added
    /// others.
    ///
    /// # Errors
    /// Those of [`newest`](Self::newest).
    pub async fn newest_until(&self, last: Option<(u64, u64)>) -> Result<Option<Newest>, StoreError> {
        let mut damaged = Vec::new();
        let last = last.map(|(epoch, version)| manifest::name(epoch, version));
        let names = self.names(MANIFESTS).await?;
        for name in names.iter().rev().filter(|name| last.as_ref().is_none_or(|last| *name <= last)) {
            match self.whole(name).await {
                Ok(manifest) => return Ok(Some(Newest { manifest, damaged })),
                Err(error @ (StoreError::Damaged { .. } | StoreError::Missing { .. })) => damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        if damaged.is_empty() {
            return Ok(None);
        }
        Err(StoreError::NoneWhole { others: damaged.len() - 1, newest: Box::new(damaged.swap_remove(0)) })
    }

    /// The content of a piece.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it is not what was put; or if the store fails.
    pub async fn get(&self, piece: &Piece) -> Result<Bytes, StoreError> {
        let content = self.read(&piece.object).await?;
        check(piece, &Piece::of(piece.object.clone(), piece.server, &content))?;
        Ok(content)
    }

    async fn whole(&self, name: &str) -> Result<Manifest, StoreError> {
        let manifest = Manifest::parse(name, &self.read(name).await?)?;
        for piece in &manifest.pieces {
            self.check_content(piece).await?;
        }
        Ok(manifest)
    }

    /// Pieces may be larger than the memory of the one who checks all of them.
    async fn check_content(&self, piece: &Piece) -> Result<(), StoreError> {
        let error = |error| StoreError::of(&piece.object, &error);
        let mut chunks = self.store.get(&self.place(&piece.object)).await.map_err(error)?.into_stream();
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        while let Some(chunk) = chunks.try_next().await.map_err(error)? {
            digest.update(&chunk);
            bytes += chunk.len() as u64;
        }
        check(piece, &Piece { bytes, sha256: hex(digest.finalize()), ..piece.clone() })
    }

    pub(super) async fn check_size(&self, piece: &Piece) -> Result<(), StoreError> {
        let found = self.store.head(&self.place(&piece.object)).await;
        let found = found.map_err(|error| StoreError::of(&piece.object, &error))?;
        check(piece, &Piece { bytes: found.size, ..piece.clone() })
    }
}

fn check(piece: &Piece, found: &Piece) -> Result<(), StoreError> {
    let text = |piece: &Piece| format!("{} bytes with SHA-256 {}", piece.bytes, piece.sha256);
    if (piece.bytes, &piece.sha256) == (found.bytes, &found.sha256) {
        return Ok(());
    }
    Err(StoreError::Damaged { object: piece.object.clone(), found: text(found), expected: text(piece) })
}
