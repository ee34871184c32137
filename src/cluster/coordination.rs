//! A job whose master etcd knows: it holds a lock there, under a lease, with its address. Workers find it wherever it is, and of two
//! masters one commits.

use std::env;
use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use paddle_cluster::machine::Writing;
use paddle_cluster::message::{Epoch, ManifestId};
use paddle_engines::coordination::{ConnectOptions, Coordination, CoordinationError, Lease};

use super::ClusterError;
use super::store::Background;

/// A master that does not say so for this long is none any more.
const LEASE: Duration = Duration::from_secs(5);
/// What the master holds.
const MASTER: &str = "master";
/// The number of the last master.
const ELECTION: &str = "election";
/// The newest manifest.
const MANIFEST: &str = "manifest";

/// The etcd of a job.
#[derive(Clone)]
pub(super) struct Etcd {
    etcd: paddle_engines::coordination::Etcd,
    runtime: Arc<Background>,
    at: String,
}

/// What the master of a job holds.
pub(super) struct Lock {
    etcd: Etcd,
    lease: Arc<Lease>,
}

fn failed(error: CoordinationError) -> ClusterError {
    ClusterError::Coordination { message: error.to_string() }
}

fn has_ended() -> CoordinationError {
    let reason = "its thread has ended".to_string();
    CoordinationError::Unreachable { service: "etcd".to_string(), reason }
}

impl Etcd {
    /// That which the environment names, if it names one.
    pub(super) fn of_environment() -> Result<Option<Self>, ClusterError> {
        let Ok(url) = env::var("PADDLE_ETCD") else { return Ok(None) };
        let nothing = |_| ClusterError::Environment { variable: "PADDLE_JOB", found: "nothing".to_string() };
        let mut job = env::var("PADDLE_JOB").map_err(nothing)?;
        if let Ok(run) = env::var("PADDLE_RUN") {
            job = format!("{job}/{run}");
        }
        let runtime = Background::start("etcd");
        let runtime = runtime.map_err(|error| ClusterError::Start { message: error.to_string() })?;
        let servers = url.clone();
        let connecting = async move {
            let options = ConnectOptions::new();
            paddle_engines::coordination::Etcd::connect(&[&servers], &job, LEASE, options).await
        };
        let etcd = runtime.wait(connecting).unwrap_or_else(|| Err(has_ended())).map_err(failed)?;
        let at = url.rsplit_once("//").map_or(url.as_str(), |(_, address)| address).to_string();
        Ok(Some(Etcd { etcd, runtime: Arc::new(runtime), at }))
    }

    /// The address of one of its servers.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// Waits for an answer, whatever the thread of the caller does otherwise.
    fn wait<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T, CoordinationError>> + Send + 'static,
    ) -> Result<T, CoordinationError> {
        self.runtime.wait(answer).unwrap_or_else(|| Err(has_ended()))
    }

    /// Becomes the master, when nobody else is.
    pub(super) fn hold(self, address: String) -> Result<Lock, ClusterError> {
        let etcd = self.etcd.clone();
        let lease = self.wait(async move { etcd.hold(MASTER, &address).await }).map_err(failed)?;
        Ok(Lock { etcd: self, lease: Arc::new(lease) })
    }

    /// Tells where the master is, now and each time that there is another one.
    pub(super) fn follow(
        self,
        mut tell: impl FnMut(String) -> bool + Send + 'static,
    ) -> Result<(), ClusterError> {
        let etcd = self.etcd.clone();
        let follow = async move {
            // While etcd does not answer, the master of before is asked.
            let mut members = loop {
                match etcd.members().await {
                    Ok(members) => break members,
                    Err(error) => eprintln!("cluster: {error}"),
                }
                tokio::time::sleep(LEASE).await;
            };
            let mut known = None;
            loop {
                let master = members.borrow_and_update().get(MASTER).map(|master| master.address.clone());
                if let Some(address) = master.filter(|address| known.as_ref() != Some(address)) {
                    known = Some(address.clone());
                    if !tell(address) {
                        return;
                    }
                }
                if members.changed().await.is_err() {
                    return;
                }
            }
        };
        // It goes on as long as the process does.
        let follow = move || self.runtime.wait(follow).unwrap_or_default();
        let spawned = thread::Builder::new().name("etcd".to_string()).spawn(follow);
        spawned.map(drop).map_err(|error| ClusterError::Start { message: error.to_string() })
    }
}

impl Lock {
    fn put(&self, name: &'static str, value: String) -> Result<(), CoordinationError> {
        let (etcd, lease) = (self.etcd.etcd.clone(), Arc::clone(&self.lease));
        self.etcd.wait(async move { etcd.put(&lease, name, value.as_bytes()).await })
    }

    fn get(&self, name: &'static str) -> Result<Option<String>, ClusterError> {
        let etcd = self.etcd.etcd.clone();
        let value = self.etcd.wait(async move { etcd.get(name).await }).map_err(failed)?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    /// The number of this master: larger than that of any before, and than one that the store knows.
    pub(super) fn election(&self, of_store: u32) -> Result<u32, ClusterError> {
        let last = self.get(ELECTION)?.and_then(|last| last.parse().ok()).unwrap_or(0);
        let election = of_store.max(last).saturating_add(1);
        self.put(ELECTION, election.to_string()).map_err(failed)?;
        Ok(election)
    }

    /// Makes a manifest of the store the newest, if this is the master still. Waiting for the lease to be renewed is the machine's.
    pub(super) fn point(&self, ManifestId { version, epoch }: ManifestId) -> Writing {
        let Epoch { election, round } = epoch;
        match self.put(MANIFEST, format!("{election} {round} {version}")) {
            Ok(()) => Writing::Done,
            Err(CoordinationError::Lost { .. }) => Writing::Lost,
            Err(error) => {
                eprintln!("cluster: {error}");
                Writing::Failed
            }
        }
    }

    /// The newest manifest.
    pub(super) fn newest(&self) -> Result<Option<ManifestId>, ClusterError> {
        let Some(text) = self.get(MANIFEST)? else { return Ok(None) };
        let numbers: Vec<u64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
        let &[election, round, version] = numbers.as_slice() else {
            return Err(ClusterError::Coordination { message: format!("`{text}` names no manifest") });
        };
        let epoch = Epoch { election: election as u32, round: round as u32 };
        Ok(Some(ManifestId { version, epoch }))
    }

    /// Does something when this is not the master any more.
    pub(super) fn when_lost(&self, then: impl FnOnce() + Send + 'static) {
        let lease = Arc::clone(&self.lease);
        self.etcd.runtime.spawn(async move {
            lease.lost().await;
            then();
        });
    }

    /// Errors if this is not the master any more.
    pub(super) fn check(&self) -> Result<(), ClusterError> {
        let since = Instant::now();
        loop {
            match self.lease.check() {
                Err(CoordinationError::Suspended { .. }) if since.elapsed() < 12 * LEASE => {
                    thread::sleep(Duration::from_millis(100));
                }
                checked => return checked.map_err(failed),
            }
        }
    }
}
