//! Coordination through etcd.

mod keeper;
mod members;

use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use etcd_client::{Client, Compare, CompareOp, Error, PutOptions, Txn, TxnOp, WatchOptions};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

pub use etcd_client::ConnectOptions;

use super::lease::{Lease, State};
use super::{Coordination, CoordinationError, Members};

/// How long one request may take. A frozen server does not refuse; it is silent.
const REQUEST: Duration = Duration::from_secs(1);
/// How long one operation is tried again, before its failure is an error.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);

/// The coordination of one job through etcd, below the keys `/paddle/<job>/`.
#[derive(Clone)]
pub struct Etcd {
    client: Client,
    service: String,
    prefix: String,
    lease: Duration,
}

impl std::fmt::Debug for Etcd {
    // The client has a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Etcd").field("service", &self.service).field("prefix", &self.prefix).finish()
    }
}

impl Etcd {
    /// Connects, as soon as the first request is made. Users, passwords and certificates are `options`.
    ///
    /// A key whose holder is gone becomes free when `lease` is over, in whole seconds; etcd makes it 2 s at least.
    ///
    /// # Errors
    /// [`CoordinationError::Unreachable`] if an endpoint is no address, or does not let the user in.
    pub async fn connect(
        endpoints: &[&str],
        job: &str,
        lease: Duration,
        options: ConnectOptions,
    ) -> Result<Etcd, CoordinationError> {
        let service = format!("etcd at {}", endpoints.join(", "));
        // Without these a connection whose other end is gone is waited for by watches without an end.
        let options = options
            .with_connect_timeout(REQUEST)
            .with_keep_alive(Duration::from_secs(1), Duration::from_secs(1))
            .with_keep_alive_while_idle(true);
        match Client::connect(endpoints, Some(options)).await {
            Ok(client) => Ok(Etcd { client, service, prefix: format!("/paddle/{job}/"), lease }),
            Err(error) => Err(CoordinationError::Unreachable { service, reason: error.to_string() }),
        }
    }

    fn held(&self, key: &str) -> String {
        format!("{}held/{key}", self.prefix)
    }

    fn value(&self, name: &str) -> String {
        format!("{}value/{name}", self.prefix)
    }

    fn error(&self, key: &str, error: &Error) -> CoordinationError {
        let (service, reason) = (self.service.clone(), error.to_string());
        match refusal(error) {
            true => CoordinationError::Refused { service, key: key.into(), reason },
            false => CoordinationError::Unreachable { service, reason },
        }
    }

    /// Makes requests until one is answered, for a time.
    async fn persist<T, F>(&self, key: &str, request: impl Fn(Client) -> F) -> Result<T, CoordinationError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let begin = Instant::now();
        loop {
            let error = match within(request(self.client.clone())).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if refusal(&error) || begin.elapsed() > PATIENCE {
                return Err(self.error(key, &error));
            }
            sleep(PAUSE).await;
        }
    }

    /// One attempt to hold a key, and `None` if another process holds it.
    async fn take(&self, key: &str, address: &str) -> Result<Option<Lease>, Error> {
        let mut client = self.client.clone();
        // The time of the lease begins at the server, after this.
        let begin = Instant::now();
        let seconds = self.lease.as_secs().max(1) as i64;
        let granted = within(client.lease_grant(seconds, None)).await?;
        let (id, lease) = (granted.id(), Duration::from_secs(granted.ttl().max(1) as u64));
        let place = self.held(key);
        let put = TxnOp::put(place.as_str(), address, Some(PutOptions::new().with_lease(id)));
        let is_free = Compare::create_revision(place.as_str(), CompareOp::Equal, 0);
        let answer = within(client.txn(Txn::new().when([is_free]).and_then([put]))).await;
        let revision = match &answer {
            Ok(answer) if answer.succeeded() => answer.header().map(|header| header.revision()),
            _ => None,
        };
        let Some(revision) = revision else {
            // Also when the answer was lost: the key may have been put, and goes with its lease.
            let _ = within(client.lease_revoke(id)).await;
            return answer.map(|_| None);
        };
        let until = State::Until(begin + keeper::safe(lease));
        let (held, keeper) = Lease::new(key, revision as u64, until);
        tokio::spawn(keeper::keep(client, id, lease, keeper));
        Ok(Some(held))
    }

    /// Waits until a key may be free.
    async fn wait(&self, key: &str) -> Result<(), Error> {
        let mut client = self.client.clone();
        let place = self.held(key);
        let there = within(client.get(place.as_str(), None)).await?;
        let revision = there.header().map_or(0, |header| header.revision());
        if there.count() == 0 {
            return Ok(());
        }
        let options = WatchOptions::new().with_start_revision(revision + 1);
        let mut changes = within(client.watch(place.as_str(), Some(options))).await?;
        loop {
            // After an event, a cancellation or an end, one looks again. Now and then, too: nothing tells of a watch that hangs.
            match timeout(self.lease * 2, changes.message()).await {
                Ok(Ok(Some(changed))) if changed.events().is_empty() && !changed.canceled() => {}
                Ok(Err(error)) => return Err(error),
                _ => return Ok(()),
            }
        }
    }
}

/// A request's answer, if it comes in time.
async fn within<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(REQUEST, request).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Internal(format!("no answer in {} s", REQUEST.as_secs()))),
    }
}

/// Whether trying again is in vain. The codes are gRPC's, of which the client does not export the names.
fn refusal(error: &Error) -> bool {
    const INVALID_ARGUMENT: i32 = 3;
    const PERMISSION_DENIED: i32 = 7;
    const UNAUTHENTICATED: i32 = 16;
    match error {
        Error::GRpcStatus(status) => {
            [INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED].contains(&(status.code() as i32))
        }
        _ => false,
    }
}

#[async_trait]
impl Coordination for Etcd {
    async fn hold(&self, key: &str, address: &str) -> Result<Lease, CoordinationError> {
        loop {
            let result = match self.take(key, address).await {
                Ok(Some(lease)) => return Ok(lease),
                Ok(None) => self.wait(key).await,
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                if refusal(&error) {
                    return Err(self.error(key, &error));
                }
                sleep(PAUSE).await;
            }
        }
    }

    async fn members(&self) -> Result<watch::Receiver<Members>, CoordinationError> {
        let prefix = self.held("");
        let (first, revision) = self.persist("held", |client| members::list(client, &prefix)).await?;
        let (sender, receiver) = watch::channel(first);
        tokio::spawn(members::follow(self.client.clone(), prefix, revision, sender));
        Ok(receiver)
    }

    async fn put(&self, by: &Lease, name: &str, value: &[u8]) -> Result<(), CoordinationError> {
        by.check()?;
        let (held, place) = (self.held(by.key()), self.value(name));
        let answer = self.persist(name, |mut client| {
            let is_held = Compare::create_revision(held.as_str(), CompareOp::Equal, by.number() as i64);
            let put = TxnOp::put(place.as_str(), value, None);
            async move { client.txn(Txn::new().when([is_held]).and_then([put])).await }
        });
        match answer.await?.succeeded() {
            true => Ok(()),
            false => Err(CoordinationError::Lost { key: by.key().into(), number: by.number() }),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CoordinationError> {
        let place = self.value(name);
        let place = place.as_str();
        let found = self.persist(name, |mut client| async move { client.get(place, None).await }).await?;
        Ok(found.kvs().first().map(|pair| pair.value().to_vec()))
    }
}
