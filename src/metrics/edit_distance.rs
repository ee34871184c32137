//! How many edits make a sequence the right one.

use super::error::same_length;
use super::{Measure, MeasureError, Sequences};

/// The least number of tokens that have to be inserted, removed or replaced to make each sequence the right one, divided by the
/// number of tokens of the right ones: the error rate of words or letters. Levenshtein, "Binary codes capable of correcting
/// deletions, insertions, and reversals", 1966.
///
/// A batch is the sequences that were predicted, and the right ones. It is 0 before the first token.
///
/// ```
/// use paddle::metrics::{EditDistance, Measure};
///
/// let mut distance = EditDistance::default();
/// distance.add(([[1, 2, 4], [7, 8, 9]].iter().collect(), [vec![1, 2, 3, 4], vec![7, 8, 9]].iter().collect()))?;
/// assert_eq!((distance.edits(), distance.value(), distance.wrong()), (1, 1.0 / 7.0, 0.5));
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EditDistance {
    edits: u64,
    /// Of the right sequences.
    tokens: u64,
    wrong: u64,
    sequences: u64,
}

impl EditDistance {
    /// The number of edits.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// The part of the sequences that needs an edit; 0 before the first one.
    pub fn wrong(&self) -> f64 {
        self.wrong as f64 / self.sequences.max(1) as f64
    }
}

/// The distance, row by row of the table: `costs[k]` is that of the tokens so far from the first `k` right ones.
fn distance(predicted: &[i64], right: &[i64]) -> u64 {
    let mut costs: Vec<u64> = (0..=right.len() as u64).collect();
    for token in predicted {
        let mut diagonal = costs[0];
        costs[0] += 1;
        for (k, expected) in right.iter().enumerate() {
            let replaced = diagonal + u64::from(token != expected);
            diagonal = costs[k + 1];
            costs[k + 1] = replaced.min(costs[k] + 1).min(diagonal + 1);
        }
    }
    costs[right.len()]
}

impl Measure for EditDistance {
    type Batch<'a> = (Sequences<'a>, Sequences<'a>);

    fn add(&mut self, (predicted, right): Self::Batch<'_>) -> Result<(), MeasureError> {
        same_length(predicted.len(), right.len())?;
        for (predicted, right) in predicted.iter().zip(right.iter()) {
            let edits = distance(predicted, right);
            self.edits += edits;
            self.tokens += right.len() as u64;
            self.wrong += u64::from(edits > 0);
            self.sequences += 1;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        self.edits += other.edits;
        self.tokens += other.tokens;
        self.wrong += other.wrong;
        self.sequences += other.sequences;
        Ok(())
    }

    fn value(&self) -> f64 {
        self.edits as f64 / self.tokens.max(1) as f64
    }
}
