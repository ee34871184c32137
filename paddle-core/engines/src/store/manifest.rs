//! What a checkpoint consists of.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::StoreError;

/// A checkpoint: all its pieces are of the same version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Which master committed it.
    pub epoch: u64,
    /// The step behind which the parameters are these.
    pub version: u64,
    /// One piece per server.
    pub pieces: Vec<Piece>,
    /// What the master wants to know again: the place in the data, and the like.
    pub note: String,
}

/// The part of a checkpoint that one server keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Whose it is.
    pub server: usize,
    /// The name of its object, below that of the job.
    pub object: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

impl Piece {
    pub(super) fn of(object: String, server: usize, content: &[u8]) -> Piece {
        Piece { server, object, bytes: content.len() as u64, sha256: hex(Sha256::digest(content)) }
    }
}

pub(super) fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) const MANIFESTS: &str = "manifest";

/// The order of names is that of epochs, and of versions within an epoch.
pub(super) fn name(epoch: u64, version: u64) -> String {
    format!("{MANIFESTS}/{epoch:020}-{version:020}")
}

impl Manifest {
    pub(super) fn parse(object: &str, content: &[u8]) -> Result<Manifest, StoreError> {
        let damaged = |found: String| StoreError::Damaged {
            object: object.into(),
            found,
            expected: "a manifest, whose name says its epoch and version".into(),
        };
        let manifest: Manifest =
            serde_json::from_slice(content).map_err(|error| damaged(error.to_string()))?;
        if name(manifest.epoch, manifest.version) != object {
            return Err(damaged(format!("epoch {}, version {}", manifest.epoch, manifest.version)));
        }
        Ok(manifest)
    }
}
