//! Where a training is within what its reader yields.

use crate::metrics::Mean;
use crate::reader::{Failure, IntoItem, Item};

/// Where a training is within what its reader yields: what [`resume`](crate::train_loop::resume) goes on from.
///
/// [`resume`](crate::train_loop::resume) has an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// The number of the pass that the reader began with.
    pub(crate) first: usize,
    /// The number of the pass that is running, or comes next.
    pub(crate) pass: usize,
    /// The batches of that pass that were trained on; 0 before it begins.
    pub(crate) batches: usize,
    /// The cost over these batches, and the metrics.
    pub(crate) means: Vec<Mean>,
}

impl Position {
    /// Before the first batch of a reader, whose passes are numbered from this one on.
    pub fn before(pass: usize) -> Self {
        Position { first: pass, pass, ..Position::default() }
    }

    /// The number of the pass that is running, or comes next.
    pub fn pass(&self) -> usize {
        self.pass
    }

    /// The batches of that pass that were trained on; 0 before it begins.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// Reads what was read before. A failure is that of the reader, or says that it is not the reader that it was.
    pub(crate) fn skip<T>(&self, items: &mut impl Iterator<Item: IntoItem<Data = T>>) -> Result<(), Failure> {
        let (mut pass, mut batches) = (self.first, 0);
        while (pass, batches) != (self.pass, self.batches) {
            match items.next().map(IntoItem::into_item) {
                Some(Item::Data(_)) => batches += 1,
                Some(Item::Failed(failure)) => return Err(failure),
                Some(Item::EndPass) if batches == 0 => {}
                Some(Item::EndPass) if pass < self.pass => (pass, batches) = (pass + 1, 0),
                // The end of a reader ends a pass, too.
                None if batches > 0 && (pass + 1, 0) == (self.pass, self.batches) => return Ok(()),
                Some(Item::EndPass) | None => {
                    let (of, at) = (self.batches, self.pass);
                    let shorter = format!(
                        "pass {pass} has {batches} batches, but the training was at batch {of} of pass {at}; a \
                         training that is resumed needs the reader that it had"
                    );
                    return Err(shorter.into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass};

    /// What is left of a reader at a position, or what is said of it.
    fn left(items: &[Item<u8>], pass: usize, batches: usize) -> Result<Vec<Item<u8>>, String> {
        let position = Position { first: 3, pass: 3 + pass, batches, means: Vec::new() };
        let mut items = items.iter().cloned();
        position.skip(&mut items).map_err(|failure| failure.to_string())?;
        Ok(items.collect())
    }

    #[test]
    fn passes_and_batches_are_read_again() {
        let reader = [EndPass, Data(1), Data(2), EndPass, EndPass, Data(3), Data(4)];
        assert_eq!(left(&reader, 0, 0).unwrap(), reader);
        assert_eq!(left(&reader, 0, 1).unwrap(), reader[2..]);
        assert_eq!(left(&reader, 0, 2).unwrap(), reader[3..]);
        assert_eq!(left(&reader, 1, 0).unwrap(), reader[4..]);
        assert_eq!(left(&reader, 1, 1).unwrap(), reader[6..]);
        assert_eq!(left(&reader, 1, 2).unwrap(), []);
        // The second pass ended with the reader.
        assert_eq!(left(&reader, 2, 0).unwrap(), []);
    }

    #[test]
    fn a_reader_with_less_is_another_one() {
        let reader = [Data(1), Data(2), EndPass, Data(3)];
        for (pass, batches) in [(0, 3), (1, 2), (2, 1), (3, 0)] {
            let message = left(&reader, pass, batches).unwrap_err();
            assert!(message.contains("needs the reader that it had"), "{message}");
        }
        let failing = [Data(1), Item::Failed("the disk is gone".into()), Data(2)];
        assert_eq!(left(&failing, 0, 2), Err("the disk is gone".to_string()));
        assert_eq!(left(&[], 0, 1).map_err(|_| ()), Err(()));
    }
}
