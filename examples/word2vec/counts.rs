//! What the network is compared with: counts of neighbours, without a network. Positive pointwise mutual information, and the vectors that
//! come nearest to it: Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word Embeddings" (2015).

use std::collections::BTreeMap;
use std::error::Error;

use nalgebra::{Cholesky, DMatrix, SymmetricEigen};
use ndarray::{Array2, Axis};
use paddle::reader::Random;

use crate::corpus::Corpus;
use crate::judge::{Score, judge, normalized};

/// The power of the counts of neighbours: it holds back those that are rare.
const SMOOTHED: f64 = 0.75;
/// Steps of the iteration for the vectors, and how many more vectors it has than are wanted.
const ROUNDS: usize = 8;
const SPARE: usize = 10;

// ANCHOR: best
/// The vectors with the settings that suit the words to choose by: how far neighbours are apart at most, how much a pair has to be
/// above chance, and how much the larger singular values count.
pub(crate) fn best(corpus: &Corpus, width: usize, words: &[usize]) -> Result<Array2<f32>, Box<dyn Error>> {
    let mut best: Option<(Score, Array2<f32>)> = None;
    for window in [5, 10] {
        let counts = neighbours(corpus, window);
        for shift in [1.0, 5.0] {
            let (values, vectors) = factors(&information(&counts, corpus.words.len(), shift), width)?;
            for power in [0.5, 1.0] {
                let scaled = Array2::from_shape_fn((corpus.words.len(), values.len()), |(word, k)| {
                    (vectors[[word, k]] * values[k].powf(power)) as f32
                });
                let score = judge(&scaled, corpus, words);
                println!(
                    "counts, window {window}, {shift} times above chance, power {power}: nearest {:.4}, relatedness {:.4}",
                    score.nearest, score.relatedness
                );
                let sum = |score: &Score| score.nearest + score.relatedness;
                if best.as_ref().is_none_or(|(before, _)| sum(&score) > sum(before)) {
                    best = Some((score, scaled));
                }
            }
        }
    }
    Ok(best.ok_or("there are no settings")?.1)
}
// ANCHOR_END: best

/// Each vector, and the mean of those of its glosses' words, frequent ones for less: as much as the network knows.
pub(crate) fn with_glosses(vectors: &Array2<f32>, corpus: &Corpus) -> Array2<f32> {
    let vectors = normalized(vectors.clone());
    let mut read = Array2::zeros(vectors.dim());
    for entry in &corpus.entries {
        let mut mean = Array2::<f32>::zeros((1, vectors.ncols()));
        for &word in &entry.gloss {
            mean.row_mut(0).scaled_add(corpus.matters[word as usize], &vectors.row(word as usize));
        }
        let mut all = read.index_axis_mut(Axis(0), entry.word() as usize);
        all += &normalized(mean).row(0);
    }
    vectors + normalized(read)
}

type Counts = BTreeMap<(usize, usize), f64>;

/// A matrix by its rows: of each, the columns with their numbers.
type Sparse = [Vec<(usize, f64)>];

/// How often words stand near each other in headwords with their glosses: next to each other for one, and less the further apart.
fn neighbours(corpus: &Corpus, window: usize) -> Counts {
    let mut counts = Counts::new();
    for entry in &corpus.entries {
        let text: Vec<usize> = entry.name.iter().chain(&entry.gloss).map(|&word| word as usize).collect();
        for (at, &word) in text.iter().enumerate() {
            for (apart, &other) in text[at + 1..].iter().take(window).enumerate() {
                let weight = (window - apart) as f64 / window as f64;
                *counts.entry((word, other)).or_default() += weight;
                *counts.entry((other, word)).or_default() += weight;
            }
        }
    }
    counts
}

/// The logarithm of how much more often than by chance two words are neighbours, where it is so by this factor at least.
fn information(counts: &Counts, words: usize, shift: f64) -> Vec<Vec<(usize, f64)>> {
    let mut often = vec![0.0; words];
    for (&(word, _), count) in counts {
        often[word] += count;
    }
    let smoothed: Vec<f64> = often.iter().map(|count| count.powf(SMOOTHED)).collect();
    let all: f64 = smoothed.iter().sum();
    let mut rows = vec![Vec::new(); words];
    for (&(word, other), count) in counts {
        let information = (count * all / (often[word] * smoothed[other] * shift)).ln();
        if information > 0.0 {
            rows[word].push((other, information));
        }
    }
    rows
}

/// The largest singular values, and for each its vector on the left: by subspace iteration from random vectors (Halko, Martinsson and Tropp,
/// 2011).
fn factors(rows: &Sparse, width: usize) -> Result<(Vec<f64>, Array2<f64>), Box<dyn Error>> {
    let mut columns = vec![Vec::new(); rows.len()];
    for (row, entries) in rows.iter().enumerate() {
        for &(column, value) in entries {
            columns[column].push((row, value));
        }
    }
    let mut random = Random::new(0);
    let size = (rows.len(), (width + SPARE).min(rows.len()));
    let mut basis = Array2::from_shape_fn(size, |_| f64::from(random.normal()));
    for _ in 0..ROUNDS {
        basis = orthonormal(&times(rows, &times(&columns, &basis)))?;
    }
    let seen = times(&columns, &basis);
    let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(small(&seen.t().dot(&seen)));
    let mut order: Vec<usize> = (0..eigenvalues.len()).collect();
    order.sort_by(|&a, &b| eigenvalues[b].total_cmp(&eigenvalues[a]));
    order.truncate(width);
    let turned = Array2::from_shape_fn((size.1, order.len()), |(k, to)| eigenvectors[(k, order[to])]);
    Ok((order.iter().map(|&k| eigenvalues[k].max(0.0).sqrt()).collect(), basis.dot(&turned)))
}

/// The product of a sparse matrix and a dense one.
fn times(rows: &Sparse, x: &Array2<f64>) -> Array2<f64> {
    let mut product = Array2::zeros((rows.len(), x.ncols()));
    for (entries, mut to) in rows.iter().zip(product.rows_mut()) {
        for &(column, value) in entries {
            to.scaled_add(value, &x.row(column));
        }
    }
    product
}

/// Vectors at right angles that span the same space: by Cholesky's factor of their products.
fn orthonormal(x: &Array2<f64>) -> Result<Array2<f64>, Box<dyn Error>> {
    let factor =
        Cholesky::new(small(&x.t().dot(x))).ok_or("the vectors of the counts depend on each other")?;
    let inverse = factor.l().try_inverse().ok_or("the vectors of the counts depend on each other")?;
    Ok(x.dot(&Array2::from_shape_fn((x.ncols(), x.ncols()), |(row, column)| inverse[(column, row)])))
}

fn small(x: &Array2<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(x.nrows(), x.ncols(), |row, column| x[[row, column]])
}
