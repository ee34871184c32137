//! The progression of diabetes in 442 patients (Efron, Hastie, Johnstone, Tibshirani 2004), embedded.
//!
//! The target measures the progression within the year after the baseline. The features, as measured:
//!
//! | column | feature |
//! | --- | --- |
//! | 0 | `age`, in years |
//! | 1 | `sex`, 1 or 2 |
//! | 2 | `bmi`, body mass index |
//! | 3 | `bp`, average blood pressure |
//! | 4 | `s1`, total serum cholesterol |
//! | 5 | `s2`, low-density lipoproteins |
//! | 6 | `s3`, high-density lipoproteins |
//! | 7 | `s4`, total cholesterol / high-density lipoproteins |
//! | 8 | `s5`, possibly the logarithm of serum triglycerides |
//! | 9 | `s6`, blood sugar |
//!
//! `src/data/README.md` has the origin and the licence.

use std::path::Path;

use super::table;

/// One patient.
pub type Sample = super::Sample<10>;

/// All patients, in the order of the file.
///
/// ```
/// use paddle::data::diabetes;
///
/// let samples = diabetes::samples();
/// assert_eq!(samples.len(), 442);
/// assert_eq!(samples[0].features[..3], [59.0, 2.0, 32.1]);
/// assert_eq!(samples[0].target, 151.0);
/// ```
pub fn samples() -> Vec<Sample> {
    table::parse(Path::new("diabetes.csv"), include_bytes!("diabetes.csv"))
        .expect("the embedded file is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of the columns of scikit-learn's two files, taken by numpy in `float64`.
    #[test]
    fn the_embedded_file_is_complete() {
        let expected =
            [21445.0, 649.0, 11658.1, 41833.98, 83600.0, 51024.1, 22006.5, 1799.05, 2051.5036, 40337.0];
        let samples = samples();
        for (i, expected) in expected.into_iter().enumerate() {
            let sum: f64 = samples.iter().map(|sample| f64::from(sample.features[i])).sum();
            assert!((sum - expected).abs() < 1e-4, "column {i} sums to {sum}, not {expected}");
        }
        assert_eq!(samples.iter().map(|sample| sample.target).sum::<f32>(), 67243.0);
    }
}
