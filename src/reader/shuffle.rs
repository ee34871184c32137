//! Samples in random order.

use paddle_core::memory::TryGrow;

use super::{IntoItem, Item, Reader};
use crate::random::SplitMix64;

/// The reader that [`Reader::shuffle`] returns.
#[derive(Clone, Debug)]
pub struct Shuffle<I, T> {
    reader: I,
    count: usize,
    seed: u64,
    /// The number of the pass.
    pass: u64,
    random: SplitMix64,
    /// The samples that have been read; once they are shuffled, they are yielded from the back.
    buffer: Vec<T>,
    shuffled: bool,
    /// What follows the samples of the buffer.
    then: Then,
}

/// What follows the samples of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Read,
    EndPass,
    End,
}

impl<I: Reader<Item: IntoItem<Data = T>>, T> Shuffle<I, T> {
    pub(super) fn new(reader: I, count: usize) -> Self {
        let random = random(0, 0);
        let count = count.max(1);
        Shuffle {
            reader,
            count,
            seed: 0,
            pass: 0,
            random,
            buffer: Vec::new(),
            shuffled: false,
            then: Then::Read,
        }
    }

    /// Sets the seed. The default is 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.random = random(seed, self.pass);
        self
    }

    /// Shuffles the buffer. Every order is equally likely (Fisher and Yates).
    fn shuffle(&mut self) {
        for end in (2..=self.buffer.len()).rev() {
            self.buffer.swap(end - 1, self.random.below(end as u64) as usize);
        }
        self.shuffled = true;
    }
}

/// The random numbers of a pass. Seed and pass are mixed first; otherwise the numbers of one pass would appear,
/// shifted, in another.
fn random(seed: u64, pass: u64) -> SplitMix64 {
    SplitMix64::new(SplitMix64::new(seed).bits() ^ SplitMix64::new(!pass).bits())
}

impl<I: Reader<Item: IntoItem<Data = T>>, T> Iterator for Shuffle<I, T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.shuffled {
                if let Some(sample) = self.buffer.pop() {
                    return Some(Item::Data(sample));
                }
                self.shuffled = false;
            }
            match self.then {
                Then::Read => {}
                Then::EndPass => {
                    self.then = Then::Read;
                    self.pass += 1;
                    self.random = random(self.seed, self.pass);
                    return Some(Item::EndPass);
                }
                Then::End => return None,
            }
            while self.buffer.len() < self.count && self.then == Then::Read {
                // Memory is reserved before a sample is read, so a failure loses no sample.
                if let Err(error) = self.buffer.try_grow(1) {
                    return Some(Item::Failed(error.wanted_for("the samples that are shuffled").into()));
                }
                match self.reader.next().map(IntoItem::into_item) {
                    Some(Item::Data(sample)) => self.buffer.push(sample),
                    Some(Item::Failed(failure)) => return Some(Item::Failed(failure)),
                    Some(Item::EndPass) => self.then = Then::EndPass,
                    None => self.then = Then::End,
                }
            }
            self.shuffle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::DataSet;
    use Item::{Data, EndPass, Failed};

    /// The samples of each pass.
    fn passes(items: impl IntoIterator<Item = Item<u8>>) -> Vec<Vec<u8>> {
        let mut passes = vec![Vec::new()];
        for item in items {
            match item {
                Data(sample) => passes.last_mut().unwrap().push(sample),
                EndPass => passes.push(Vec::new()),
                Failed(failure) => panic!("{failure}"),
            }
        }
        passes
    }

    fn sorted(mut samples: Vec<u8>) -> Vec<u8> {
        samples.sort();
        samples
    }

    #[test]
    fn each_pass_has_its_samples_in_an_order_of_its_own() {
        let reader = (0..50_u8).passes(3).shuffle(usize::MAX);
        let all = passes(reader.clone());
        assert_eq!(all.len(), 4);
        for pass in &all[..3] {
            assert_eq!(sorted(pass.clone()), (0..50).collect::<Vec<_>>());
            assert_ne!(*pass, (0..50).collect::<Vec<_>>());
        }
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        assert_eq!(all, passes(reader.clone()));
        assert_eq!(all, passes(reader.clone().seed(0)));
        assert_ne!(all[0], passes(reader.seed(1))[0]);
    }

    /// The order does not depend on earlier passes, so a resumed training sees the same order.
    #[test]
    fn the_order_is_that_of_the_pass() {
        let whole = passes((0..50_u8).passes(2).shuffle(8));
        let short = passes([Data(7), EndPass].into_iter().chain((0..50).map(Data)).shuffle(8));
        assert_eq!(whole[1], short[1]);
    }

    #[test]
    fn a_buffer_at_a_time() {
        let pass = &passes((0..10_u8).map(Data).shuffle(4))[0];
        assert_eq!(sorted(pass[..4].to_vec()), [0, 1, 2, 3]);
        assert_eq!(sorted(pass[4..8].to_vec()), [4, 5, 6, 7]);
        assert_eq!(sorted(pass[8..].to_vec()), [8, 9]);
        assert_eq!(passes([1, 2, 3].map(Data).into_iter().shuffle(0)), [[1, 2, 3]]);
    }

    #[test]
    fn every_marker_passes() {
        let items = [EndPass, Data(1), EndPass, EndPass];
        assert_eq!(items.clone().into_iter().shuffle(9).collect::<Vec<_>>(), items);
        assert_eq!(Vec::<Item<u8>>::new().into_iter().shuffle(9).next(), None);
    }

    #[test]
    fn a_failure_passes_and_loses_nothing() {
        let items = [Data(1), Failed("torn".into()), Data(1)];
        let shuffled: Vec<_> = items.into_iter().shuffle(9).collect();
        assert_eq!(shuffled, [Failed("torn".into()), Data(1), Data(1)]);
    }

    /// All orders of three samples are about equally frequent.
    #[test]
    fn no_order_is_likelier() {
        let mut counts = std::collections::BTreeMap::new();
        for pass in &passes((0..3_u8).passes(6000).shuffle(3))[..6000] {
            *counts.entry(pass.clone()).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&count: &i32| (count - 1000).abs() < 150), "{counts:?}");
    }
}
