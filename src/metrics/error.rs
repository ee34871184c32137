//! Why a batch cannot be counted.

use std::error::Error;
use std::fmt;

/// The reason why a batch cannot be added to a measure. Rows and sequences count from 0.
///
/// ```
/// use paddle::metrics::{Confusion, Measure, MeasureError};
///
/// let mut classes = Confusion::new(3);
/// let error = classes.add((ndarray::arr1(&[0, 1]).view().into_dyn(), ndarray::arr1(&[0, 3]).view().into_dyn())).unwrap_err();
/// assert_eq!(error, MeasureError::Class { row: 1, found: 3, classes: 3 });
/// assert_eq!(error.to_string(), "row 1: found class 3, expected one of 3, from 0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MeasureError {
    /// There are not as many predictions as there is what is right.
    Lengths {
        /// The number of predictions.
        predicted: usize,
        /// The number of what is right.
        right: usize,
    },
    /// A class is none of the classes.
    Class {
        /// The row or, of tokens, the number among all tokens of the batch.
        row: usize,
        /// The class.
        found: i64,
        /// The number of classes.
        classes: usize,
    },
    /// A number is NaN or infinite.
    NotFinite {
        /// The row.
        row: usize,
        /// The number.
        found: f32,
    },
    /// Offsets are not those of sequences of these tokens: they do not begin with 0, fall, or do not end with the number of
    /// tokens.
    Offsets {
        /// The number of tokens.
        tokens: usize,
    },
    /// Measures that are to be merged have other settings.
    Settings,
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { predicted, right } => {
                write!(f, "found {predicted} predictions, expected {right}, as there is what is right")
            }
            Self::Class { row, found, classes } => {
                write!(f, "row {row}: found class {found}, expected one of {classes}, from 0")
            }
            Self::NotFinite { row, found } => write!(f, "row {row}: found {found}, expected a finite number"),
            Self::Offsets { tokens } => {
                write!(f, "the offsets are not those of sequences of {tokens} tokens in all")
            }
            Self::Settings => f.write_str("measures with other settings cannot be merged"),
        }
    }
}

impl Error for MeasureError {}

/// Errors unless there are as many predictions as there is what is right.
pub(super) fn same_length(predicted: usize, right: usize) -> Result<(), MeasureError> {
    if predicted == right { Ok(()) } else { Err(MeasureError::Lengths { predicted, right }) }
}

/// A class as an index. Errors if it is none of `classes` classes.
pub(super) fn class(row: usize, found: i64, classes: usize) -> Result<usize, MeasureError> {
    let index = usize::try_from(found).ok().filter(|&index| index < classes);
    index.ok_or(MeasureError::Class { row, found, classes })
}

/// Errors unless the number is finite.
pub(super) fn finite(row: usize, found: f32) -> Result<(), MeasureError> {
    if found.is_finite() { Ok(()) } else { Err(MeasureError::NotFinite { row, found }) }
}
