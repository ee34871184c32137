//! Repeated passes over a reader that can be read only once.

use paddle_core::memory::TryGrow;

use super::{IntoItem, Item, Reader};

/// The reader that [`Reader::cache`] returns.
#[derive(Clone, Debug)]
pub struct Cache<I, T> {
    /// The reader, until it has ended.
    reader: Option<I>,
    /// The items that it has yielded; once it has ended, the last one is a marker.
    kept: Vec<Item<T>>,
    /// The index of the next item of `kept`.
    at: usize,
    /// The number of passes that have not ended.
    left: usize,
}

impl<I: Reader<Item: IntoItem<Data = T>>, T> Cache<I, T> {
    pub(super) fn new(reader: I, passes: usize) -> Self {
        Cache { reader: Some(reader), kept: Vec::new(), at: 0, left: passes }
    }

    /// The reader has ended, and so has the first pass.
    fn end_reading(&mut self) {
        self.reader = None;
        if !self.kept.iter().any(|item| matches!(item, Item::Data(_))) {
            // Otherwise a training would search all of the empty passes for a batch.
            self.left = 0;
        } else if matches!(self.kept.last(), Some(Item::EndPass)) {
            self.end_pass();
        } else {
            self.kept.push(Item::EndPass);
        }
    }

    fn end_pass(&mut self) {
        self.at = 0;
        self.left -= 1;
    }
}

impl<I: Reader<Item: IntoItem<Data = T>>, T: Clone> Iterator for Cache<I, T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left > 0
            && let Some(reader) = &mut self.reader
        {
            // Memory for an item and the last marker is reserved before the item is read, so a failure loses nothing.
            if let Err(error) = self.kept.try_grow(2) {
                return Some(Item::Failed(error.wanted_for("the samples that are kept").into()));
            }
            match reader.next().map(IntoItem::into_item) {
                Some(Item::Failed(failure)) => return Some(Item::Failed(failure)),
                Some(item) => self.kept.push(item),
                None => self.end_reading(),
            }
        }
        if self.left == 0 {
            return None;
        }
        let item = self.kept[self.at].clone();
        self.at += 1;
        if self.reader.is_none() && self.at == self.kept.len() {
            self.end_pass();
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass, Failed};

    fn cached(items: &[Item<u8>], passes: usize) -> Vec<Item<u8>> {
        items.iter().cloned().cache(passes).collect()
    }

    #[test]
    fn the_end_of_the_reader_ends_the_pass() {
        let pass = [Data(1), Data(2), EndPass];
        assert_eq!(cached(&pass[..2], 3), [&pass[..], &pass, &pass].concat());
        assert_eq!(cached(&pass, 2), [&pass[..], &pass].concat());
        assert_eq!(cached(&pass, 1), pass);
    }

    #[test]
    fn markers_are_kept() {
        let items = [EndPass, Data(1), EndPass, Data(2)];
        assert_eq!(cached(&items, 2), [&items[..], &[EndPass], &items, &[EndPass]].concat());
    }

    #[test]
    fn nothing_has_no_passes() {
        assert_eq!(cached(&[], usize::MAX), []);
        assert_eq!(cached(&[EndPass], usize::MAX), [EndPass]);
        let mut unread = std::iter::from_fn(|| -> Option<Item<u8>> { panic!("read") }).cache(0);
        assert_eq!(unread.next(), None);
    }

    #[test]
    fn failures_pass_and_are_not_kept() {
        let items = [Data(1), Failed("torn".into()), Data(2)];
        let expected = [Data(1), Failed("torn".into()), Data(2), EndPass, Data(1), Data(2), EndPass];
        assert_eq!(cached(&items, 2), expected);
    }

    #[test]
    fn the_reader_is_read_once() {
        let mut left = 3;
        let reader = std::iter::from_fn(|| {
            left = i32::checked_sub(left, 1).filter(|&left| left >= 0).expect("read behind its end");
            (left > 0).then_some(Data(left))
        });
        let expected = [Data(2), Data(1), EndPass, Data(2), Data(1), EndPass];
        assert!(reader.cache(2).eq(expected));
    }
}
