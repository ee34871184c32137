//! What stages pass on to each other while they compute, beside what all ranks exchange behind that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use paddle_engines::collective::{Collective, CollectiveError};
use prost::Message;

/// The way of a rank to the others, which its programs and the rank itself share.
#[derive(Clone)]
pub(in crate::cluster) struct Passing(Arc<Mutex<State>>);

struct State {
    way: Box<dyn Collective>,
    /// What a rank has exchanged while this one still waited for values of it: the rank has failed.
    early: BTreeMap<u32, Bytes>,
    /// Values that came before they were wanted, by rank, shard and name.
    values: BTreeMap<(u32, u32, String), Bytes>,
}

/// What goes over the way.
#[derive(Clone, PartialEq, Message)]
struct Passed {
    /// A value of a shard. Without it, it is what the rank exchanges.
    #[prost(message, optional, tag = "1")]
    value: Option<Name>,
    #[prost(bytes = "bytes", tag = "2")]
    content: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(uint32, tag = "1")]
    leaf: u32,
    #[prost(string, tag = "2")]
    name: String,
}

impl Passing {
    pub(super) fn new(way: Box<dyn Collective>) -> Self {
        Passing(Arc::new(Mutex::new(State { way, early: BTreeMap::new(), values: BTreeMap::new() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step. What is left of the one before was of a step that failed.
    pub(in crate::cluster) fn begin(&self) {
        self.state().values.clear();
    }

    /// Sends a value of a shard.
    pub(in crate::cluster) fn give(
        &self,
        to: u32,
        leaf: u32,
        name: &str,
        content: Bytes,
    ) -> Result<(), String> {
        let value = Some(Name { leaf, name: name.to_string() });
        let sent = self.state().way.send(to, Passed { value, content }.encode_to_vec().into());
        sent.map_err(|error| error.to_string())
    }

    /// A value of a shard, of another rank.
    pub(in crate::cluster) fn take(&self, from: u32, leaf: u32, name: &str) -> Result<Bytes, String> {
        let mut state = self.state();
        let key = (from, leaf, name.to_string());
        loop {
            if let Some(content) = state.values.remove(&key) {
                return Ok(content);
            }
            if state.early.contains_key(&from) {
                return Err(format!("rank {from} does not go on with the step"));
            }
            let passed = state.next(from).map_err(|error| error.to_string())?;
            match passed.value {
                Some(Name { leaf, name }) => drop(state.values.insert((from, leaf, name), passed.content)),
                None => drop(state.early.insert(from, passed.content)),
            }
        }
    }
}

impl State {
    fn next(&mut self, from: u32) -> Result<Passed, CollectiveError> {
        let bytes = self.way.receive(from)?;
        let damaged =
            |_| CollectiveError::Gone { rank: from, why: "what it sends makes no sense".to_string() };
        Passed::decode(bytes).map_err(damaged)
    }
}

impl Collective for Passing {
    fn rank(&self) -> u32 {
        self.state().way.rank()
    }

    fn size(&self) -> u32 {
        self.state().way.size()
    }

    fn end(&mut self, fault: Option<(u32, &str)>) -> bool {
        self.state().way.end(fault)
    }

    fn send(&mut self, to: u32, content: Bytes) -> Result<(), CollectiveError> {
        self.state().way.send(to, Passed { value: None, content }.encode_to_vec().into())
    }

    /// Values that come before are of a step that has failed.
    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        let mut state = self.state();
        if let Some(content) = state.early.remove(&from) {
            return Ok(content);
        }
        loop {
            let passed = state.next(from)?;
            if passed.value.is_none() {
                return Ok(passed.content);
            }
        }
    }
}
