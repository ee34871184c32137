//! `edit_distance`.

use paddle_core::ops::EditDistance;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

impl Evaluate for EditDistance {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (Values::I64(hypotheses), Values::I64(references)) = (call.read(0), call.read(1)) else {
            panic!("the shape rule wants ids of type i64");
        };
        let pairs =
            sequences(call, 2, hypotheses.len()).into_iter().zip(sequences(call, 3, references.len()));
        let distances = pairs.map(|(own, others)| {
            let (x, y) = (&hypotheses[own], &references[others]);
            // The distance of each beginning of one to each beginning of the other.
            let mut table = vec![vec![0usize; y.len() + 1]; x.len() + 1];
            for i in 0..=x.len() {
                for j in 0..=y.len() {
                    table[i][j] = match (i, j) {
                        (0, rest) | (rest, 0) => rest,
                        _ => {
                            let replaced = table[i - 1][j - 1] + usize::from(x[i - 1] != y[j - 1]);
                            replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                        }
                    };
                }
            }
            table[x.len()][y.len()] as f64
        });
        Ok(vec![Values::round(call.output_dtype(0), distances.collect())])
    }
}
