//! `crf_decoding`.

use paddle_core::ops::CrfDecoding;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

/// The first of the largest numbers: its position and value.
fn first_largest(x: impl Iterator<Item = f64>) -> (usize, f64) {
    let larger = |best: (usize, f64), found: (usize, f64)| if found.1 > best.1 { found } else { best };
    x.enumerate().reduce(larger).expect("there is a label")
}

impl Evaluate for CrfDecoding {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (emission, transition) = (call.read(0).floats(), call.read(1).floats());
        let labels = call.shape(1)[1];
        let weight = |from: usize, to: usize| transition[(2 + from) * labels + to];
        let mut path = vec![0; call.shape(0)[0]];
        for tokens in sequences(call, 2, call.shape(0)[0]) {
            // For each token, the best score with each label, and the label before it.
            let mut scores: Vec<Vec<f64>> = Vec::new();
            let mut came_from: Vec<Vec<usize>> = Vec::new();
            for t in tokens.clone() {
                let best: Vec<(usize, f64)> = (0..labels)
                    .map(|to| match scores.last() {
                        None => (0, transition[to]),
                        Some(before) => {
                            first_largest((0..labels).map(|from| before[from] + weight(from, to)))
                        }
                    })
                    .collect();
                scores.push((0..labels).map(|to| best[to].1 + emission[t * labels + to]).collect());
                came_from.push(best.iter().map(|best| best.0).collect());
            }
            let Some(last) = scores.last() else { continue };
            let mut label = first_largest((0..labels).map(|from| last[from] + transition[labels + from])).0;
            for (t, from) in tokens.zip(came_from).rev() {
                path[t] = label as i64;
                label = from[label];
            }
        }
        Ok(vec![Values::I64(path)])
    }
}
