//! Values that come while a trainer computes: what needs one that has not come waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use paddle_core::plan::ExchangeError;
use prost::Message;

use super::desc::ValuesDesc;
use super::mail::Source;
use super::traffic::Waits;

/// What the thread of a trainer's machine says to that of its work about values.
pub(super) enum Arrival {
    /// Values for a task have come from a server, perhaps the last ones.
    Values { task: u64, server: u32, values: Bytes, is_last: bool },
    /// A task is not wanted any more.
    Cancelled(u64),
}

/// The values that have come, which all plans of a trainer share.
#[derive(Clone)]
pub(super) struct Arrivals(Arc<Mutex<State>>);

struct State {
    from: Receiver<Arrival>,
    waits: Waits,
    /// The task that is computed, and the newest one that is not wanted any more. Later ones have greater numbers.
    task: u64,
    cancelled: Option<u64>,
    /// The servers of which all values for a task are there.
    complete: BTreeSet<(u64, u32)>,
    /// Values that are not in the parameters yet, by piece, with the task for which they came. Those of a task that was given up stay:
    /// servers do not give them again.
    values: BTreeMap<u32, (u64, Bytes)>,
    /// The pieces whose values a shard has taken that is not computed yet.
    taken: BTreeSet<u32>,
    /// Whether something has come that makes no sense.
    is_broken: bool,
}

impl Arrivals {
    pub(super) fn new(from: Receiver<Arrival>, waits: Waits) -> Self {
        Arrivals(Arc::new(Mutex::new(State {
            from,
            waits,
            task: 0,
            cancelled: None,
            complete: BTreeSet::new(),
            values: BTreeMap::new(),
            taken: BTreeSet::new(),
            is_broken: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a task, perhaps anew. False if it is not wanted any more.
    pub(super) fn begin(&self, task: u64) -> bool {
        let mut state = self.state();
        state.task = task;
        state.complete.retain(|&(of, _)| of >= task);
        state.taken.clear();
        while let Ok(arrival) = state.from.try_recv() {
            state.take(arrival);
        }
        !state.is_cancelled()
    }

    /// Whether the task that was begun is not wanted any more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.state().is_cancelled()
    }

    /// Whether values have come that make no sense.
    pub(super) fn is_broken(&self) -> bool {
        self.state().is_broken
    }
}

impl State {
    fn is_cancelled(&self) -> bool {
        self.cancelled >= Some(self.task)
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Cancelled(task) => self.cancelled = self.cancelled.max(Some(task)),
            Arrival::Values { task, server, values, is_last } => {
                match ValuesDesc::decode(values) {
                    Ok(values) => {
                        let pieces = values.pieces.into_iter();
                        self.values.extend(pieces.map(|piece| (piece.id, (task, piece.value))));
                    }
                    Err(_) => self.is_broken = true,
                }
                if is_last {
                    self.complete.insert((task, server));
                }
            }
        }
    }
}

impl Source for Arrivals {
    fn another(&self) -> Box<dyn Source> {
        Box::new(self.clone())
    }

    /// Waits until the value has come, or it is known that it has not changed.
    fn value(&mut self, from: u32, piece: u32) -> Result<Option<Bytes>, ExchangeError> {
        let failed = |message: &str| ExchangeError::Failed { message: message.to_string() };
        let mut state = self.state();
        loop {
            if state.is_cancelled() {
                return Err(failed("the task is not wanted any more"));
            }
            if state.is_broken {
                return Err(failed("what a server sends makes no sense"));
            }
            let is_all = state.complete.contains(&(state.task, from));
            let value = state.values.get(&piece).filter(|(task, _)| is_all || *task == state.task);
            let value = value.map(|(_, value)| value.clone());
            if value.is_some() || is_all {
                if value.is_some() {
                    state.taken.insert(piece);
                }
                return Ok(value);
            }
            let arrival = state.waits.during(|| state.from.recv());
            let arrival = arrival.map_err(|_| failed("the trainer has ended"))?;
            state.take(arrival);
        }
    }

    fn settle(&mut self) {
        let state = &mut *self.state();
        for piece in std::mem::take(&mut state.taken) {
            state.values.remove(&piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::cluster::desc::PieceValues;

    fn values(task: u64, server: u32, pieces: &[(u32, u8)], is_last: bool) -> Arrival {
        let piece = |&(id, value): &(u32, u8)| PieceValues {
            id,
            value: vec![value].into(),
            ..PieceValues::default()
        };
        let values = ValuesDesc { pieces: pieces.iter().map(piece).collect() }.encode_to_vec().into();
        Arrival::Values { task, server, values, is_last }
    }

    fn open() -> (Sender<Arrival>, Arrivals) {
        let (to, from) = channel();
        (to, Arrivals::new(from, Waits::default()))
    }

    #[test]
    fn a_value_is_there_before_those_behind_it() {
        let (to, mut arrivals) = open();
        to.send(values(1, 0, &[(3, 30)], false)).unwrap();
        assert!(arrivals.begin(1));
        assert_eq!(arrivals.value(0, 3), Ok(Some(Bytes::from_static(&[30]))));
        let mut waiting = arrivals.clone();
        let waits = thread::spawn(move || [waiting.value(0, 4), waiting.value(0, 5), waiting.value(1, 6)]);
        thread::sleep(Duration::from_millis(20));
        to.send(values(1, 1, &[], true)).unwrap();
        to.send(values(1, 0, &[(4, 40)], true)).unwrap();
        // What does not come has not changed.
        assert_eq!(waits.join().unwrap(), [Ok(Some(Bytes::from_static(&[40]))), Ok(None), Ok(None)]);
    }

    #[test]
    fn what_a_task_that_was_given_up_has_not_taken_is_there_for_the_next() {
        let (to, mut arrivals) = open();
        to.send(values(1, 0, &[(3, 30), (4, 40), (5, 50)], true)).unwrap();
        assert!(arrivals.begin(1));
        arrivals.value(0, 3).unwrap();
        arrivals.settle();
        arrivals.value(0, 4).unwrap();
        to.send(Arrival::Cancelled(1)).unwrap();
        assert!(!arrivals.begin(1));
        assert!(arrivals.value(0, 4).is_err());
        to.send(values(2, 0, &[(5, 51)], true)).unwrap();
        assert!(arrivals.begin(2));
        let taken = [3, 4, 5].map(|piece| arrivals.value(0, piece).unwrap().map(|value| value[0]));
        assert_eq!(taken, [None, Some(40), Some(51)]);
    }

    #[test]
    fn nonsense_and_the_end_are_errors() {
        let (to, mut arrivals) = open();
        assert!(arrivals.begin(1));
        to.send(Arrival::Values { task: 1, server: 0, values: Bytes::from_static(&[255; 3]), is_last: true })
            .unwrap();
        assert!(arrivals.value(0, 1).is_err() && arrivals.is_broken());
        let (to, mut arrivals) = open();
        assert!(arrivals.begin(1));
        drop(to);
        assert!(arrivals.value(0, 1).is_err() && !arrivals.is_broken());
    }
}
