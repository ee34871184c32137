//! Batches of samples.

use std::iter::Fuse;
use std::mem;

use paddle_core::memory::TryGrow;

use super::{IntoItem, Item, Reader};

/// The reader that [`Reader::batch`] returns.
#[derive(Clone, Debug)]
pub struct Batches<I, T> {
    reader: Fuse<I>,
    size: usize,
    /// The batch that is being filled.
    batch: Vec<T>,
    /// Whether a marker has to follow the incomplete batch that it ended.
    marker: bool,
}

impl<I: Reader<Item: IntoItem<Data = T>>, T> Batches<I, T> {
    pub(super) fn new(reader: I, size: usize) -> Self {
        Batches { reader: reader.fuse(), size: size.max(1), batch: Vec::new(), marker: false }
    }
}

impl<I: Reader<Item: IntoItem<Data = T>>, T> Iterator for Batches<I, T> {
    type Item = Item<Vec<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        if mem::take(&mut self.marker) {
            return Some(Item::EndPass);
        }
        while self.batch.len() < self.size {
            // Memory is reserved before a sample is read, so a failure loses no sample.
            if let Err(error) = self.batch.try_grow(1) {
                return Some(Item::Failed(error.wanted_for("the samples of a batch").into()));
            }
            match self.reader.next().map(IntoItem::into_item) {
                Some(Item::Data(sample)) => self.batch.push(sample),
                Some(Item::EndPass) if self.batch.is_empty() => return Some(Item::EndPass),
                Some(Item::EndPass) => {
                    self.marker = true;
                    break;
                }
                Some(Item::Failed(failure)) => return Some(Item::Failed(failure)),
                None => break,
            }
        }
        (!self.batch.is_empty()).then(|| Item::Data(mem::take(&mut self.batch)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass, Failed};

    fn batches(reader: impl IntoIterator<Item = Item<u8>>, size: usize) -> Vec<Item<Vec<u8>>> {
        reader.into_iter().batch(size).collect()
    }

    #[test]
    fn the_last_batch_is_kept() {
        let reader = (1..=5).map(Data);
        assert_eq!(batches(reader, 2), [Data(vec![1, 2]), Data(vec![3, 4]), Data(vec![5])]);
    }

    #[test]
    fn a_full_last_batch_is_not_followed_by_an_empty_one() {
        assert_eq!(batches((1..=4).map(Data), 2), [Data(vec![1, 2]), Data(vec![3, 4])]);
        assert_eq!(batches([], 2), []);
    }

    #[test]
    fn a_marker_flushes_and_passes_on() {
        let reader = [Data(1), Data(2), Data(3), EndPass, Data(4), Data(5), EndPass];
        let expected = [Data(vec![1, 2]), Data(vec![3]), EndPass, Data(vec![4, 5]), EndPass];
        assert_eq!(batches(reader, 2), expected);
    }

    #[test]
    fn every_marker_passes() {
        let reader = [EndPass, Data(1), EndPass, EndPass];
        assert_eq!(batches(reader, 2), [EndPass, Data(vec![1]), EndPass, EndPass]);
    }

    /// A failure passes at once, and samples read before it are kept.
    #[test]
    fn a_failure_passes() {
        let reader = [Data(1), Failed("torn".into()), Data(2), Data(3)];
        assert_eq!(batches(reader, 2), [Failed("torn".into()), Data(vec![1, 2]), Data(vec![3])]);
    }

    #[test]
    fn batches_of_extreme_sizes() {
        assert_eq!(batches([Data(1), Data(2)], 0), [Data(vec![1]), Data(vec![2])]);
        assert_eq!(batches([Data(1), Data(2)], usize::MAX), [Data(vec![1, 2])]);
    }

    #[test]
    fn a_reader_that_has_ended_is_not_asked_again() {
        let mut yields = [Some(Data(1)), None, Some(Data(2))].into_iter();
        let mut reader = std::iter::from_fn(move || yields.next()?).batch(2);
        assert_eq!(reader.next(), Some(Data(vec![1])));
        assert_eq!(reader.next(), None);
        assert_eq!(reader.next(), None);
    }
}
