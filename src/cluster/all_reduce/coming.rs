//! The new values that ranks give each other behind a step. They come while the next step is computed, and what needs one that has not
//! come waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use paddle_core::plan::ExchangeError;
use paddle_engines::collective::Collective;
use prost::Message;

use super::Passing;
use crate::cluster::ClusterError;
use crate::cluster::desc::ValuesDesc;
use crate::cluster::mail::Source;

/// The new values of the last step, which all plans of a rank share.
#[derive(Clone)]
pub(super) struct Coming(Arc<Mutex<State>>);

struct State {
    way: Passing,
    /// The number of the step.
    step: u64,
    /// The ranks of which not all of it has come.
    missing: BTreeSet<u32>,
    /// Values that the parameters of the programs lack, by piece, with the step of which they are. A rank that computes no shard of a step
    /// does not take what it has got before.
    fresh: BTreeMap<u32, (u64, Bytes)>,
    /// The pieces whose values a shard has taken that is not computed yet.
    taken: BTreeSet<u32>,
    /// Values that whoever reads parameters lacks, by piece.
    unread: BTreeMap<u32, Bytes>,
}

impl Coming {
    pub(super) fn new(way: Passing) -> Self {
        let (missing, taken) = (BTreeSet::new(), BTreeSet::new());
        let (fresh, unread) = (BTreeMap::new(), BTreeMap::new());
        Coming(Arc::new(Mutex::new(State { way, step: 0, missing, fresh, taken, unread })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step: values of all other ranks will come. Those of the step before have to be there.
    pub(super) fn begin(&self) -> Result<(), ClusterError> {
        let mut state = self.state();
        state.take_all()?;
        let (own, size) = (state.way.rank(), state.way.size());
        state.step += 1;
        state.missing = (0..size).filter(|&rank| rank != own).collect();
        Ok(())
    }

    /// Forgets what has come of pieces: whoever needs them gets them otherwise.
    pub(super) fn outdate<'a>(&self, pieces: impl IntoIterator<Item = &'a u32>) {
        let mut state = self.state();
        for piece in pieces {
            state.fresh.remove(piece);
            state.unread.remove(piece);
        }
    }

    /// Gives new values of this rank's pieces to all others.
    pub(super) fn give(&self, values: Bytes, is_last: bool) -> Result<(), ClusterError> {
        let mut state = self.state();
        state.way.update(&values, is_last)?;
        state.learn(values)
    }

    /// Waits for something of each rank of which not all has come, so that no more is on its way than there is room for.
    pub(super) fn take_some(&self) -> Result<(), ClusterError> {
        let mut state = self.state();
        let missing: Vec<_> = state.missing.iter().copied().collect();
        missing.into_iter().try_for_each(|rank| state.take_next(rank))
    }

    /// All that has come since this was last asked for, by piece, and that is still to come.
    pub(super) fn read(&self) -> Result<BTreeMap<u32, Bytes>, ClusterError> {
        let mut state = self.state();
        state.take_all()?;
        Ok(std::mem::take(&mut state.unread))
    }

    /// The parameters of the programs have all values now.
    pub(super) fn forget(&self) {
        self.state().fresh.clear();
    }
}

impl State {
    fn learn(&mut self, values: Bytes) -> Result<(), ClusterError> {
        let values = ValuesDesc::decode(values).map_err(|_| ClusterError::Message { what: "values" })?;
        for piece in values.pieces {
            self.fresh.insert(piece.id, (self.step, piece.value.clone()));
            self.unread.insert(piece.id, piece.value);
        }
        Ok(())
    }

    /// Waits for the next values of a rank.
    fn take_next(&mut self, from: u32) -> Result<(), ClusterError> {
        let (values, is_last) = self.way.updated(from)?;
        if is_last {
            self.missing.remove(&from);
        }
        self.learn(values)
    }

    fn take_all(&mut self) -> Result<(), ClusterError> {
        while let Some(&rank) = self.missing.first() {
            self.take_next(rank)?;
        }
        Ok(())
    }
}

impl Source for Coming {
    fn another(&self) -> Box<dyn Source> {
        Box::new(self.clone())
    }

    /// Waits until the value has come, or it is known that it has not changed.
    fn value(&mut self, from: u32, piece: u32) -> Result<Option<Bytes>, ExchangeError> {
        let mut state = self.state();
        loop {
            let is_all = !state.missing.contains(&from);
            let value = state.fresh.get(&piece).filter(|(step, _)| is_all || *step == state.step);
            if let Some(value) = value.map(|(_, value)| value.clone()) {
                state.taken.insert(piece);
                return Ok(Some(value));
            }
            if is_all {
                return Ok(None);
            }
            let taken = state.take_next(from);
            taken.map_err(|error| ExchangeError::Failed { message: error.to_string() })?;
        }
    }

    fn settle(&mut self) {
        let state = &mut *self.state();
        for piece in std::mem::take(&mut state.taken) {
            state.fresh.remove(&piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use paddle_engines::collective::threads;

    use super::*;
    use crate::cluster::desc::PieceValues;

    fn values(pieces: &[(u32, u8)]) -> Bytes {
        let piece = |&(id, value): &(u32, u8)| PieceValues {
            id,
            value: vec![value].into(),
            ..PieceValues::default()
        };
        ValuesDesc { pieces: pieces.iter().map(piece).collect() }.encode_to_vec().into()
    }

    fn pair() -> [Coming; 2] {
        let mut ranks = threads(2).into_iter().map(|way| Coming::new(Passing::new(Box::new(way))));
        [(); 2].map(|()| ranks.next().unwrap())
    }

    fn one(value: u8) -> Option<Bytes> {
        Some(vec![value].into())
    }

    #[test]
    fn what_needs_a_value_waits_for_it_and_not_for_those_behind_it() {
        let [mut own, other] = pair();
        own.begin().unwrap();
        own.give(values(&[(0, 10)]), true).unwrap();
        other.begin().unwrap();
        other.give(values(&[(3, 13)]), false).unwrap();
        assert_eq!(own.value(1, 3), Ok(one(13)));
        assert_eq!(own.value(0, 0), Ok(one(10)));
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            other.give(values(&[(5, 15)]), true).unwrap();
            other
        });
        assert_eq!(own.value(1, 5), Ok(one(15)));
        // One that has not changed does not come.
        assert_eq!(own.value(1, 7), Ok(None));
        // A shard that fails takes everything again.
        assert_eq!(own.value(1, 3), Ok(one(13)));
        own.settle();
        assert_eq!(own.value(1, 3), Ok(None));
        let read = own.read().unwrap();
        assert_eq!(read.keys().copied().collect::<Vec<_>>(), [0, 3, 5]);
        assert!(own.read().unwrap().is_empty());
        drop(late.join().unwrap());
    }

    #[test]
    fn a_value_of_the_step_before_is_not_taken_for_one_that_is_still_to_come() {
        let [mut own, other] = pair();
        for step in [1, 2] {
            own.begin().unwrap();
            own.give(values(&[]), true).unwrap();
            other.begin().unwrap();
            other.give(values(&[(0, step)]), true).unwrap();
        }
        assert_eq!(own.value(1, 0), Ok(one(2)));
    }

    #[test]
    fn pieces_whose_rows_are_given_later_are_forgotten() {
        let [mut own, other] = pair();
        own.begin().unwrap();
        other.begin().unwrap();
        other.give(values(&[(0, 1), (1, 2)]), true).unwrap();
        own.take_some().unwrap();
        own.outdate(&[0]);
        assert_eq!([own.value(1, 0), own.value(1, 1)], [Ok(None), Ok(one(2))]);
        assert_eq!(own.read().unwrap().keys().copied().collect::<Vec<_>>(), [1]);
    }
}
