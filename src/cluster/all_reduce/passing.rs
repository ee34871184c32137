//! The way of a rank to the others, over which several things go at once: what all ranks exchange at the same place, what stages pass on
//! to each other while they compute, and the new values of a step, which come while the next one is computed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use paddle_engines::collective::{Collective, CollectiveError};
use prost::Message;

/// The way of a rank to the others, which its programs and the rank itself share.
#[derive(Clone)]
pub(in crate::cluster) struct Passing(Arc<Mutex<State>>);

struct State {
    way: Box<dyn Collective>,
    /// What has come before it was wanted, by rank and in order.
    exchanged: BTreeMap<u32, VecDeque<Bytes>>,
    updated: BTreeMap<u32, VecDeque<(Bytes, bool)>>,
    /// Values of stages that came before they were wanted, by rank, shard and name.
    staged: BTreeMap<(u32, u32, String), Bytes>,
}

/// What goes over the way.
enum Passed {
    /// Of what all ranks exchange.
    Exchanged(Bytes),
    /// A value that a stage passes on.
    Staged(StageValue),
    /// New values of a rank's pieces, and whether they are the last ones of a step.
    Updated { values: Bytes, is_last: bool },
}

/// The last byte of a message: it says what is in front of it.
const EXCHANGED: u8 = 0;
const STAGED: u8 = 1;
const UPDATED: u8 = 2;
const LAST_UPDATED: u8 = 3;

#[derive(Clone, PartialEq, Message)]
struct StageValue {
    #[prost(uint32, tag = "1")]
    leaf: u32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(bytes = "bytes", tag = "3")]
    content: Bytes,
}

/// A message with its last byte.
fn with_kind(content: Bytes, kind: u8) -> Bytes {
    // Nobody else has what was just encoded, so it is not copied.
    let mut message = content.try_into_mut().unwrap_or_else(|shared| {
        let mut copy = BytesMut::with_capacity(shared.len() + 1);
        copy.extend_from_slice(&shared);
        copy
    });
    message.put_u8(kind);
    message.freeze()
}

impl Passed {
    fn of(mut message: Bytes) -> Option<Self> {
        let kind = *message.last()?;
        message.truncate(message.len() - 1);
        match kind {
            EXCHANGED => Some(Passed::Exchanged(message)),
            STAGED => StageValue::decode(message).ok().map(Passed::Staged),
            UPDATED | LAST_UPDATED => {
                Some(Passed::Updated { values: message, is_last: kind == LAST_UPDATED })
            }
            _ => None,
        }
    }
}

impl Passing {
    pub(super) fn new(way: Box<dyn Collective>) -> Self {
        let (exchanged, updated) = (BTreeMap::new(), BTreeMap::new());
        Passing(Arc::new(Mutex::new(State { way, exchanged, updated, staged: BTreeMap::new() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step of stages. What is left of the one before was of a step that failed.
    pub(in crate::cluster) fn begin(&self) {
        self.state().staged.clear();
    }

    /// Sends a value of a shard.
    pub(in crate::cluster) fn give(
        &self,
        to: u32,
        leaf: u32,
        name: &str,
        content: Bytes,
    ) -> Result<(), String> {
        let value = StageValue { leaf, name: name.to_string(), content };
        let sent = self.state().way.send(to, with_kind(value.encode_to_vec().into(), STAGED));
        sent.map_err(|error| error.to_string())
    }

    /// A value of a shard, of another rank.
    pub(in crate::cluster) fn take(&self, from: u32, leaf: u32, name: &str) -> Result<Bytes, String> {
        let mut state = self.state();
        let key = (from, leaf, name.to_string());
        loop {
            if let Some(content) = state.staged.remove(&key) {
                return Ok(content);
            }
            // Behind a step that has not failed there is no more of it.
            if state.exchanged.get(&from).is_some_and(|early| !early.is_empty()) {
                return Err(format!("rank {from} does not go on with the step"));
            }
            state.keep_next(from).map_err(|error| error.to_string())?;
        }
    }

    /// Sends new values of this rank's pieces to all others.
    pub(super) fn update(&self, values: &Bytes, is_last: bool) -> Result<(), CollectiveError> {
        let mut state = self.state();
        let message = with_kind(values.clone(), if is_last { LAST_UPDATED } else { UPDATED });
        let (own, size) = (state.way.rank(), state.way.size());
        (0..size).filter(|&rank| rank != own).try_for_each(|rank| state.way.send(rank, message.clone()))
    }

    /// The next new values of another rank's pieces, and whether they are the last ones of a step.
    pub(super) fn updated(&self, from: u32) -> Result<(Bytes, bool), CollectiveError> {
        let mut state = self.state();
        loop {
            if let Some(updated) = state.updated.get_mut(&from).and_then(VecDeque::pop_front) {
                return Ok(updated);
            }
            state.keep_next(from)?;
        }
    }
}

impl State {
    /// Waits for the next message of a rank, and keeps it for whoever wants it.
    fn keep_next(&mut self, from: u32) -> Result<(), CollectiveError> {
        match Passed::of(self.way.receive(from)?) {
            Some(Passed::Exchanged(content)) => self.exchanged.entry(from).or_default().push_back(content),
            Some(Passed::Staged(StageValue { leaf, name, content })) => {
                self.staged.insert((from, leaf, name), content);
            }
            Some(Passed::Updated { values, is_last }) => {
                self.updated.entry(from).or_default().push_back((values, is_last));
            }
            None => {
                let why = "what it sends makes no sense".to_string();
                return Err(CollectiveError::Gone { rank: from, why });
            }
        }
        Ok(())
    }
}

impl Collective for Passing {
    fn rank(&self) -> u32 {
        self.state().way.rank()
    }

    fn size(&self) -> u32 {
        self.state().way.size()
    }

    fn room(&self) -> usize {
        self.state().way.room()
    }

    fn end(&mut self, fault: Option<(u32, &str)>) -> bool {
        self.state().way.end(fault)
    }

    fn send(&mut self, to: u32, content: Bytes) -> Result<(), CollectiveError> {
        self.state().way.send(to, with_kind(content, EXCHANGED))
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        let mut state = self.state();
        loop {
            if let Some(content) = state.exchanged.get_mut(&from).and_then(VecDeque::pop_front) {
                return Ok(content);
            }
            state.keep_next(from)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use paddle_engines::collective::threads;

    use super::*;

    #[test]
    fn each_gets_what_it_waits_for_whatever_comes_before_it() {
        let mut ranks = threads(2).into_iter().map(|way| Passing::new(Box::new(way)));
        let [mut one, mut other] = [(); 2].map(|()| ranks.next().unwrap());
        let text = Bytes::from_static;
        one.update(&text(b"first"), false).unwrap();
        one.send(1, text(b"exchanged")).unwrap();
        one.update(&text(b"second"), true).unwrap();
        one.send(1, Bytes::new()).unwrap();
        one.give(1, 3, "h", text(b"of shard 3")).unwrap();
        assert_eq!(other.receive(0).unwrap(), text(b"exchanged"));
        assert_eq!(other.receive(0).unwrap(), Bytes::new());
        assert_eq!(other.take(0, 3, "h").unwrap(), text(b"of shard 3"));
        assert_eq!(other.updated(0).unwrap(), (text(b"first"), false));
        assert_eq!(other.updated(0).unwrap(), (text(b"second"), true));
        // A stage that has failed exchanges something instead of what is waited for.
        one.send(1, text(b"an error")).unwrap();
        assert!(other.take(0, 4, "h").unwrap_err().contains("does not go on"));
        assert_eq!(other.receive(0).unwrap(), text(b"an error"));
        drop(one);
        assert!(matches!(other.updated(0), Err(CollectiveError::Gone { rank: 0, .. })));
    }

    #[test]
    fn nonsense_is_an_error() {
        let mut ways = threads(2);
        let mut other = Passing::new(Box::new(ways.pop().unwrap()));
        let one = &mut ways[0];
        for nonsense in [&[][..], &[9], &[7, 7, STAGED]] {
            one.send(1, Bytes::copy_from_slice(nonsense)).unwrap();
            assert!(matches!(other.receive(0), Err(CollectiveError::Gone { rank: 0, .. })));
        }
    }
}
