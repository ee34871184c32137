//! Counts of classes: accuracy, precision, recall, F1.

use ndarray::{Array2, ArrayViewD};

use super::error::{class, same_length};
use super::{Measure, MeasureError};

/// How often each class was predicted for each class: the confusion matrix, and what follows from it.
///
/// A batch is the predicted classes of its rows, and the right ones. The value is the accuracy. A quotient without anything to
/// divide by, as the precision of a class that was never predicted, is 0.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use paddle::metrics::{Average, Confusion, Measure};
///
/// let mut classes = Confusion::new(2);
/// classes.add((arr1(&[0, 1, 1, 1]).view().into_dyn(), arr1(&[0, 0, 1, 1]).view().into_dyn()))?;
/// assert_eq!(classes.matrix(), arr2(&[[1, 1], [0, 2]]));
/// assert_eq!((classes.value(), classes.f1(Average::Class(1))), (0.75, 0.8));
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    /// By right class, then by predicted class.
    counts: Array2<u64>,
}

/// Over which classes a value is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Of one class. With two classes, `Class(1)` is what is called binary.
    Class(usize),
    /// The mean over all classes, each with the same weight. It includes those that do not occur.
    Macro,
    /// Over the rows of all classes together. Precision, recall and F1 are the accuracy then.
    Micro,
}

/// Of some classes: how often each was predicted and right, was predicted, and was right.
struct Counts {
    both: u64,
    predicted: u64,
    right: u64,
}

fn quotient(dividend: u64, divisor: u64) -> f64 {
    if divisor == 0 { 0.0 } else { dividend as f64 / divisor as f64 }
}

impl Confusion {
    /// Counts this many classes.
    pub fn new(classes: usize) -> Self {
        Confusion { counts: Array2::zeros((classes, classes)) }
    }

    /// The counts: a row for each right class, a column for each predicted one.
    pub fn matrix(&self) -> &Array2<u64> {
        &self.counts
    }

    /// Of all rows, the part whose class was predicted.
    pub fn accuracy(&self) -> f64 {
        quotient(self.counts.diag().sum(), self.counts.sum())
    }

    /// Of the rows for which a class was predicted, the part that has it. 0 for a class that there is not.
    pub fn precision(&self, average: Average) -> f64 {
        self.over(average, |counts| quotient(counts.both, counts.predicted))
    }

    /// Of the rows that have a class, the part for which it was predicted.
    pub fn recall(&self, average: Average) -> f64 {
        self.over(average, |counts| quotient(counts.both, counts.right))
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self, average: Average) -> f64 {
        self.over(average, |counts| quotient(2 * counts.both, counts.predicted + counts.right))
    }

    fn of(&self, class: usize) -> Counts {
        let counts = &self.counts;
        Counts {
            both: counts[[class, class]],
            predicted: counts.column(class).sum(),
            right: counts.row(class).sum(),
        }
    }

    fn over(&self, average: Average, of: impl Fn(Counts) -> f64) -> f64 {
        let classes = self.counts.nrows();
        match average {
            Average::Class(class) if class < classes => of(self.of(class)),
            Average::Class(_) => 0.0,
            Average::Macro => {
                (0..classes).map(|class| of(self.of(class))).sum::<f64>() / classes.max(1) as f64
            }
            Average::Micro => {
                let rows = self.counts.sum();
                of(Counts { both: self.counts.diag().sum(), predicted: rows, right: rows })
            }
        }
    }
}

impl Measure for Confusion {
    type Batch<'a> = (ArrayViewD<'a, i64>, ArrayViewD<'a, i64>);

    fn add(&mut self, (predicted, right): Self::Batch<'_>) -> Result<(), MeasureError> {
        same_length(predicted.len(), right.len())?;
        let classes = self.counts.nrows();
        let places = predicted.iter().zip(&right).enumerate();
        let places = places.map(|(row, (&predicted, &right))| {
            Ok([class(row, right, classes)?, class(row, predicted, classes)?])
        });
        for place in places.collect::<Result<Vec<_>, MeasureError>>()? {
            self.counts[place] += 1;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        if self.counts.dim() != other.counts.dim() {
            return Err(MeasureError::Settings);
        }
        self.counts += &other.counts;
        Ok(())
    }

    fn value(&self) -> f64 {
        self.accuracy()
    }
}
