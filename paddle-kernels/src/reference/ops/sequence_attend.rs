//! `sequence_attend` and its gradient.

use paddle_core::ops::{SequenceAttend, SequenceAttendGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use super::sequence_product::{Pair, pairs_by, widths};
use super::softmax::log_sum_exp;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// The pairs of each token of `Q`, and the score of each pair for each head.
struct Scores {
    of_tokens: Vec<Vec<Pair>>,
    heads: usize,
    scores: Vec<f64>,
}

impl Scores {
    /// The offsets of `Q`, of `K` and of the pairs are behind `inputs` inputs.
    fn new(call: &Call<'_>, inputs: usize) -> Result<Self, KernelError> {
        let (heads, width) = widths(&call.shape(0));
        let (q, k) = (call.read(0).floats(), call.read(1).floats());
        let mut scores = vec![0.0; call.shape(3)[0] * heads];
        let mut of_tokens: Vec<Vec<Pair>> = (0..call.shape(0)[0]).map(|_| Vec::new()).collect();
        for pair in pairs_by(call, [0, 1, 3], [inputs, inputs + 1, inputs + 2])? {
            for head in 0..heads {
                scores[pair.number * heads + head] = dot(width, heads, head, [&q, &k], [pair.x, pair.y]);
            }
            of_tokens[pair.x].push(pair);
        }
        Ok(Scores { of_tokens, heads, scores })
    }

    fn of(&self, pair: &Pair, head: usize) -> f64 {
        self.scores[pair.number * self.heads + head]
    }
}

/// The product of one head of two tokens.
fn dot(width: usize, heads: usize, head: usize, [x, y]: [&[f64]; 2], tokens: [usize; 2]) -> f64 {
    let [a, b] = tokens.map(|token| (token * heads + head) * width);
    (0..width).map(|i| x[a + i] * y[b + i]).sum()
}

impl Evaluate for SequenceAttend {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let scores = Scores::new(call, 4)?;
        let (heads, width) = widths(&call.shape(2));
        let v = call.read(2).floats();
        let mut out: Vec<f64> = vec![0.0; call.output_shape(0).iter().product()];
        let mut sums: Vec<f64> = vec![0.0; call.output_shape(1).iter().product()];
        for (token, pairs) in scores.of_tokens.iter().enumerate().filter(|(_, pairs)| !pairs.is_empty()) {
            for head in 0..heads {
                let of_token: Vec<f64> = pairs.iter().map(|pair| scores.of(pair, head)).collect();
                let log_sum = log_sum_exp(&of_token);
                sums[token * heads + head] = log_sum;
                for (pair, score) in pairs.iter().zip(of_token) {
                    for i in 0..width {
                        let value = v[(pair.y * heads + head) * width + i];
                        out[(token * heads + head) * width + i] += (score - log_sum).exp() * value;
                    }
                }
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out), Values::round(call.output_dtype(1), sums)])
    }
}

impl Evaluate for SequenceAttendGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let scores = Scores::new(call, 7)?;
        let ((heads, keys), (_, values)) = (widths(&call.shape(0)), widths(&call.shape(2)));
        let [q, k, v, out, log_sums, grad] = [0, 1, 2, 4, 5, 6].map(|input| call.read(input).floats());
        let mut grads = [0, 1, 2].map(|k| vec![0.0; call.output_shape(k).iter().product()]);
        for (token, pairs) in scores.of_tokens.iter().enumerate() {
            for (pair, head) in pairs.iter().flat_map(|pair| (0..heads).map(move |head| (pair, head))) {
                let weight = (scores.of(pair, head) - log_sums[token * heads + head]).exp();
                let mean = dot(values, heads, head, [&grad, &out], [token, token]);
                let of_score = weight * (dot(values, heads, head, [&grad, &v], [token, pair.y]) - mean);
                let [mine, theirs] = [token, pair.y].map(|token| token * heads + head);
                let [of_q, of_k, of_v] = &mut grads;
                for i in 0..keys {
                    of_q[mine * keys + i] += of_score * k[theirs * keys + i];
                    of_k[theirs * keys + i] += of_score * q[mine * keys + i];
                }
                for i in 0..values {
                    of_v[theirs * values + i] += weight * grad[mine * values + i];
                }
            }
        }
        let mut k = 0..;
        let round = |grad| Values::round(call.output_dtype(k.next().unwrap_or_default()), grad);
        Ok(grads.map(round).into())
    }
}
