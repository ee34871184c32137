//! The first samples of a reader.

use super::{DataOf, IntoItem, Item, Reader};

/// The reader that [`Reader::take_data`] returns.
#[derive(Clone, Debug)]
pub struct TakeData<I> {
    reader: I,
    left: usize,
}

impl<I: Reader> TakeData<I> {
    pub(super) fn new(reader: I, count: usize) -> Self {
        TakeData { reader, left: count }
    }
}

impl<I: Reader> Iterator for TakeData<I> {
    type Item = Item<DataOf<I>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let item = self.reader.next()?.into_item();
        self.left -= usize::from(matches!(item, Item::Data(_)));
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass, Failed};

    #[test]
    fn markers_and_failures_are_not_counted() {
        let items = [EndPass, Data(1), Failed("torn".into()), EndPass, Data(2), EndPass, Data(3)];
        let taken: Vec<_> = items.into_iter().take_data(2).collect();
        assert_eq!(taken, [EndPass, Data(1), Failed("torn".into()), EndPass, Data(2)]);
    }

    #[test]
    fn a_short_reader_and_none() {
        assert_eq!([Data(1)].into_iter().take_data(5).collect::<Vec<_>>(), [Data(1)]);
        let mut unread = std::iter::from_fn(|| -> Option<Item<u8>> { panic!("read") });
        assert_eq!(unread.by_ref().take_data(0).next(), None);
    }

    #[test]
    fn nothing_is_read_behind_the_last() {
        let mut numbers = 1..;
        assert_eq!(numbers.by_ref().map(Data).take_data(3).count(), 3);
        assert_eq!(numbers.next(), Some(4));
    }
}
