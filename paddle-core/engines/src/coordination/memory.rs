//! Coordination of tasks in one process: for tests, and for jobs on one machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;

use super::lease::{Lease, State};
use super::{Coordination, CoordinationError, Member, Members};

/// Coordination without a service. Clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    members: watch::Sender<Members>,
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    last_number: u64,
    states: BTreeMap<u64, watch::Sender<State>>,
    values: BTreeMap<String, Vec<u8>>,
}

/// Without a service there is nothing that a lease could miss.
const ALWAYS: Duration = Duration::from_secs(u32::MAX as u64);

impl Memory {
    /// Ends the lease of a key against its holder's will, as a service does whose lease was not renewed.
    pub fn expire(&self, key: &str) {
        let number = self.shared.members.borrow().get(key).map(|member| member.number);
        if let Some(number) = number {
            self.shared.end(key, number);
        }
    }
}

impl Shared {
    fn rest(&self) -> MutexGuard<'_, Rest> {
        // No critical section leaves it half changed.
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, key: &str, number: u64) {
        let mut rest = self.rest();
        if let Some(state) = rest.states.remove(&number) {
            state.send_replace(State::Ended);
            self.members.send_modify(|members| {
                members.remove(key);
            });
        }
    }

    fn take(&self, key: &str, address: &str) -> Option<(Lease, super::lease::Keeper)> {
        let mut rest = self.rest();
        if self.members.borrow().contains_key(key) {
            return None;
        }
        rest.last_number += 1;
        let number = rest.last_number;
        let (lease, keeper) = Lease::new(key, number, State::Until(Instant::now() + ALWAYS));
        rest.states.insert(number, keeper.state.clone());
        self.members.send_modify(|members| {
            members.insert(key.into(), Member { address: address.into(), number });
        });
        Some((lease, keeper))
    }
}

#[async_trait]
impl Coordination for Memory {
    async fn hold(&self, key: &str, address: &str) -> Result<Lease, CoordinationError> {
        let mut members = self.shared.members.subscribe();
        loop {
            // It cannot fail: `self` has the sender.
            let _ = members.wait_for(|members| !members.contains_key(key)).await;
            if let Some((lease, keeper)) = self.shared.take(key, address) {
                let (shared, key, number) = (self.shared.clone(), key.to_string(), lease.number());
                tokio::spawn(async move {
                    let _ = keeper.released.await;
                    shared.end(&key, number);
                });
                return Ok(lease);
            }
        }
    }

    async fn members(&self) -> Result<watch::Receiver<Members>, CoordinationError> {
        Ok(self.shared.members.subscribe())
    }

    async fn put(&self, by: &Lease, name: &str, value: &[u8]) -> Result<(), CoordinationError> {
        let mut rest = self.shared.rest();
        by.check()?;
        rest.values.insert(name.into(), value.into());
        Ok(())
    }

    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CoordinationError> {
        Ok(self.shared.rest().values.get(name).cloned())
    }
}
