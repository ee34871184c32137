//! The area under the ROC curve.

use ndarray::ArrayViewD;

use super::error::{class, same_length};
use super::{Measure, MeasureError};

/// The area under the ROC curve: how probable it is that a row of class 1 has a higher score than one of class 0, where equal
/// scores count half. Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
/// curve", 1982.
///
/// A batch is the scores of its rows, and their classes, 0 or 1. The value is exact: all scores are kept, eight bytes for each
/// row. The layer `auc` counts in parts instead, which takes the same memory for any number of rows. It is 0.5 without a row
/// of each class.
///
/// ```
/// use ndarray::arr1;
/// use paddle::metrics::{AreaUnderCurve, Measure};
///
/// let mut area = AreaUnderCurve::default();
/// area.add((arr1(&[0.1, 0.4, 0.35, 0.8]).view().into_dyn(), arr1(&[0, 0, 1, 1]).view().into_dyn()))?;
/// assert_eq!(area.value(), 0.75);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AreaUnderCurve {
    /// The score of each row, and whether it is of class 1.
    rows: Vec<(f32, bool)>,
}

impl Measure for AreaUnderCurve {
    type Batch<'a> = (ArrayViewD<'a, f32>, ArrayViewD<'a, i64>);

    fn add(&mut self, (scores, classes): Self::Batch<'_>) -> Result<(), MeasureError> {
        same_length(scores.len(), classes.len())?;
        let rows = scores.iter().zip(&classes).enumerate().map(|(row, (&score, &found))| {
            let class = class(row, found, 2)?;
            if score.is_nan() {
                Err(MeasureError::NotFinite { row, found: score })
            } else {
                Ok((score, class == 1))
            }
        });
        self.rows.extend(rows.collect::<Result<Vec<_>, _>>()?);
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        self.rows.extend_from_slice(&other.rows);
        Ok(())
    }

    fn value(&self) -> f64 {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The pairs in which class 1 is higher, counted twice, and those in which both are equal, once. 0 and -0 are equal.
        let (mut pairs, mut lower) = (0_u128, 0_u128);
        for equal in rows.chunk_by(|a, b| a.0 == b.0) {
            let ones = equal.iter().filter(|(_, is_one)| *is_one).count() as u128;
            let zeros = equal.len() as u128 - ones;
            pairs += ones * (2 * lower + zeros);
            lower += zeros;
        }
        let all = 2 * lower * (rows.len() as u128 - lower);
        if all == 0 { 0.5 } else { pairs as f64 / all as f64 }
    }
}
