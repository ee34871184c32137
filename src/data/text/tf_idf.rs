//! TF-IDF: texts as weights of words.

use super::Vocabulary;

/// A text as a vector with a weight for each of its words: the word's count in the text times `ln(N / n)`, where `n` of
/// the vocabulary's `N` texts have the word. The vector is divided by its length, unless that is 0.
///
/// The similarity of two texts is the [cosine](Self::cosine) between their vectors: shared words count, rare ones more.
/// It is a baseline for models of texts. Salton and Buckley, "Term-weighting approaches in automatic text retrieval",
/// 1988: `tfc`.
///
/// ```
/// use paddle::data::text::{TfIdf, Vocabulary};
///
/// let texts = ["a dog barks", "a cat", "a big dog"];
/// let vocabulary = Vocabulary::of(texts);
/// let [barking, cat, big] = texts.map(|text| TfIdf::new(&vocabulary, text));
/// assert_eq!(barking.cosine(&cat), 0.0); // `a` is everywhere
/// assert!(barking.cosine(&big) > 0.1);
/// assert!((big.cosine(&big) - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TfIdf(
    /// Word ids, ascending, and weights.
    Vec<(i64, f64)>,
);

impl TfIdf {
    /// The weights of those words of a text that are in the vocabulary.
    pub fn new(vocabulary: &Vocabulary, text: &str) -> Self {
        let mut ids = vocabulary.ids(text);
        ids.sort_unstable();
        let of = |word: &[i64]| {
            let rarity = vocabulary.texts() as f64 / vocabulary.texts_with(word[0]) as f64;
            (word[0], word.len() as f64 * rarity.ln())
        };
        let mut weights: Vec<_> = ids.chunk_by(|a, b| a == b).map(of).collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        if length > 0.0 {
            weights.iter_mut().for_each(|(_, weight)| *weight /= length);
        }
        TfIdf(weights)
    }

    /// The cosine of the angle between two texts of one vocabulary: 0 if they share no word, up to 1. It is 0 if a text
    /// has no weights.
    pub fn cosine(&self, other: &TfIdf) -> f64 {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut sum = 0.0;
        while let (Some((a, x)), Some((b, y))) = (left.peek(), right.peek()) {
            if a == b {
                sum += x * y;
            }
            if a <= b {
                left.next();
            }
            if b <= a {
                right.next();
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_by_hand() {
        let vocabulary = Vocabulary::of(["x y", "x z", "x y y"]);
        let text = TfIdf::new(&vocabulary, "y y z x unknown");
        // tf: y 2, z 1, x 1; df: y 2, z 1, x 3, of 3 texts.
        let (y, z) = (2.0 * 1.5_f64.ln(), 3.0_f64.ln());
        let length = y.hypot(z);
        let [(0, x), (1, found_y), (2, found_z)] = text.0[..] else { panic!("{text:?}") };
        assert_eq!(x, 0.0);
        assert!((found_y - y / length).abs() < 1e-15 && (found_z - z / length).abs() < 1e-15, "{text:?}");
        let other = TfIdf::new(&vocabulary, "z");
        assert!((text.cosine(&other) - z / length).abs() < 1e-15);
        assert_eq!(text.cosine(&other), other.cosine(&text));
    }

    #[test]
    fn texts_without_weight_are_near_nothing() {
        let vocabulary = Vocabulary::of(["x y", "x"]);
        for text in ["", "x", "unknown"] {
            assert_eq!(TfIdf::new(&vocabulary, text).cosine(&TfIdf::new(&vocabulary, "x y")), 0.0, "{text}");
        }
    }
}
