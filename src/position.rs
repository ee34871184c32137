//! The position of a training within its reader.

use crate::metrics::{Mean, Metric};
use crate::reader::{Failure, IntoItem, Item};

/// The position of a training within its reader, from which [`resume`](crate::train_loop::resume) continues.
///
/// [`resume`](crate::train_loop::resume) has an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// The number of the reader's first pass.
    pub(crate) first: usize,
    /// The number of the running pass, or of the next one.
    pub(crate) pass: usize,
    /// The number of batches of that pass that were trained on; 0 before it begins.
    pub(crate) batches: usize,
    /// The mean cost of these batches, and the mean metrics.
    pub(crate) means: Vec<Mean>,
}

impl Position {
    /// The position before the first batch of a reader whose first pass has the number `pass`.
    pub fn before(pass: usize) -> Self {
        Position { first: pass, pass, ..Position::default() }
    }

    /// The number of the running pass, or of the next one.
    pub fn pass(&self) -> usize {
        self.pass
    }

    /// The number of batches of that pass that were trained on; 0 before it begins.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// The rows of these batches.
    #[cfg(feature = "cluster")]
    pub(crate) fn rows(&self) -> u64 {
        let mean = self.means.first().filter(|_| self.batches > 0);
        mean.map_or(0, |cost| cost.parts()[1] as u64)
    }

    /// Goes behind a batch, with its cost and its metrics.
    pub(crate) fn advance(&mut self, cost: Metric, metrics: impl Iterator<Item = Metric>) {
        if self.batches == 0 {
            self.means.fill(Mean::default());
        }
        self.batches += 1;
        self.means
            .iter_mut()
            .zip(std::iter::once(cost).chain(metrics))
            .for_each(|(mean, metric)| mean.add(metric));
    }

    /// Skips the items in front of the position. Errors with a failure of the reader, or if the reader is not the same
    /// as before.
    pub(crate) fn skip<T>(&self, items: &mut impl Iterator<Item: IntoItem<Data = T>>) -> Result<(), Failure> {
        let (mut pass, mut batches) = (self.first, 0);
        while (pass, batches) != (self.pass, self.batches) {
            match items.next().map(IntoItem::into_item) {
                Some(Item::Data(_)) => batches += 1,
                Some(Item::Failed(failure)) => return Err(failure),
                Some(Item::EndPass) if batches == 0 => {}
                Some(Item::EndPass) if pass < self.pass => (pass, batches) = (pass + 1, 0),
                // The end of a reader also ends a pass.
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

    /// The items left when a reader is skipped to a position, or the error.
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
