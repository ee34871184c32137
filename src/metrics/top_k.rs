//! How often the right class is among those with the highest scores.

use ndarray::{ArrayViewD, Axis};

use super::error::{class, same_length};
use super::{Measure, MeasureError};

/// Of all rows, the part whose right class is among the `k` classes with the highest scores. Of equal scores, those of the
/// first classes are higher, as in the layer `top_k`. It is 0 before the first row.
///
/// A batch is the scores, a row of one number for each class, and the right classes.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use paddle::metrics::{Measure, TopK};
///
/// let mut two = TopK::new(2);
/// let scores = arr2(&[[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]);
/// two.add((scores.view().into_dyn(), arr1(&[0, 1, 2, 2]).view().into_dyn()))?;
/// assert_eq!(two.value(), 0.75);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    k: usize,
    among: u64,
    rows: u64,
}

impl TopK {
    /// Looks at the `k` highest scores.
    pub fn new(k: usize) -> Self {
        TopK { k, among: 0, rows: 0 }
    }
}

impl Measure for TopK {
    type Batch<'a> = (ArrayViewD<'a, f32>, ArrayViewD<'a, i64>);

    fn add(&mut self, (scores, right): Self::Batch<'_>) -> Result<(), MeasureError> {
        let rows = scores.shape().first().copied().unwrap_or(0);
        same_length(rows, right.len())?;
        let classes = scores.len().checked_div(rows).unwrap_or(0);
        let mut among = 0;
        for (row, (scores, &right)) in scores.axis_iter(Axis(0)).zip(&right).enumerate() {
            let right = class(row, right, classes)?;
            let scores: Vec<f32> = scores.iter().copied().collect();
            if let Some(&found) = scores.iter().find(|score| score.is_nan()) {
                return Err(MeasureError::NotFinite { row, found });
            }
            let (before, behind) = scores.split_at(right);
            let higher = before.iter().filter(|&&score| score >= scores[right]).count()
                + behind.iter().filter(|&&score| score > scores[right]).count();
            among += u64::from(higher < self.k);
        }
        (self.among, self.rows) = (self.among + among, self.rows + rows as u64);
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        if self.k != other.k {
            return Err(MeasureError::Settings);
        }
        (self.among, self.rows) = (self.among + other.among, self.rows + other.rows);
        Ok(())
    }

    fn value(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { self.among as f64 / self.rows as f64 }
    }
}
