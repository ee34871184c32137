//! How far numbers are from the right ones.

use ndarray::ArrayViewD;

use super::error::{finite, same_length};
use super::{Measure, MeasureError};

/// Calls `each` with each number, and the right one. Errors before the first call if one is not finite.
fn for_each(
    (predicted, right): (ArrayViewD<'_, f32>, ArrayViewD<'_, f32>),
    mut each: impl FnMut(f64, f64),
) -> Result<(), MeasureError> {
    same_length(predicted.len(), right.len())?;
    let pairs = || predicted.iter().zip(&right).enumerate();
    pairs().try_for_each(|(row, (&predicted, &right))| {
        finite(row, predicted).and_then(|()| finite(row, right))
    })?;
    pairs().for_each(|(_, (&predicted, &right))| each(predicted.into(), right.into()));
    Ok(())
}

/// The mean of `|p - y|` over all numbers; 0 before the first one. A batch is the predictions `p` and the right numbers `y`.
///
/// ```
/// use ndarray::arr1;
/// use paddle::metrics::{MeanAbsoluteError, Measure};
///
/// let mut error = MeanAbsoluteError::default();
/// error.add((arr1(&[2.5, 0.0]).view().into_dyn(), arr1(&[3.0, -0.5]).view().into_dyn()))?;
/// error.add((arr1(&[2.0, 8.0]).view().into_dyn(), arr1(&[2.0, 7.0]).view().into_dyn()))?;
/// assert_eq!(error.value(), 0.5);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanAbsoluteError {
    sum: f64,
    count: u64,
}

impl Measure for MeanAbsoluteError {
    type Batch<'a> = (ArrayViewD<'a, f32>, ArrayViewD<'a, f32>);

    fn add(&mut self, batch: Self::Batch<'_>) -> Result<(), MeasureError> {
        for_each(batch, |predicted, right| {
            self.sum += (predicted - right).abs();
            self.count += 1;
        })
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        (self.sum, self.count) = (self.sum + other.sum, self.count + other.count);
        Ok(())
    }

    fn value(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

/// The part of the variance of the right numbers that the predictions explain, R²: `1 - Σ(p - y)² / Σ(y - mean(y))²`. If the
/// right numbers are all the same, it is 1 where the predictions are right, and 0 otherwise. A batch is the predictions `p`
/// and the right numbers `y`.
///
/// ```
/// use ndarray::arr1;
/// use paddle::metrics::{Measure, RSquared};
///
/// let mut explained = RSquared::default();
/// explained.add((arr1(&[2.0, 2.0, 4.0]).view().into_dyn(), arr1(&[1.0, 2.0, 3.0]).view().into_dyn()))?;
/// assert_eq!(explained.value(), 1.0 - 2.0 / 2.0);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RSquared {
    /// Of the right numbers.
    count: f64,
    mean: f64,
    /// `Σ(y - mean)²`.
    spread: f64,
    /// `Σ(p - y)²`.
    errors: f64,
}

impl Measure for RSquared {
    type Batch<'a> = (ArrayViewD<'a, f32>, ArrayViewD<'a, f32>);

    fn add(&mut self, batch: Self::Batch<'_>) -> Result<(), MeasureError> {
        for_each(batch, |predicted, right| {
            let errors = (predicted - right).powi(2);
            self.join(&RSquared { count: 1.0, mean: right, spread: 0.0, errors });
        })
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        self.join(other);
        Ok(())
    }

    fn value(&self) -> f64 {
        match (self.spread, self.errors) {
            (0.0, 0.0) => 1.0,
            (0.0, _) => 0.0,
            (spread, errors) => 1.0 - errors / spread,
        }
    }
}

impl RSquared {
    /// Adds other numbers. Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    /// variances", 1982, equations 2.1: differences of large sums would lose all digits.
    fn join(&mut self, other: &Self) {
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let apart = other.mean - self.mean;
        self.mean += apart * other.count / count;
        self.spread += other.spread + apart * apart * self.count * other.count / count;
        self.errors += other.errors;
        self.count = count;
    }
}
