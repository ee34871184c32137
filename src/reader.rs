//! Readers: iterators of samples or batches, with markers where a pass ends.
//!
//! Any iterator of samples is a reader. One that knows passes yields [`Item`]s: samples, and a marker after
//! each pass. Adapters take both kinds, and let every marker through.
//!
//! ```
//! use paddle::reader::{DataSet, Item, Reader};
//!
//! let mut reader = ["a", "b", "c"].passes(2).batch(2);
//! for _pass in 0..2 {
//!     assert_eq!(reader.next(), Some(Item::Data(vec!["a", "b"])));
//!     assert_eq!(reader.next(), Some(Item::Data(vec!["c"])));
//!     assert_eq!(reader.next(), Some(Item::EndPass));
//! }
//! assert_eq!(reader.next(), None);
//! ```

use std::iter::Fuse;

/// What a reader yields: data, or the marker that ends a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<T> {
    /// A sample or a batch.
    Data(T),
    /// The pass ends here.
    EndPass,
}

/// What may come out of a reader: an [`Item`], or plain data, which is an item without a marker.
///
/// A network's rows implement it, as do batches (`Vec`, [`Batch`](crate::Batch)) and references.
pub trait IntoItem {
    /// The sample or the batch.
    type Data;

    /// The same as an [`Item`].
    fn into_item(self) -> Item<Self::Data>;
}

impl<T> IntoItem for Item<T> {
    type Data = T;

    fn into_item(self) -> Item<T> {
        self
    }
}

impl<T> IntoItem for Vec<T> {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

impl<T: ?Sized> IntoItem for &T {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

/// The adapters of readers.
pub trait Reader: Iterator<Item: IntoItem> + Sized {
    /// Groups samples into batches of `size` (0 counts as 1).
    ///
    /// The last batch before a marker, and before the reader's end, may be smaller; none is empty.
    ///
    /// ```
    /// use paddle::reader::{Item, Reader};
    ///
    /// let mut reader = [1, 2, 3].iter().batch(2);
    /// assert_eq!(reader.next(), Some(Item::Data(vec![&1, &2])));
    /// assert_eq!(reader.next(), Some(Item::Data(vec![&3])));
    /// assert_eq!(reader.next(), None);
    /// ```
    fn batch(self, size: usize) -> Batches<Self> {
        Batches { reader: self.fuse(), size: size.max(1), marker: false }
    }
}

impl<I: Iterator<Item: IntoItem>> Reader for I {}

/// The reader that [`Reader::batch`] returns.
#[derive(Clone, Debug)]
pub struct Batches<I> {
    reader: Fuse<I>,
    size: usize,
    /// A marker was read that is to follow the batch it cut short.
    marker: bool,
}

impl<I: Reader> Iterator for Batches<I> {
    type Item = Item<Vec<<I::Item as IntoItem>::Data>>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.marker) {
            return Some(Item::EndPass);
        }
        let mut batch = Vec::new();
        while batch.len() < self.size {
            match self.reader.next().map(IntoItem::into_item) {
                Some(Item::Data(sample)) => batch.push(sample),
                Some(Item::EndPass) if batch.is_empty() => return Some(Item::EndPass),
                Some(Item::EndPass) => {
                    self.marker = true;
                    break;
                }
                None => break,
            }
        }
        (!batch.is_empty()).then_some(Item::Data(batch))
    }
}

/// A finite collection that can be gone through again: a slice, a range, a `Vec`, an iterator over one.
pub trait DataSet: IntoIterator + Clone {
    /// Yields the samples `passes` times, each time with a marker after the last.
    ///
    /// The collection is cloned once per pass; clone a reference to it (`rows.iter()`) where that matters.
    fn passes(self, passes: usize) -> Passes<Self> {
        Passes { data: self, samples: None, left: passes }
    }
}

impl<D: IntoIterator + Clone> DataSet for D {}

/// The reader that [`DataSet::passes`] returns.
#[derive(Clone, Debug)]
pub struct Passes<D: IntoIterator> {
    data: D,
    /// What the current pass has yet to yield.
    samples: Option<D::IntoIter>,
    /// The passes yet to begin.
    left: usize,
}

impl<D: DataSet> Iterator for Passes<D> {
    type Item = Item<D::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.samples.is_none() {
            self.left = self.left.checked_sub(1)?;
        }
        let samples = self.samples.get_or_insert_with(|| self.data.clone().into_iter());
        match samples.next() {
            Some(sample) => Some(Item::Data(sample)),
            None => {
                self.samples = None;
                Some(Item::EndPass)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass};

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

    #[test]
    fn each_pass_ends_with_a_marker() {
        let passes: Vec<_> = [7, 8].passes(2).collect();
        assert_eq!(passes, [Data(7), Data(8), EndPass, Data(7), Data(8), EndPass]);
    }

    #[test]
    fn passes_over_nothing_and_no_passes() {
        assert_eq!((0..0).passes(2).collect::<Vec<_>>(), [EndPass, EndPass]);
        assert_eq!((0..3).passes(0).next(), None);
    }

    #[test]
    fn passes_over_a_slice_an_iterator_and_a_vec() {
        let rows = vec![1, 2];
        assert_eq!(rows[..].passes(1).next(), Some(Data(&1)));
        assert_eq!(rows.iter().map(|x| x * 10).passes(1).nth(1), Some(Data(20)));
        assert_eq!(rows.passes(1).collect::<Vec<_>>(), [Data(1), Data(2), EndPass]);
    }
}
