//! Pairs of samples from two readers.

use std::error::Error;
use std::fmt;
use std::iter::Fuse;

use super::{DataOf, Failure, IntoItem, Item, Reader};

/// The most samples of the longer reader that are counted after the shorter one has ended. The longer one may be
/// endless.
const COUNTED: usize = 100_000;

/// The reader that [`Reader::compose`] returns.
#[derive(Clone, Debug)]
pub struct Compose<I, J> {
    first: Fuse<I>,
    second: Fuse<J>,
    pass: usize,
    /// The number of pairs of the pass.
    pairs: usize,
    ended: bool,
}

type Pair<I, J> = Item<(DataOf<I>, DataOf<J>)>;

impl<I: Reader, J: Reader> Compose<I, J> {
    pub(super) fn new(first: I, second: J) -> Self {
        Compose { first: first.fuse(), second: second.fuse(), pass: 0, pairs: 0, ended: false }
    }

    /// The next item. Errors if the readers do not end together.
    fn next_pair(&mut self) -> Result<Option<Pair<I, J>>, Failure> {
        let (first, second) = (self.first.next(), self.second.next());
        let pair = match (first.map(IntoItem::into_item), second.map(IntoItem::into_item)) {
            (Some(Item::Failed(failure)), _) | (_, Some(Item::Failed(failure))) => return Err(failure),
            (Some(Item::Data(first)), Some(Item::Data(second))) => {
                self.pairs += 1;
                Item::Data((first, second))
            }
            (Some(Item::Data(_)), _) => {
                let (first, exact) = longer(self.pairs, &mut self.first);
                return Err(LengthsDiffer { pass: self.pass, first, second: self.pairs, exact }.into());
            }
            (_, Some(Item::Data(_))) => {
                let (second, exact) = longer(self.pairs, &mut self.second);
                return Err(LengthsDiffer { pass: self.pass, first: self.pairs, second, exact }.into());
            }
            (None, None) => return Ok(None),
            (Some(Item::EndPass), _) | (_, Some(Item::EndPass)) => {
                self.pass += 1;
                self.pairs = 0;
                Item::EndPass
            }
        };
        Ok(Some(pair))
    }
}

impl<I: Reader, J: Reader> Iterator for Compose<I, J> {
    type Item = Pair<I, J>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.next_pair().unwrap_or_else(|failure| {
            // The readers are out of step.
            self.ended = true;
            Some(Item::Failed(failure))
        })
    }
}

/// The number of samples of the longer reader in this pass, and whether all were counted. One sample has been read
/// behind the `pairs`.
fn longer(pairs: usize, rest: &mut impl Reader) -> (usize, bool) {
    let is_data = |item: &_| matches!(item, Item::Data(_));
    let more = rest.map(IntoItem::into_item).take_while(is_data).take(COUNTED).count();
    (pairs + 1 + more, more < COUNTED)
}

/// Two composed readers have different numbers of samples in a pass.
///
/// ```
/// use paddle::reader::{DataSet, Item, LengthsDiffer, Reader};
///
/// let last = [1, 2].passes(1).compose([1].passes(1)).last();
/// let Some(Item::Failed(failure)) = last else { panic!("the second has one sample less") };
/// assert!(failure.error().is::<LengthsDiffer>());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthsDiffer {
    /// The pass, counted from 0.
    pub pass: usize,
    /// The number of samples of the first reader.
    pub first: usize,
    /// The number of samples of the second reader.
    pub second: usize,
    /// Whether the samples of the longer reader were counted to the end of the pass. Otherwise it has more.
    pub exact: bool,
}

impl fmt::Display for LengthsDiffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LengthsDiffer { pass, first, second, exact } = *self;
        let more = |length: usize, other: usize| if !exact && length > other { "more than " } else { "" };
        let (first_more, second_more) = (more(first, second), more(second, first));
        write!(
            f,
            "readers that are composed have the same number of samples in each pass, but in pass {pass} the first one \
             has {first_more}{first}, the second one {second_more}{second}"
        )
    }
}

impl Error for LengthsDiffer {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::DataSet;
    use Item::{Data, EndPass, Failed};

    fn differ(first: usize, second: usize, pass: usize, exact: bool) -> Failure {
        LengthsDiffer { pass, first, second, exact }.into()
    }

    #[test]
    fn markers_meet() {
        let composed: Vec<_> = [1, 2].passes(2).compose(["a", "b"].passes(2)).collect();
        let pass = [Data((1, "a")), Data((2, "b")), EndPass];
        assert_eq!(composed, [pass.clone(), pass].concat());
    }

    /// The end of one reader matches a marker of the other.
    #[test]
    fn a_plain_reader_beside_one_with_a_marker() {
        let marked = || [7_u8, 8].passes(1);
        let plain = [1_u8, 2];
        let expected = [Data((7, 1)), Data((8, 2)), EndPass];
        assert_eq!(marked().compose(plain.map(Data)).collect::<Vec<_>>(), expected);
        assert_eq!(plain.map(Data).into_iter().compose(marked()).last(), Some(EndPass));
    }

    #[test]
    fn empty_readers() {
        let none: [Item<u8>; 0] = [];
        assert_eq!(none.clone().into_iter().compose(none.clone()).next(), None);
        let mut reader = none.into_iter().compose([1_u8].passes(1));
        assert_eq!(reader.next(), Some(Failed(differ(0, 1, 0, true))));
        assert_eq!(reader.next(), None);
    }

    #[test]
    fn lengths_that_differ() {
        let first = [Data(1), EndPass, Data(1), Data(2), Data(3), Data(4), EndPass, Data(1)];
        let second = [Data(1), EndPass, Data(1), EndPass];
        let begin = [Data((1, 1)), EndPass, Data((1, 1))];
        let composed: Vec<_> = first.clone().into_iter().compose(second.clone()).collect();
        assert_eq!(composed, [&begin[..], &[Failed(differ(4, 1, 1, true))]].concat());
        let composed: Vec<_> = second.into_iter().compose(first).collect();
        assert_eq!(composed, [&begin[..], &[Failed(differ(1, 4, 1, true))]].concat());
        assert_eq!(
            differ(4, 1, 1, true).to_string(),
            "readers that are composed have the same number of samples in each pass, but in pass 1 the first one has 4, \
             the second one 1"
        );
    }

    #[test]
    fn one_without_end() {
        let endless = std::iter::repeat(Data(0_u8));
        let last = [1_u8, 2].passes(1).compose(endless).last();
        assert_eq!(last, Some(Failed(differ(2, 3 + COUNTED, 0, false))));
        let text = differ(2, 3 + COUNTED, 0, false).to_string();
        assert!(text.ends_with("the first one has 2, the second one more than 100003"), "{text}");
    }

    #[test]
    fn a_failure_ends_both() {
        let first = || [Data(1), Failed("torn".into()), Data(2)].into_iter();
        let second = || [Data(1), Data(2), Data(3)].into_iter();
        assert_eq!(first().compose(second()).collect::<Vec<_>>(), [Data((1, 1)), Failed("torn".into())]);
        assert_eq!(second().compose(first()).collect::<Vec<_>>(), [Data((1, 1)), Failed("torn".into())]);
    }
}
