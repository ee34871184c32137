//! Who is alive, who is in charge, and what they have to agree on.
//!
//! There is one way to take part: to *hold a key* as long as one lives. A master holds `master`, a server `ps/3`; the value is its
//! address. The key comes with a number that grows with each holder: of `master` it is the epoch of the job, of `ps/3` the incarnation
//! of the server. What a holder writes is written only while it still holds its key, so one that was frozen and replaced cannot do harm.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use paddle_engines::coordination::{Coordination, Memory};
//!
//! let coordination = Memory::default();
//! let members = coordination.members().await?;
//! let master = coordination.hold("master", "10.0.0.7:7164").await?;
//! coordination.put(&master, "manifest", b"version 7").await?;
//!
//! assert!(master.check().is_ok());
//! assert_eq!(coordination.get("manifest").await?.as_deref(), Some(&b"version 7"[..]));
//! assert_eq!(members.borrow()["master"].address, "10.0.0.7:7164");
//! # Ok::<(), paddle_engines::coordination::CoordinationError>(())
//! # }).unwrap();
//! ```

#[cfg(feature = "etcd")]
mod etcd;
mod lease;
mod memory;

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use tokio::sync::watch;

#[cfg(feature = "etcd")]
pub use etcd::{ConnectOptions, Etcd};
pub use lease::Lease;
pub use memory::Memory;

/// The holders of keys, by key.
pub type Members = BTreeMap<String, Member>;

/// The holder of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where it listens.
    pub address: String,
    /// It is larger than that of each holder before.
    pub number: u64,
}

/// Why coordination failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoordinationError {
    /// The key is not this process's any more. It never will be again, so what depends on it has to stop.
    #[error(
        "`{key}` is not held any more, number {number}: another process may have taken over, so this one has to stop"
    )]
    Lost {
        /// Which key.
        key: String,
        /// The number that it came with.
        number: u64,
    },
    /// The lease was not renewed in time. It may be again: wait, and write nothing meanwhile.
    #[error("`{key}` may not be held any more, number {number}: its lease was not renewed in time")]
    Suspended {
        /// Which key.
        key: String,
        /// The number that it came with.
        number: u64,
    },
    /// The service does not answer.
    #[error("{service} does not answer: {reason}")]
    Unreachable {
        /// Its addresses.
        service: String,
        /// What the last attempt met.
        reason: String,
    },
    /// The service refuses what it was asked for.
    #[error("{service} refuses `{key}`: {reason}")]
    Refused {
        /// Its addresses.
        service: String,
        /// What was accessed.
        key: String,
        /// What it said.
        reason: String,
    },
}

/// A service through which the processes of one job agree.
#[async_trait]
pub trait Coordination: fmt::Debug + Send + Sync {
    /// Holds a key, once nobody else does. It waits for that as long as it takes, and through outages of the service.
    ///
    /// # Errors
    /// [`CoordinationError::Refused`] if the service does not allow it.
    async fn hold(&self, key: &str, address: &str) -> Result<Lease, CoordinationError>;

    /// Who holds which key, kept current until the receiver is dropped. During outages it stays as it was.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    async fn members(&self) -> Result<watch::Receiver<Members>, CoordinationError>;

    /// Writes a value that outlives its writer, while that holds its key.
    ///
    /// # Errors
    /// [`CoordinationError::Lost`] or [`CoordinationError::Suspended`] without an effect; or if the service does not answer: then it may
    /// have been written.
    async fn put(&self, by: &Lease, name: &str, value: &[u8]) -> Result<(), CoordinationError>;

    /// The value that was written last.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CoordinationError>;
}
