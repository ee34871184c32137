//! The ends of passes: repeated collections, and markers by count.

use super::{DataOf, IntoItem, Item, Reader};

/// A finite collection that can be iterated over repeatedly: a slice, a range, a `Vec`, an iterator over one.
pub trait DataSet: IntoIterator + Clone {
    /// Yields the samples `passes` times, each time with a marker at the end. An empty collection has no passes.
    ///
    /// The collection is cloned once per pass. If that is expensive, use a reference to it (`rows.iter()`).
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item};
    ///
    /// let pass = [Item::Data(1), Item::Data(2), Item::EndPass];
    /// assert!([1, 2].passes(2).eq([pass.clone(), pass].concat()));
    /// ```
    fn passes(self, passes: usize) -> Passes<Self> {
        Passes { data: self, samples: None, left: passes }
    }
}

impl<D: IntoIterator + Clone> DataSet for D {}

/// The reader that [`DataSet::passes`] returns.
#[derive(Clone, Debug)]
pub struct Passes<D: IntoIterator> {
    data: D,
    /// The remaining samples of the current pass.
    samples: Option<D::IntoIter>,
    /// The number of passes that have not begun.
    left: usize,
}

impl<D: DataSet> Iterator for Passes<D> {
    type Item = Item<D::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(samples) = &mut self.samples {
            let sample = samples.next();
            if sample.is_none() {
                self.samples = None;
            }
            return Some(sample.map_or(Item::EndPass, Item::Data));
        }
        self.left = self.left.checked_sub(1)?;
        let mut samples = self.data.clone().into_iter();
        let Some(first) = samples.next() else {
            // Otherwise a training would search all of the empty passes for a batch.
            self.left = 0;
            return None;
        };
        self.samples = Some(samples);
        Some(Item::Data(first))
    }
}

/// The reader that [`Reader::end_pass_every`] returns.
#[derive(Clone, Debug)]
pub struct EndPassEvery<I> {
    reader: I,
    count: usize,
    /// The number of samples since the last marker.
    seen: usize,
}

impl<I: Reader> EndPassEvery<I> {
    pub(super) fn new(reader: I, count: usize) -> Self {
        EndPassEvery { reader, count: count.max(1), seen: 0 }
    }
}

impl<I: Reader> Iterator for EndPassEvery<I> {
    type Item = Item<DataOf<I>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.seen == self.count {
            self.seen = 0;
            return Some(Item::EndPass);
        }
        let item = self.reader.next()?.into_item();
        match item {
            Item::Data(_) => self.seen += 1,
            Item::EndPass => self.seen = 0,
            Item::Failed(_) => {}
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass, Failed};

    #[test]
    fn each_pass_ends_with_a_marker() {
        let passes: Vec<_> = [7, 8].passes(2).collect();
        assert_eq!(passes, [Data(7), Data(8), EndPass, Data(7), Data(8), EndPass]);
    }

    #[test]
    fn passes_over_nothing_and_no_passes() {
        let mut nothing = (0..0).passes(usize::MAX);
        assert_eq!((nothing.next(), nothing.next()), (None, None));
        assert_eq!((0..3).passes(0).next(), None);
    }

    #[test]
    fn passes_over_a_slice_an_iterator_and_a_vec() {
        let rows = vec![1, 2];
        assert_eq!(rows[..].passes(1).next(), Some(Data(&1)));
        assert_eq!(rows.iter().map(|x| x * 10).passes(1).nth(1), Some(Data(20)));
        assert_eq!(rows.passes(1).collect::<Vec<_>>(), [Data(1), Data(2), EndPass]);
    }

    #[test]
    fn markers_by_count() {
        let every = |count: usize, items: &[Item<u8>]| -> Vec<_> {
            items.iter().cloned().end_pass_every(count).collect()
        };
        assert_eq!(every(2, &[]), []);
        assert_eq!(every(2, &[Data(1), Data(2), Data(3)]), [Data(1), Data(2), EndPass, Data(3)]);
        assert_eq!(every(2, &[Data(1), Data(2)]), [Data(1), Data(2), EndPass]);
        assert_eq!(every(0, &[Data(1), Data(2)]), [Data(1), EndPass, Data(2), EndPass]);
        let own = [Data(1), EndPass, Data(2), Failed("torn".into()), Data(3), Data(4)];
        let expected = [Data(1), EndPass, Data(2), Failed("torn".into()), Data(3), EndPass, Data(4)];
        assert_eq!(every(2, &own), expected);
    }

    /// The marker comes before the next sample is read, since that may take long.
    #[test]
    fn a_marker_does_not_wait() {
        let mut reader =
            std::iter::once(Data(1)).chain(std::iter::from_fn(|| panic!("read"))).end_pass_every(1);
        assert_eq!((reader.next(), reader.next()), (Some(Data(1)), Some(EndPass)));
    }
}
