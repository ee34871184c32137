//! Standardisation of features.

use serde::{Deserialize, Serialize};

use super::Sample;

/// Shifts and scales each feature to mean 0 and standard deviation 1. A feature that is missing, NaN, becomes its mean: 0.
///
/// Fit it on the training rows alone, and apply it to all rows. Otherwise information about the test rows would leak
/// into the training. Where the model is used, rows have to be treated alike, so it is saved beside the parameters:
///
/// ```
/// use paddle::data::{Sample, Standardizer};
/// use paddle::files::{Notes, note};
/// use paddle::{Parameters, network};
///
/// let rows = [[1.0], [3.0]].map(|features| Sample { features, target: 0.0 });
/// let standardizer = Standardizer::fit(&rows);
/// assert_eq!((standardizer.mean, standardizer.scale), ([2.0], [1.0]));
/// assert_eq!((standardizer.apply([5.0]), standardizer.apply([f32::NAN])), ([3.0], [0.0]));
///
/// let net = network!(|x: Tensor<f32, _, 1>| fc(x, 1));
/// # let path = std::env::temp_dir().join(format!("paddle-standard-{}.safetensors", std::process::id()));
/// Parameters::create(&net)?.save_with(&path, &Notes::default().with("standardizer", &standardizer))?;
/// assert_eq!(note::<Standardizer<1>>(&path, "standardizer")?, standardizer);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardizer<const N: usize> {
    /// The mean of each feature.
    #[serde(with = "array")]
    pub mean: [f64; N],
    /// The standard deviation of each feature. (The sum of squares is divided by the number of rows.)
    #[serde(with = "array")]
    pub scale: [f64; N],
}

impl<const N: usize> Standardizer<N> {
    /// Computes the statistics of these rows.
    ///
    /// A feature that is the same in every row is shifted to 0 and not scaled. Without rows nothing changes.
    pub fn fit(rows: &[Sample<N>]) -> Self {
        Standardizer::fit_features(rows.iter().map(|row| row.features))
    }

    /// Computes the statistics of these features. The statistics of each are those of the rows that have it.
    ///
    /// ```
    /// let fitted = paddle::data::Standardizer::fit_features([[1.0, 5.0], [f32::NAN, 5.0], [3.0, 5.0]]);
    /// assert_eq!((fitted.mean, fitted.scale), ([2.0, 5.0], [1.0, 1.0]));
    /// ```
    pub fn fit_features(rows: impl IntoIterator<Item = [f32; N]>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let mut fitted = Self { mean: [0.0; N], scale: [1.0; N] };
        for i in 0..N {
            let column = || rows.iter().map(|row| f64::from(row[i])).filter(|x| !x.is_nan());
            let Some(first) = column().next() else { continue };
            // The variance is no test for this: rounding of the mean can make it slightly more than 0.
            if column().all(|x| x == first) {
                fitted.mean[i] = first;
                continue;
            }
            let count = column().count() as f64;
            let mean = column().sum::<f64>() / count;
            fitted.mean[i] = mean;
            fitted.scale[i] = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        }
        fitted
    }

    /// The features of one row, standardised.
    pub fn apply(&self, features: [f32; N]) -> [f32; N] {
        std::array::from_fn(|i| match f64::from(features[i]) {
            missing if missing.is_nan() => 0.0,
            feature => ((feature - self.mean[i]) / self.scale[i]) as f32,
        })
    }
}

/// Arrays of any length, which serde knows up to 32 elements only.
mod array {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer, const N: usize>(
        array: &[f64; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        array.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[f64; N], D::Error> {
        let numbers = Vec::deserialize(deserializer)?;
        let found = numbers.len();
        numbers.try_into().map_err(|_| D::Error::invalid_length(found, &&*format!("{N} numbers")))
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
    fn what_is_missing_does_not_count_and_becomes_the_mean() {
        let fitted = Standardizer::fit_features([[1.0, f32::NAN], [f32::NAN, f32::NAN], [3.0, f32::NAN]]);
        assert_eq!((fitted.mean, fitted.scale), ([2.0, 0.0], [1.0, 1.0]));
        assert_eq!(fitted.apply([f32::NAN, 7.0]), [0.0, 7.0]);
    }

    #[test]
    fn a_text_has_every_bit_and_as_many_numbers() {
        let fitted = Standardizer::fit(&rows(&[[0.1; 40], [0.7; 40]]));
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<Standardizer<40>>(&text).unwrap(), fitted);
        let error = serde_json::from_str::<Standardizer<39>>(&text).unwrap_err().to_string();
        assert!(error.starts_with("invalid length 40, expected 39 numbers"), "{error}");
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
