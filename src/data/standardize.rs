//! Standardisation of features.

use super::Sample;

/// Shifts and scales each feature to mean 0 and standard deviation 1.
///
/// Fit it on the training rows alone, and apply it to all rows. Otherwise information about the test rows would leak
/// into the training.
///
/// ```
/// use paddle::data::{Sample, Standardizer};
///
/// let rows = [[1.0], [3.0]].map(|features| Sample { features, target: 0.0 });
/// let standardizer = Standardizer::fit(&rows);
/// assert_eq!((standardizer.mean, standardizer.scale), ([2.0], [1.0]));
/// assert_eq!(standardizer.apply([5.0]), [3.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standardizer<const N: usize> {
    /// The mean of each feature.
    pub mean: [f64; N],
    /// The standard deviation of each feature. (The sum of squares is divided by the number of rows.)
    pub scale: [f64; N],
}

impl<const N: usize> Standardizer<N> {
    /// Computes the statistics of these rows.
    ///
    /// A feature that is the same in every row is shifted to 0 and not scaled. Without rows nothing changes.
    pub fn fit(rows: &[Sample<N>]) -> Self {
        let mut fitted = Self { mean: [0.0; N], scale: [1.0; N] };
        let Some(first) = rows.first() else { return fitted };
        for (i, first) in first.features.into_iter().enumerate() {
            let column = || rows.iter().map(|row| f64::from(row.features[i]));
            // The variance is no test for this: rounding of the mean can make it slightly more than 0.
            if column().all(|x| x == f64::from(first)) {
                fitted.mean[i] = f64::from(first);
                continue;
            }
            let count = rows.len() as f64;
            let mean = column().sum::<f64>() / count;
            fitted.mean[i] = mean;
            fitted.scale[i] = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        }
        fitted
    }

    /// The features of one row, standardised.
    pub fn apply(&self, features: [f32; N]) -> [f32; N] {
        std::array::from_fn(|i| ((f64::from(features[i]) - self.mean[i]) / self.scale[i]) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize>(features: &[[f32; N]]) -> Vec<Sample<N>> {
        features.iter().map(|&features| Sample { features, target: 0.0 }).collect()
    }

    #[test]
    fn by_hand() {
        let fitted = Standardizer::fit(&rows(&[[1.0, 10.0], [3.0, 10.0], [5.0, 40.0], [7.0, 20.0]]));
        assert_eq!(fitted.mean, [4.0, 20.0]);
        assert_eq!(fitted.scale, [5.0_f64.sqrt(), 150.0_f64.sqrt()]);
        assert_eq!(fitted.apply([4.0, 20.0]), [0.0, 0.0]);
        assert_eq!(fitted.apply([9.0, 20.0]), [5.0_f32.sqrt(), 0.0]);
    }

    #[test]
    fn a_constant_feature_becomes_zero() {
        let fitted = Standardizer::fit(&rows(&[[0.1]; 1_000]));
        assert_eq!(fitted.apply([0.1]), [0.0]);
        assert_eq!(fitted.scale, [1.0]);
    }

    #[test]
    fn no_rows_change_nothing() {
        assert_eq!(Standardizer::fit(&[]).apply([3.0, -2.0]), [3.0, -2.0]);
    }

    #[test]
    fn the_smallest_difference_is_not_divided_by_zero() {
        let tiny = f32::from_bits(1);
        let fitted = Standardizer::fit(&rows(&[[0.0], [tiny]]));
        assert_eq!([fitted.apply([0.0]), fitted.apply([tiny])], [[-1.0], [1.0]]);
    }

    /// `x[np.arange(442) % 5 != 4].mean(0)` and `.std(0)`, of the features as `float32` in `float64`.
    #[test]
    fn as_numpy_does() {
        let (train, _) = crate::data::split(crate::data::diabetes::samples(), 5);
        let fitted = Standardizer::fit(&train);
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
        near(fitted.mean[0], 48.463276836158194);
        near(fitted.scale[0], 13.294578840658332);
        near(fitted.mean[8], 4.628954510230803);
        near(fitted.scale[8], 0.5212648524834184);
    }
}
