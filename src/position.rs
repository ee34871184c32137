//! Where a training is within what its reader yields.

use crate::metrics::Mean;
use crate::reader::{Failure, IntoItem, Item};

/// Where a training is within what its reader yields: what [`resume`](crate::train_loop::resume) goes on from.
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
