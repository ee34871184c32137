//! How much of a translation is in those of people.

use std::collections::BTreeMap;

use super::error::same_length;
use super::{Measure, MeasureError, Sequences};

/// BLEU: the geometric mean of the parts of the 1-grams to 4-grams of all translations that are in their references, each at
/// most as often as it is there, times a penalty for translations that are shorter than their references. Papineni and others,
/// "BLEU: a method for automatic evaluation of machine translation", 2002, section 2.3, without smoothing.
///
/// A batch is the translations, and for each reference that every translation has, those of the batch. The value is from 0
/// to 1, and 0 if no n-gram of some length is in a reference.
///
/// ```
/// use paddle::metrics::{Bleu, Measure, Sequences};
///
/// let (said, right): (Sequences, Sequences) = ([[1, 2, 3, 4, 5, 9]].iter().collect(), [[1, 2, 3, 4, 5, 6]].iter().collect());
/// let mut bleu = Bleu::default();
/// bleu.add((said, &[right]))?;
/// assert!((bleu.value() - (5.0_f64 / 6.0 * 4.0 / 5.0 * 3.0 / 4.0 * 2.0 / 3.0).powf(0.25)).abs() < 1e-12);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bleu {
    /// For each length, the n-grams that are in a reference, and all of them.
    found: Vec<(u64, u64)>,
    /// The tokens of translations, and of the reference that is nearest in length to each.
    tokens: (u64, u64),
}

impl Default for Bleu {
    fn default() -> Self {
        Bleu::new(4)
    }
}

impl Bleu {
    /// Counts n-grams of up to `longest` tokens; 4 is usual. 0 counts as 1.
    pub fn new(longest: usize) -> Self {
        Bleu { found: vec![(0, 0); longest.max(1)], tokens: (0, 0) }
    }

    fn add_one(&mut self, said: &[i64], references: &[&[i64]]) {
        for (length, (found, all)) in (1..).zip(&mut self.found) {
            let mut most = BTreeMap::new();
            for reference in references {
                for (gram, count) in grams(reference, length) {
                    let most = most.entry(gram).or_insert(0);
                    *most = count.max(*most);
                }
            }
            for (gram, count) in grams(said, length) {
                *found += count.min(most.get(gram).copied().unwrap_or(0));
                *all += count;
            }
        }
        // Of two that are as near, the shorter one.
        let lengths = references.iter().map(|reference| reference.len());
        let nearest = lengths.min_by_key(|&length| (length.abs_diff(said.len()), length));
        self.tokens.0 += said.len() as u64;
        self.tokens.1 += nearest.unwrap_or(0) as u64;
    }
}

/// How often each n-gram of this length occurs.
fn grams(text: &[i64], length: usize) -> BTreeMap<&[i64], u64> {
    let mut counts = BTreeMap::new();
    text.windows(length).for_each(|gram| *counts.entry(gram).or_insert(0) += 1);
    counts
}

impl Measure for Bleu {
    type Batch<'a> = (Sequences<'a>, &'a [Sequences<'a>]);

    fn add(&mut self, (said, references): Self::Batch<'_>) -> Result<(), MeasureError> {
        references.iter().try_for_each(|right| same_length(said.len(), right.len()))?;
        let references: Vec<Vec<_>> = references.iter().map(|right| right.iter().collect()).collect();
        for (row, said) in said.iter().enumerate() {
            let of_row: Vec<_> = references.iter().map(|right| right[row]).collect();
            self.add_one(said, &of_row);
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        if self.found.len() != other.found.len() {
            return Err(MeasureError::Settings);
        }
        for (own, other) in self.found.iter_mut().zip(&other.found) {
            *own = (own.0 + other.0, own.1 + other.1);
        }
        self.tokens = (self.tokens.0 + other.tokens.0, self.tokens.1 + other.tokens.1);
        Ok(())
    }

    fn value(&self) -> f64 {
        if self.found.iter().any(|&(found, _)| found == 0) {
            return 0.0;
        }
        let logarithms = self.found.iter().map(|&(found, all)| (found as f64 / all as f64).ln());
        let mean = logarithms.sum::<f64>() / self.found.len() as f64;
        let (said, right) = (self.tokens.0 as f64, self.tokens.1 as f64);
        (mean + (1.0 - right / said).min(0.0)).exp()
    }
}
