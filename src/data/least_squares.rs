//! The closed form of linear regression, as the baseline of a trained model.

use std::array;
use std::error::Error;
use std::fmt;

use super::Sample;

/// A linear model: `weights · features + intercept`.
///
/// ```
/// use paddle::data::{Linear, Sample};
///
/// let line = Linear { weights: [2.0], intercept: 1.0 };
/// assert_eq!(line.predict([3.0]), 7.0);
/// assert_eq!(line.mse(&[Sample { features: [3.0], target: 5.0 }]), 4.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear<const N: usize> {
    /// One weight per feature.
    pub weights: [f64; N],
    /// The prediction if every feature is 0.
    pub intercept: f64,
}

impl<const N: usize> Linear<N> {
    /// The prediction for these features.
    pub fn predict(&self, features: [f32; N]) -> f64 {
        self.intercept + self.weights.iter().zip(features).map(|(w, x)| w * f64::from(x)).sum::<f64>()
    }

    /// The mean squared error on these rows; 0 if there are none.
    pub fn mse(&self, rows: &[Sample<N>]) -> f64 {
        let errors = rows.iter().map(|row| self.predict(row.features) - f64::from(row.target));
        errors.map(|error| error * error).sum::<f64>() / rows.len().max(1) as f64
    }
}

/// Computes the linear model of least squared error, in `f64`, by Householder's QR decomposition.
///
/// Unlike the normal equations, this does not square the condition number, so features may differ widely in scale.
///
/// ```
/// use paddle::data::{Sample, least_squares};
///
/// let line = [0.0, 1.0, 2.0].map(|x| Sample { features: [x], target: 3.0 * x + 1.0 });
/// let fitted = least_squares(&line)?;
/// assert!((fitted.predict([10.0]) - 31.0).abs() < 1e-12);
/// # Ok::<(), paddle::data::LeastSquaresError>(())
/// ```
///
/// # Errors
/// There are fewer rows than coefficients (weights and intercept), a value is not finite, or a feature is constant or a
/// linear combination of those before it.
pub fn least_squares<const N: usize>(rows: &[Sample<N>]) -> Result<Linear<N>, LeastSquaresError> {
    if rows.len() <= N {
        return Err(LeastSquaresError::TooFewRows { found: rows.len(), needed: N + 1 });
    }
    if let Some(row) = rows.iter().position(|row| !is_finite(row)) {
        return Err(LeastSquaresError::NotFinite { row });
    }

    // The columns are centred, so no column of ones is needed: the intercept follows from the means.
    let (mean, mut y) = centred(rows.iter().map(|row| row.target));
    let columns: [_; N] = array::from_fn(|j| centred(rows.iter().map(|row| row.features[j])));
    let means: [f64; N] = array::from_fn(|j| columns[j].0);
    let mut x = columns.map(|(_, column)| column);

    // Column by column, a reflection zeroes the elements below the diagonal.
    let mut diagonal = [0.0; N];
    for j in 0..N {
        let (done, rest) = x.split_at_mut(j + 1);
        let v = &mut done[j][j..];
        let norm = dot(v, v).sqrt();
        let size = rows.iter().map(|row| f64::from(row.features[j]).powi(2)).sum::<f64>().sqrt();
        if norm <= rows.len() as f64 * f64::EPSILON * size {
            return Err(LeastSquaresError::Dependent { feature: j });
        }
        diagonal[j] = -norm.copysign(v[0]);
        v[0] -= diagonal[j];
        for column in rest {
            reflect(&mut column[j..], v);
        }
        reflect(&mut y[j..], v);
    }

    let mut weights = [0.0; N];
    for j in (0..N).rev() {
        let known: f64 = (j + 1..N).map(|k| x[k][j] * weights[k]).sum();
        weights[j] = (y[j] - known) / diagonal[j];
    }
    Ok(Linear { weights, intercept: mean - dot(&weights, &means) })
}

fn is_finite<const N: usize>(row: &Sample<N>) -> bool {
    row.target.is_finite() && row.features.iter().all(|x| x.is_finite())
}

/// The mean of a column, and the column minus its mean.
fn centred(column: impl ExactSizeIterator<Item = f32> + Clone) -> (f64, Vec<f64>) {
    let mean = column.clone().map(f64::from).sum::<f64>() / column.len() as f64;
    (mean, column.map(|x| f64::from(x) - mean).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Reflects `column` at the plane perpendicular to `v`.
fn reflect(column: &mut [f64], v: &[f64]) {
    let scale = 2.0 * dot(column, v) / dot(v, v);
    for (x, v) in column.iter_mut().zip(v) {
        *x -= scale * v;
    }
}

/// The reason why rows have no unique linear model. Rows and features count from 0.
///
/// ```
/// use paddle::data::{LeastSquaresError, Sample, least_squares};
///
/// let rows = [Sample { features: [1.0], target: 1.0 }];
/// assert_eq!(least_squares(&rows), Err(LeastSquaresError::TooFewRows { found: 1, needed: 2 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeastSquaresError {
    /// There are fewer rows than weights and intercept.
    TooFewRows {
        /// The number of rows.
        found: usize,
        /// The number of rows that are needed.
        needed: usize,
    },
    /// A row holds a NaN or an infinity.
    NotFinite {
        /// The row.
        row: usize,
    },
    /// A feature is constant, or a linear combination of those before it.
    Dependent {
        /// The feature.
        feature: usize,
    },
}

impl fmt::Display for LeastSquaresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRows { found, needed } => write!(f, "found {found} rows, expected at least {needed}"),
            Self::NotFinite { row } => write!(f, "row {row} holds a NaN or an infinity, expected numbers"),
            Self::Dependent { feature } => write!(
                f,
                "feature {feature} is constant, or a linear combination of those before it; leave it out"
            ),
        }
    }
}

impl Error for LeastSquaresError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{diabetes, split};

    fn row<const N: usize>(features: [f32; N], target: f32) -> Sample<N> {
        Sample { features, target }
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "found {found}, expected {expected}");
    }

    /// The line through (0, 1), (1, 0), (2, 2), (3, 5): mean x 1.5, mean y 2, Sxy 7, Sxx 5.
    #[test]
    fn by_hand() {
        let rows = [row([0.0], 1.0), row([1.0], 0.0), row([2.0], 2.0), row([3.0], 5.0)];
        let line = least_squares(&rows).unwrap();
        near(line.weights[0], 1.4, 1e-14);
        near(line.intercept, -0.1, 1e-13);
        // The residuals are -1.1, 1.3, 0.7, -0.9.
        near(line.mse(&rows), 4.2 / 4.0, 1e-14);
        assert_eq!(line.mse(&[]), 0.0);
    }

    /// `np.linalg.lstsq(a, y, rcond=None)`, `a` being the rows with `np.arange(442) % 5 != 4` and a column of
    /// ones, of the values as `float32` in `float64`.
    #[test]
    fn as_numpy_does() {
        let (train, test) = split(diabetes::samples(), 5);
        let model = least_squares(&train).unwrap();
        let weights = [
            -0.08768488255057628,
            -26.412814540084618,
            5.363105154742597,
            1.1949296246529577,
            -0.8008847884976921,
            0.47557804588207786,
            -0.09999487482633605,
            6.699991809590503,
            59.96370820101552,
            0.04260539616971767,
        ];
        for (found, expected) in model.weights.into_iter().zip(weights) {
            near(found, expected, 1e-10);
        }
        near(model.intercept, -267.17727756850786, 1e-10);
        near(model.mse(&train), 2774.982872748011, 1e-12);
        near(model.mse(&test), 3279.1575289737693, 1e-12);
    }

    #[test]
    fn features_of_very_different_sizes() {
        let rows: Vec<_> = (0..9)
            .map(|i| {
                let (a, b) = (i % 3, i / 3);
                row([a as f32 * 1e-20, b as f32 * 1e20], (2 * a + 3 * b + 4) as f32)
            })
            .collect();
        let model = least_squares(&rows).unwrap();
        near(model.weights[0], 2e20, 1e-6);
        near(model.weights[1], 3e-20, 1e-6);
        near(model.intercept, 4.0, 1e-13);
    }

    #[test]
    fn without_features_the_mean_is_best() {
        assert_eq!(least_squares(&[row([], 1.0), row([], 2.0)]).unwrap().intercept, 1.5);
    }

    #[test]
    fn what_has_no_unique_answer_is_an_error() {
        let fitted = |rows: &[Sample<2>]| least_squares(rows).unwrap_err();
        assert_eq!(
            fitted(&[row([1.0, 2.0], 3.0), row([2.0, 1.0], 3.0)]),
            LeastSquaresError::TooFewRows { found: 2, needed: 3 }
        );
        let twice = [0.1, 0.7, 0.3, 0.9].map(|x| row([x, 2.0 * x], 1.0));
        assert_eq!(fitted(&twice), LeastSquaresError::Dependent { feature: 1 });
        let constant = [0.1, 0.7, 0.3].map(|x| row([0.1, x], 1.0));
        assert_eq!(fitted(&constant), LeastSquaresError::Dependent { feature: 0 });
        let shifted = [1.0, 2.0, 4.0].map(|x| row([x, x + 5.0], 1.0));
        assert_eq!(fitted(&shifted), LeastSquaresError::Dependent { feature: 1 });
        let nan = [row([1.0, 2.0], 3.0), row([2.0, f32::NAN], 3.0), row([5.0, 2.0], 3.0)];
        assert_eq!(fitted(&nan), LeastSquaresError::NotFinite { row: 1 });
    }
}
