//! Checkpoints of a job in an object store: immutable pieces, and a manifest written last.
//!
//! A parameter server puts its piece as `ckpt/<version>/<server>-<incarnation>`. When the pieces of all servers are there, the master
//! commits a manifest, which lists them with their digests. Nothing is ever overwritten, so whatever breaks off leaves the last manifest
//! whole. The newest two manifests are kept.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use paddle_engines::store::Checkpoints;
//!
//! let checkpoints = Checkpoints::in_memory();
//! let piece = checkpoints.put(7, 0, 1, "parameters of server 0".into()).await?;
//! let committer = checkpoints.claim(1).await?;
//! committer.commit(7, vec![piece], "pass 3".into()).await?;
//! committer.prune().await?;
//!
//! let newest = checkpoints.newest().await?.expect("one was committed");
//! assert!(newest.damaged.is_empty());
//! assert_eq!(checkpoints.get(&newest.manifest.pieces[0]).await?, "parameters of server 0");
//! # Ok::<(), paddle_engines::store::StoreError>(())
//! # }).unwrap();
//! ```

mod commit;
mod error;
mod manifest;
mod open;
mod read;

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};

pub use commit::Committer;
pub use error::StoreError;
pub use manifest::{Manifest, Piece};
pub use read::Newest;

/// The checkpoints of one job.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    store: Arc<dyn ObjectStore>,
    root: Path,
}

impl Checkpoints {
    /// Puts the piece of a server. `incarnation` counts the lives of the server, so that a piece of an earlier life, which may still be
    /// on its way, never is in the place of this one.
    ///
    /// It can be repeated when the answer was lost: the same content is accepted.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if other content has this name, or if the store fails.
    pub async fn put(
        &self,
        version: u64,
        server: usize,
        incarnation: u64,
        content: Bytes,
    ) -> Result<Piece, StoreError> {
        let name = format!("ckpt/{version:020}/{server}-{incarnation}");
        let piece = Piece::of(name, server, &content);
        self.create(&piece.object, content).await?;
        Ok(piece)
    }

    /// Puts what a job has made, beside its checkpoints. It can be repeated with the same content.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if other content has this name, or if the store fails.
    pub async fn put_result(&self, name: &str, content: Bytes) -> Result<(), StoreError> {
        self.create(&format!("result/{name}"), content).await
    }

    /// What a job has made.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if it has not made it, or if the store fails.
    pub async fn result(&self, name: &str) -> Result<Bytes, StoreError> {
        self.read(&format!("result/{name}")).await
    }

    /// Creates an object, or finds that it is there with the same content.
    async fn create(&self, name: &str, content: Bytes) -> Result<(), StoreError> {
        let place = self.place(name);
        match self.store.put_opts(&place, content.clone().into(), PutMode::Create.into()).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => {
                let there = self.read(name).await?;
                if there == content { Ok(()) } else { Err(StoreError::Conflict { object: name.into() }) }
            }
            Err(error) => Err(StoreError::of(name, &error)),
        }
    }

    async fn read(&self, name: &str) -> Result<Bytes, StoreError> {
        let error = |error| StoreError::of(name, &error);
        self.store.get(&self.place(name)).await.map_err(error)?.bytes().await.map_err(error)
    }

    fn place(&self, name: &str) -> Path {
        name.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }
}
