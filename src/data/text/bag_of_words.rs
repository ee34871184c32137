//! A classifier of texts by their counts of words.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;

use crate::data::lbfgs::{dot, minimize};
use crate::data::split;

/// Multinomial logistic regression on counts of words: a baseline for models that know the order of words.
///
/// The probability of class `k` for a text with the counts `x` is proportional to `exp(w_k · x)`. The weights minimise
/// `-Σ ln p + l2 / 2 · Σ w²` over the training texts. Every text has one more word, which serves as the intercept. The
/// result depends only on the texts: there is no seed, no learning rate and no number of steps.
///
/// ```
/// use paddle::data::text::{BagOfWords, Vocabulary};
///
/// let vocabulary = Vocabulary::of(["a big dog", "a small dog", "to run fast", "to walk"]);
/// let texts = [("a big dog", 0), ("a small dog", 0), ("to run fast", 1), ("to walk", 1)];
/// let texts = texts.map(|(text, class)| (vocabulary.ids(text), class));
/// let fitted = BagOfWords::fit(&texts, 0.1)?;
/// assert_eq!(fitted.class(&vocabulary.ids("the dog is big")), 0);
/// assert_eq!(fitted.accuracy(&texts), 1.0);
/// # Ok::<(), paddle::data::text::BagOfWordsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BagOfWords {
    /// The ids of the words, each with the index of its weights, from 1. Index 0 is that of the word in all texts.
    columns: BTreeMap<i64, usize>,
    classes: Vec<i64>,
    /// For each word, one weight per class.
    weights: Vec<f64>,
}

/// The relative accuracy of a fit: its cost is proven to exceed the minimum by at most this part of the cost of equal
/// probabilities.
const EXACTNESS: f64 = 1e-4;

/// The most steps of a fit. A fit that exists takes fewer.
const MOST_STEPS: usize = 10_000;

impl BagOfWords {
    /// Fits the weights to texts, each given by the ids of its words and its class.
    ///
    /// # Errors
    /// There are no texts, `l2` is not a number above 0, or it is so small that no fit is found.
    pub fn fit<T: AsRef<[i64]>>(texts: &[(T, i64)], l2: f64) -> Result<Self, BagOfWordsError> {
        let mut fitted = BagOfWords::of(texts);
        fitted.go_on(&fitted.counted(texts), l2)?;
        Ok(fitted)
    }

    /// Fits with the best of several `l2`. Each is tried on nine tenths of the texts; the one with the highest accuracy
    /// on the other tenth wins, and the largest among equals. Returns that `l2` too.
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit), or there is no `l2` to choose.
    pub fn fit_best<T: AsRef<[i64]>>(texts: &[(T, i64)], l2: &[f64]) -> Result<(Self, f64), BagOfWordsError> {
        let (known, new) = split(texts.iter().map(|(words, class)| (words.as_ref(), *class)), 10);
        let mut fitted = BagOfWords::of(&known);
        let counted = fitted.counted(&known);
        let mut best = None;
        // The fit with a larger `l2` is a good start for the next one.
        let mut falling = l2.to_vec();
        falling.sort_by(|a, b| b.total_cmp(a));
        for l2 in falling {
            fitted.go_on(&counted, l2)?;
            let accuracy = fitted.accuracy(&new);
            if best.is_none_or(|(highest, _)| accuracy > highest) {
                best = Some((accuracy, l2));
            }
        }
        let (_, l2) = best.ok_or(BagOfWordsError::NoL2)?;
        Ok((Self::fit(texts, l2)?, l2))
    }

    /// The most probable class of a text; the lowest among equals. Words that the fit has not seen are ignored.
    pub fn class(&self, words: &[i64]) -> i64 {
        let mut logits = vec![0.0; self.classes.len()];
        add_logits(&self.weights, &self.counts(words), &mut logits);
        let best = (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        best.map_or(0, |best| self.classes[best])
    }

    /// The share of the texts whose class is the most probable one; 0 if there are none.
    pub fn accuracy<T: AsRef<[i64]>>(&self, texts: &[(T, i64)]) -> f64 {
        let right = texts.iter().filter(|(words, class)| self.class(words.as_ref()) == *class);
        right.count() as f64 / texts.len().max(1) as f64
    }

    /// A model with the words and classes of these texts, in which all classes are equally probable.
    fn of<T: AsRef<[i64]>>(texts: &[(T, i64)]) -> Self {
        let words: BTreeSet<i64> = texts.iter().flat_map(|(words, _)| words.as_ref()).copied().collect();
        let classes: BTreeSet<i64> = texts.iter().map(|(_, class)| *class).collect();
        let columns: BTreeMap<_, _> = words.into_iter().zip(1..).collect();
        let weights = vec![0.0; (columns.len() + 1) * classes.len()];
        BagOfWords { columns, classes: classes.into_iter().collect(), weights }
    }

    /// The counts of a text's known words and of the word in all texts, by index.
    fn counts(&self, words: &[i64]) -> Vec<(usize, f64)> {
        let mut columns: Vec<_> = words.iter().filter_map(|word| self.columns.get(word).copied()).collect();
        columns.push(0);
        columns.sort_unstable();
        columns.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect()
    }

    fn counted<T: AsRef<[i64]>>(&self, texts: &[(T, i64)]) -> Vec<Counted> {
        let class = |class: i64| self.classes.partition_point(|known| *known < class);
        texts
            .iter()
            .map(|(words, of)| Counted { counts: self.counts(words.as_ref()), class: class(*of) })
            .collect()
    }

    /// Continues from the present weights to those of least cost.
    fn go_on(&mut self, texts: &[Counted], l2: f64) -> Result<(), BagOfWordsError> {
        if texts.is_empty() {
            return Err(BagOfWordsError::NoTexts);
        }
        if !(l2.is_finite() && l2 > 0.0) {
            return Err(BagOfWordsError::L2 { found: l2 });
        }
        let classes = self.classes.len();
        // The diagonal of the second derivatives where all classes are equally probable.
        let equal = 1.0 / classes as f64;
        let mut diagonal = vec![l2; self.weights.len()];
        for &(column, count) in texts.iter().flat_map(|text| &text.counts) {
            let of_word = &mut diagonal[column * classes..][..classes];
            of_word.iter_mut().for_each(|to| *to += count * count * equal * (1.0 - equal));
        }
        // The curvature of the cost is at least `l2`, so the cost exceeds the minimum by at most `gradient² / 2 l2`.
        let excess = EXACTNESS * texts.len() as f64 * (classes as f64).ln();
        let is_found = |gradient: &[f64]| dot(gradient, gradient) <= 2.0 * l2 * excess;
        let mut probabilities = vec![0.0; classes];
        let cost = |weights: &[f64], gradient: &mut [f64]| {
            gradient.iter_mut().zip(weights).for_each(|(to, weight)| *to = l2 * weight);
            let losses = texts.iter().map(|text| text.loss(weights, gradient, &mut probabilities));
            losses.sum::<f64>() + l2 / 2.0 * dot(weights, weights)
        };
        let found = minimize(&mut self.weights, &diagonal, cost, is_found, MOST_STEPS);
        found.map(drop).ok_or(BagOfWordsError::NotFound { l2 })
    }
}

/// A text as counts of its words, and the index of its class.
struct Counted {
    counts: Vec<(usize, f64)>,
    class: usize,
}

impl Counted {
    /// `-ln p`. Adds its gradient to `gradient`, and leaves the probabilities of all classes in `probabilities`.
    fn loss(&self, weights: &[f64], gradient: &mut [f64], probabilities: &mut [f64]) -> f64 {
        probabilities.fill(0.0);
        add_logits(weights, &self.counts, probabilities);
        let highest = probabilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let own = probabilities[self.class] - highest;
        probabilities.iter_mut().for_each(|logit| *logit = (*logit - highest).exp());
        let sum = probabilities.iter().sum::<f64>();
        probabilities.iter_mut().for_each(|power| *power /= sum);
        probabilities[self.class] -= 1.0;
        for &(column, count) in &self.counts {
            let of_word = &mut gradient[column * probabilities.len()..][..probabilities.len()];
            of_word.iter_mut().zip(&*probabilities).for_each(|(to, away)| *to += count * away);
        }
        sum.ln() - own
    }
}

/// Adds the weights of a text's words, times their counts.
fn add_logits(weights: &[f64], counts: &[(usize, f64)], logits: &mut [f64]) {
    for &(column, count) in counts {
        let of_word = &weights[column * logits.len()..][..logits.len()];
        logits.iter_mut().zip(of_word).for_each(|(to, weight)| *to += count * weight);
    }
}

/// The reason why there is no fit.
///
/// ```
/// use paddle::data::text::{BagOfWords, BagOfWordsError};
///
/// assert_eq!(BagOfWords::fit(&[(vec![0], 0), (vec![1], 1)], 0.0), Err(BagOfWordsError::L2 { found: 0.0 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BagOfWordsError {
    /// There are no texts to fit to.
    NoTexts,
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

impl fmt::Display for BagOfWordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTexts => f.write_str("found no texts, expected some to fit to"),
            Self::NoL2 => f.write_str("found no `l2`, expected some to choose from"),
            Self::L2 { found } => write!(f, "found {found} as `l2`, expected a number above 0"),
            Self::NotFound { l2 } => write!(f, "with {l2} as `l2` no fit is found; take a larger one"),
        }
    }
}

impl Error for BagOfWordsError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::glosses::{Gloss, up_to};

    fn texts(glosses: &[Gloss]) -> Vec<(&[i64], i64)> {
        glosses.iter().map(|gloss| (&gloss.words[..], gloss.class)).collect()
    }

    /// `LogisticRegression(C=1/l2, fit_intercept=False, tol=1e-9)` of scikit-learn 1.9.1, on the same counts and a column of ones.
    #[test]
    fn as_scikit_learn_has_it() {
        let glosses = up_to(300);
        let (known, new) = (texts(&glosses.training), texts(&glosses.held_out));
        for (l2, least, on_known, on_new) in
            [(1.0, 325.85174266578866, 0.99, 0.32776), (0.1, 71.68544057165376, 1.0, 0.32686)]
        {
            let fitted = BagOfWords::fit(&known, l2).unwrap();
            assert_eq!((fitted.columns.len(), fitted.classes.len()), (1810, 40));
            let mut scratch = (vec![0.0; fitted.weights.len()], vec![0.0; 40]);
            let counted = fitted.counted(&known);
            let losses =
                counted.iter().map(|text| text.loss(&fitted.weights, &mut scratch.0, &mut scratch.1));
            let cost = losses.sum::<f64>() + l2 / 2.0 * dot(&fitted.weights, &fitted.weights);
            let excess = (cost - least) / (300.0 * 40f64.ln());
            assert!((-1e-9..EXACTNESS).contains(&excess), "{cost} is not {least}");
            assert!((fitted.accuracy(&known) - on_known).abs() < 1e-9);
            assert!((fitted.accuracy(&new) - on_new).abs() < 5e-4, "{}", fitted.accuracy(&new));
        }
    }

    /// Two texts, of one word each: the weights are `±a` with `l2 · a = 1 - p`, and `p / (1 - p) = exp(2 a)`.
    #[test]
    fn by_hand() {
        let fitted = BagOfWords::fit(&[([7], 3), ([-7], 5)], 0.5).unwrap();
        let &[.., a, _] = &fitted.weights[..] else { panic!("{fitted:?}") };
        assert!(a > 0.0 && (0.5 * a - 1.0 / (1.0 + (2.0 * a).exp())).abs() < 1e-2, "{fitted:?}");
        assert_eq!([[-7], [7], [8]].map(|words| fitted.class(&words)), [5, 3, 3]);
        // A word that comes twice counts twice.
        assert_eq!(fitted.class(&[7, -7, -7]), 5);
        assert_eq!(fitted.accuracy::<[i64; 1]>(&[]), 0.0);
    }

    #[test]
    fn the_best_l2_is_found_without_the_texts_that_judge() {
        let glosses = up_to(400);
        let known = texts(&glosses.training);
        let (fitted, l2) = BagOfWords::fit_best(&known, &[1e4, 1.0, 100.0]).unwrap();
        assert_eq!(l2, 1.0);
        assert_eq!(fitted, BagOfWords::fit(&known, 1.0).unwrap());
        // Of nine texts none is left out, so all `l2` are equally good.
        let (_, l2) = BagOfWords::fit_best(&known[..9], &[1.0, 3.0, 2.0]).unwrap();
        assert_eq!(l2, 3.0);
    }

    #[test]
    fn what_cannot_be_fitted_is_an_error() {
        let texts = [([1], 0), ([2], 1)];
        let failed = |l2| BagOfWords::fit(&texts, l2).unwrap_err();
        for l2 in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(failed(l2), BagOfWordsError::L2 { found: l2 });
        }
        assert_eq!(failed(f64::NAN).to_string(), "found NaN as `l2`, expected a number above 0");
        assert_eq!(failed(1e-300), BagOfWordsError::NotFound { l2: 1e-300 });
        assert_eq!(BagOfWords::fit::<[i64; 1]>(&[], 1.0), Err(BagOfWordsError::NoTexts));
        assert_eq!(BagOfWords::fit_best(&texts, &[]), Err(BagOfWordsError::NoL2));
        assert_eq!(BagOfWords::fit_best::<[i64; 1]>(&[], &[1.0]), Err(BagOfWordsError::NoTexts));
    }

    #[test]
    fn extremes() {
        let one_class = [([1], 9), ([2], 9)];
        let fitted = BagOfWords::fit(&one_class, 1.0).unwrap();
        assert_eq!((fitted.class(&[]), fitted.accuracy(&one_class)), (9, 1.0));
        let fitted =
            BagOfWords::fit(&[(vec![i64::MAX, i64::MIN], i64::MIN), (vec![], i64::MAX)], 1e308).unwrap();
        assert_eq!(fitted.class(&[0]), i64::MIN);
    }
}
