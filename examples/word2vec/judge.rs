//! How well vectors of words agree with WordNet's relations.

use std::cmp::Ordering;

use ndarray::{Array1, Array2, Axis};
use paddle::reader::Random;

use crate::corpus::Corpus;

/// How many words count as the nearest ones.
const NEAREST: usize = 10;
/// With how many other words each related one is compared.
const OTHERS: usize = 20;

/// How well vectors agree with relations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    /// The share of the words that have a related one among their ten nearest.
    pub(crate) nearest: f64,
    /// How probable it is that a related word is nearer than another one: the area under the ROC curve, the mean over all words.
    pub(crate) relatedness: f64,
}

/// Divides rows by their lengths, so that the product of two is the cosine of their angle.
pub(crate) fn normalized(mut vectors: Array2<f32>) -> Array2<f32> {
    for mut row in vectors.rows_mut() {
        let length = row.dot(&row).sqrt();
        row /= length.max(f32::MIN_POSITIVE);
    }
    vectors
}

/// Judges vectors by these words. All words of the corpus may be near, all with relations are the others.
pub(crate) fn judge(vectors: &Array2<f32>, corpus: &Corpus, words: &[usize]) -> Score {
    let vectors = normalized(vectors.clone());
    let pool: Vec<usize> = corpus.related.keys().copied().collect();
    let mut random = Random::new(0);
    let (mut found, mut area) = (0, 0.0);
    // Some at a time: the cosines of all pairs would need much memory.
    for some in words.chunks(256) {
        let cosines = vectors.select(Axis(0), some).dot(&vectors.t());
        for (cosines, word) in cosines.rows().into_iter().zip(some) {
            let related = &corpus.related[word];
            let best = related.iter().map(|&other| cosines[other]).fold(f32::NEG_INFINITY, f32::max);
            let nearer = |&(other, cosine): &(usize, &f32)| other != *word && *cosine > best;
            found += usize::from(cosines.iter().enumerate().filter(nearer).count() < NEAREST);
            let others: Vec<f32> = (0..OTHERS).map(|_| cosines[pool[random.below(pool.len())]]).collect();
            let won = |other: usize| -> f64 {
                let won = |&than: &f32| match cosines[other].total_cmp(&than) {
                    Ordering::Greater => 1.0,
                    Ordering::Equal => 0.5,
                    Ordering::Less => 0.0,
                };
                others.iter().map(won).sum::<f64>() / OTHERS as f64
            };
            area += related.iter().map(|&other| won(other)).sum::<f64>() / related.len() as f64;
        }
    }
    let count = words.len().max(1) as f64;
    Score { nearest: found as f64 / count, relatedness: area / count }
}

/// The nearest words of a word, if the corpus has it.
pub(crate) fn nearest<'c>(
    vectors: &Array2<f32>,
    corpus: &'c Corpus,
    word: &str,
    count: usize,
) -> Vec<&'c str> {
    let Ok(word) = corpus.words.binary_search_by(|known| known.as_str().cmp(word)) else { return Vec::new() };
    let vectors = normalized(vectors.clone());
    let cosines: Array1<f32> = vectors.dot(&vectors.row(word));
    let mut others: Vec<usize> = (0..corpus.words.len()).filter(|&other| other != word).collect();
    others.sort_by(|&a, &b| cosines[b].total_cmp(&cosines[a]));
    others.into_iter().take(count).map(|other| corpus.words[other].as_str()).collect()
}
