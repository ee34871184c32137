//! The sequences of a batch.

use std::borrow::Cow;

use ndarray::{ArrayViewD, Axis};

use super::MeasureError;

/// Sequences of whole numbers, such as the words or tags of sentences. [`Outputs::sequences`](crate::Outputs::sequences) gives
/// those of a network; sequences of your own are collected.
///
/// ```
/// use paddle::metrics::Sequences;
///
/// let texts: Sequences = [vec![3, 1, 4], vec![], vec![1, 5]].iter().collect();
/// assert_eq!(texts.len(), 3);
/// assert!(texts.iter().eq([&[3, 1, 4][..], &[], &[1, 5]]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences<'a> {
    tokens: Cow<'a, [i64]>,
    /// The start of each sequence, and at the end the number of tokens.
    offsets: Cow<'a, [usize]>,
}

impl<'a> Sequences<'a> {
    /// Sequences side by side: `offsets` has the start of each, and at the end the number of tokens.
    ///
    /// # Errors
    /// [`MeasureError::Offsets`] if the offsets are not those of such sequences.
    pub fn new(tokens: &'a [i64], offsets: &'a [usize]) -> Result<Self, MeasureError> {
        let (first, last) = (offsets.first().copied(), offsets.last().copied());
        if (first, last) != (Some(0), Some(tokens.len())) || !offsets.is_sorted() {
            return Err(MeasureError::Offsets { tokens: tokens.len() });
        }
        Ok(Sequences { tokens: tokens.into(), offsets: offsets.into() })
    }

    /// The rows of an array as sequences, each up to its first `end`, which is left out. Beam searches give such rows.
    ///
    /// ```
    /// use paddle::metrics::Sequences;
    ///
    /// let rows = ndarray::arr2(&[[7, 8, 0, 0], [9, 0, 7, 0], [1, 2, 3, 4]]);
    /// assert!(Sequences::until(0, rows.view().into_dyn()).iter().eq([&[7, 8][..], &[9], &[1, 2, 3, 4]]));
    /// ```
    pub fn until(end: i64, rows: ArrayViewD<'_, i64>) -> Sequences<'static> {
        let row = |row: ArrayViewD<'_, i64>| {
            row.iter().copied().take_while(|&token| token != end).collect::<Vec<_>>()
        };
        if rows.ndim() == 0 {
            [row(rows)].iter().collect()
        } else {
            rows.axis_iter(Axis(0)).map(row).collect()
        }
    }

    /// The number of sequences.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sequences, one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        self.offsets.windows(2).map(|pair| &self.tokens[pair[0]..pair[1]])
    }

    /// All tokens, side by side.
    pub(super) fn tokens(&self) -> &[i64] {
        &self.tokens
    }
}

impl<T: AsRef<[i64]>> FromIterator<T> for Sequences<'_> {
    fn from_iter<I: IntoIterator<Item = T>>(sequences: I) -> Self {
        let (mut tokens, mut offsets) = (Vec::new(), vec![0]);
        for sequence in sequences {
            tokens.extend_from_slice(sequence.as_ref());
            offsets.push(tokens.len());
        }
        Sequences { tokens: tokens.into(), offsets: offsets.into() }
    }
}
