//! A linear classifier of rows of numbers.

use std::error::Error;
use std::fmt;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip, concatenate, s};

use super::lbfgs::{dot, minimize};

/// Multinomial logistic regression on features: a baseline for networks that see more than single features.
///
/// The probability of class `k` for a row with the features `x` is proportional to `exp(w_k · x)`. The weights minimise
/// `-Σ ln p + l2 / 2 · Σ w²` over the rows. Every row has one more feature, 1, which serves as the intercept. The result depends
/// only on the rows: there is no seed, no learning rate and no number of steps. For counts of words there is
/// [`BagOfWords`](super::text::BagOfWords).
///
/// ```
/// use ndarray::array;
/// use paddle::data::LogisticRegression;
///
/// let (rows, classes) = (array![[0.0, 1.0], [0.2, 0.7], [1.0, 0.1], [0.9, 0.0]], [0, 0, 1, 1]);
/// let fitted = LogisticRegression::fit(rows.view(), &classes, 0.1)?;
/// assert_eq!(fitted.classes(array![[0.1, 0.9], [0.8, 0.3]].view()), [0, 1]);
/// # Ok::<(), paddle::data::LogisticRegressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogisticRegression {
    /// For each feature, and the one that is 1, a weight per class: `[features + 1, classes]`.
    weights: Array2<f64>,
}

/// The relative accuracy of a fit: its cost is proven to exceed the minimum by at most this part of the cost of equal
/// probabilities.
const EXACTNESS: f64 = 1e-3;

/// The most steps of a fit. A fit that exists takes fewer.
const MOST_STEPS: usize = 10_000;

impl LogisticRegression {
    /// Fits the weights to rows, `[rows, features]`, and their classes, from 0.
    ///
    /// # Errors
    /// There are no rows, there are not as many classes, a class is below 0, `l2` is not a number above 0, or it is so small that
    /// no fit is found.
    pub fn fit(rows: ArrayView2<'_, f64>, classes: &[i64], l2: f64) -> Result<Self, LogisticRegressionError> {
        Self::go_on(None, rows, classes, l2)
    }

    /// Fits with the best of several `l2`. Each is tried on `rows`; the one with the highest accuracy on the rows `chosen_by` wins,
    /// and the largest among equals. The last fit, with that `l2`, is to all of them. Returns the `l2` too.
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit), or there is no `l2` to choose.
    pub fn fit_best(
        (rows, classes): (ArrayView2<'_, f64>, &[i64]),
        (chosen_by, right): (ArrayView2<'_, f64>, &[i64]),
        l2: &[f64],
    ) -> Result<(Self, f64), LogisticRegressionError> {
        let mut falling = l2.to_vec();
        falling.sort_by(|a, b| b.total_cmp(a));
        let (mut fitted, mut best) = (None, None);
        for l2 in falling {
            // The fit with a larger `l2` is a good start for the next one.
            let now = Self::go_on(fitted, rows, classes, l2)?;
            let accuracy = now.accuracy(chosen_by, right);
            if best.is_none_or(|(highest, _)| accuracy > highest) {
                best = Some((accuracy, l2));
            }
            fitted = Some(now);
        }
        let (_, l2) = best.ok_or(LogisticRegressionError::NoL2)?;
        let all = concatenate(Axis(0), &[rows, chosen_by]);
        let all =
            all.map_err(|_| LogisticRegressionError::Rows { rows: rows.nrows(), classes: classes.len() })?;
        Ok((Self::go_on(fitted, all.view(), &[classes, right].concat(), l2)?, l2))
    }

    /// The most probable class of each row; the lowest among equals.
    ///
    /// # Panics
    /// Rows have another number of features than those of the fit.
    pub fn classes(&self, rows: ArrayView2<'_, f64>) -> Vec<i64> {
        let best = |logits: ArrayView1<'_, f64>| {
            let best = (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
            best.unwrap_or_default() as i64
        };
        with_one(rows).dot(&self.weights).rows().into_iter().map(best).collect()
    }

    /// The share of the rows whose class is the most probable one; 0 if there are none.
    ///
    /// # Panics
    /// Rows have another number of features than those of the fit.
    pub fn accuracy(&self, rows: ArrayView2<'_, f64>, classes: &[i64]) -> f64 {
        let right = self.classes(rows).iter().zip(classes).filter(|(found, class)| found == class).count();
        right as f64 / classes.len().max(1) as f64
    }

    /// Fits from given weights, or from zeros.
    fn go_on(
        from: Option<Self>,
        rows: ArrayView2<'_, f64>,
        classes: &[i64],
        l2: f64,
    ) -> Result<Self, LogisticRegressionError> {
        let is_wrong = rows.nrows() != classes.len() || classes.iter().any(|&class| class < 0);
        if is_wrong || classes.is_empty() {
            return Err(LogisticRegressionError::Rows { rows: rows.nrows(), classes: classes.len() });
        }
        if !(l2.is_finite() && l2 > 0.0) {
            return Err(LogisticRegressionError::L2 { found: l2 });
        }
        let rows = with_one(rows);
        let count = 1 + classes.iter().copied().max().unwrap_or_default() as usize;
        let shape = (rows.ncols(), count);
        // The diagonal of the second derivatives where all classes are equally probable.
        let equal = 1.0 / count as f64;
        let squares = rows.map(|x| x * x).sum_axis(Axis(0));
        let diagonal: Vec<f64> =
            squares.iter().flat_map(|sum| vec![l2 + sum * equal * (1.0 - equal); count]).collect();
        // The curvature of the cost is at least `l2`, so the cost exceeds the minimum by at most `gradient² / 2 l2`.
        let excess = EXACTNESS * classes.len() as f64 * (count as f64).ln();
        let is_found = |gradient: &[f64]| dot(gradient, gradient) <= 2.0 * l2 * excess;
        let cost = |weights: &[f64], gradient: &mut [f64]| {
            let matrix =
                ArrayView2::from_shape(shape, weights).expect("there is a weight per feature and class");
            let mut away = rows.dot(&matrix);
            let mut losses = Array1::zeros(classes.len());
            Zip::from(&mut losses).and(away.rows_mut()).and(classes).for_each(|loss, mut of, &class| {
                let highest = of.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                let own = of[class as usize] - highest;
                of.mapv_inplace(|logit| (logit - highest).exp());
                let sum = of.sum();
                of /= sum;
                of[class as usize] -= 1.0;
                *loss = sum.ln() - own;
            });
            let of_losses = rows.t().dot(&away);
            let all = gradient.iter_mut().zip(weights).zip(&of_losses);
            all.for_each(|((to, weight), of_losses)| *to = of_losses + l2 * weight);
            losses.sum() + l2 / 2.0 * dot(weights, weights)
        };
        let from = from.filter(|from| from.weights.dim() == shape);
        let mut weights =
            from.map_or_else(|| vec![0.0; shape.0 * shape.1], |from| from.weights.iter().copied().collect());
        minimize(&mut weights, &diagonal, cost, is_found, MOST_STEPS)
            .ok_or(LogisticRegressionError::NotFound { l2 })?;
        let weights =
            Array2::from_shape_vec(shape, weights).expect("there is a weight per feature and class");
        Ok(LogisticRegression { weights })
    }
}

/// The rows with one more feature, which is 1.
fn with_one(rows: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut all = Array2::ones((rows.nrows(), rows.ncols() + 1));
    all.slice_mut(s![.., ..rows.ncols()]).assign(&rows);
    all
}

/// The reason why there is no fit.
///
/// ```
/// use ndarray::array;
/// use paddle::data::{LogisticRegression, LogisticRegressionError};
///
/// let failed = LogisticRegression::fit(array![[0.0], [1.0]].view(), &[0, 1], 0.0);
/// assert_eq!(failed, Err(LogisticRegressionError::L2 { found: 0.0 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LogisticRegressionError {
    /// There are no rows to fit to, or not one class from 0 for each.
    Rows {
        /// The number of rows.
        rows: usize,
        /// The number of classes given.
        classes: usize,
    },
    /// There is no `l2` to choose.
    NoL2,
    /// `l2` is not a number above 0.
    L2 {
        /// The given value.
        found: f64,
    },
    /// With this `l2`, the weights do not converge.
    NotFound {
        /// The value of `l2`.
        l2: f64,
    },
}

impl fmt::Display for LogisticRegressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows, classes } => {
                write!(
                    f,
                    "found {rows} rows and {classes} classes, expected some rows, and for each a class from 0"
                )
            }
            Self::NoL2 => f.write_str("found no `l2`, expected some to choose from"),
            Self::L2 { found } => write!(f, "found {found} as `l2`, expected a number above 0"),
            Self::NotFound { l2 } => write!(f, "with {l2} as `l2` no fit is found; take a larger one"),
        }
    }
}

impl Error for LogisticRegressionError {}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::data::text::BagOfWords;

    /// Counts of words are features, too.
    #[test]
    fn as_the_regression_on_counts_of_words() {
        let texts = [(vec![0, 0, 1], 0), (vec![1, 2], 1), (vec![2, 2, 0], 2), (vec![2], 1), (vec![], 0)];
        let rows = Array2::from_shape_fn((5, 3), |(row, word)| {
            texts[row].0.iter().filter(|&&id| id == word as i64).count() as f64
        });
        let classes = texts.clone().map(|(_, class)| class);
        for l2 in [0.01, 0.5] {
            let fitted = LogisticRegression::fit(rows.view(), &classes, l2).unwrap();
            let counted = BagOfWords::fit(&texts, l2).unwrap();
            assert_eq!(fitted.classes(rows.view()), texts.clone().map(|(words, _)| counted.class(&words)));
        }
    }

    /// Two rows: the weights are `±a`, so each row has the loss `ln(1 + exp(-2 a))`; where the cost is least, `l2 · a = 2 (1 - p)` and
    /// `p / (1 - p) = exp(2 a)`.
    #[test]
    fn by_hand() {
        let fitted = LogisticRegression::fit(array![[1.0], [-1.0]].view(), &[0, 1], 0.5).unwrap();
        let a = fitted.weights[[0, 0]];
        assert!(a > 0.0 && (0.5 * a - 2.0 / (1.0 + (2.0 * a).exp())).abs() < 1e-2, "{fitted:?}");
        assert_eq!(fitted.accuracy(Array2::zeros((0, 1)).view(), &[]), 0.0);
    }

    #[test]
    fn the_best_l2_is_that_which_suits_other_rows() {
        let rows = Array2::from_shape_fn((40, 2), |(row, k)| ((row * (7 + 5 * k)) % 11) as f64 - 5.0);
        let classes: Vec<i64> = rows.rows().into_iter().map(|row| i64::from(row[0] > 0.0)).collect();
        let known = (rows.slice(s![..30, ..]), &classes[..30]);
        let other = (rows.slice(s![30.., ..]), &classes[30..]);
        let (fitted, l2) = LogisticRegression::fit_best(known, other, &[1e6, 1.0]).unwrap();
        assert!(l2 == 1.0 && fitted.accuracy(rows.view(), &classes) > 0.9);
        let none = LogisticRegression::fit_best(known, other, &[]);
        assert_eq!(none, Err(LogisticRegressionError::NoL2));
    }

    #[test]
    fn what_cannot_be_fitted_is_an_error() {
        let rows = array![[1.0], [2.0]];
        for classes in [&[0][..], &[0, -1], &[]] {
            let error = LogisticRegression::fit(rows.view(), classes, 1.0).unwrap_err();
            assert_eq!(error, LogisticRegressionError::Rows { rows: 2, classes: classes.len() });
        }
        let error = LogisticRegression::fit(rows.view(), &[0, 1], f64::NAN).unwrap_err();
        assert_eq!(error.to_string(), "found NaN as `l2`, expected a number above 0");
        let error = LogisticRegression::fit(rows.view(), &[0, 1], 1e-300).unwrap_err();
        assert_eq!(error, LogisticRegressionError::NotFound { l2: 1e-300 });
    }
}
