//! `attend` and its gradient.

use paddle_core::ops::{Attend, AttendGrad};

use super::Evaluate;
use super::softmax::log_sum_exp;
use crate::reference::call::{Call, Results};
use crate::reference::shape::broadcast;
use crate::reference::values::Values;

/// Where the matrices of an operand are.
#[derive(Clone, Copy)]
struct Matrices {
    count: usize,
    /// If heads are behind the places, their number.
    heads: Option<usize>,
    places: usize,
    width: usize,
}

impl Matrices {
    fn of(shape: &[usize], heads_last: bool) -> Self {
        let (lead, last) = shape.split_at(shape.len() - if heads_last { 3 } else { 2 });
        let lead: usize = lead.iter().product();
        match *last {
            [places, heads, width] => Matrices { count: lead * heads, heads: Some(heads), places, width },
            [places, width] => Matrices { count: lead, heads: None, places, width },
            _ => unreachable!("there are two or three last axes"),
        }
    }

    /// The first element of a place.
    fn at(self, matrix: usize, place: usize) -> usize {
        let row = match self.heads {
            Some(heads) => (matrix / heads * self.places + place) * heads + matrix % heads,
            None => matrix * self.places + place,
        };
        row * self.width
    }

    /// The product of two places.
    fn dot(self, [x, y]: [&[f64]; 2], other: Self, matrix: usize, [i, j]: [usize; 2]) -> f64 {
        let (a, b) = (self.at(matrix, i), other.at(matrix, j));
        (0..self.width).map(|k| x[a + k] * y[b + k]).sum()
    }
}

/// The operands that both operators have, and the scores of all pairs.
struct Attention {
    q: Matrices,
    k: Matrices,
    v: Matrices,
    /// The scores, and whether the mask left them.
    scores: Vec<(f64, bool)>,
}

impl Attention {
    fn new(op: &Attend, call: &Call<'_>, mask: usize) -> Self {
        let [q, k, v] = [0, 1, 2].map(|input| Matrices::of(&call.shape(input), op.heads_last[input]));
        let (of_q, of_k) = (call.read(0).floats(), call.read(1).floats());
        let mut scores = Vec::with_capacity(q.count * q.places * k.places);
        for n in 0..q.count {
            for i in 0..q.places {
                for j in 0..k.places {
                    scores.push((op.scale * q.dot([&of_q, &of_k], k, n, [i, j]), true));
                }
            }
        }
        if call.op.inputs.len() > mask {
            let mut shape = call.shape(0);
            shape.truncate(shape.len() - if op.heads_last[0] { 3 } else { 2 });
            shape.extend(q.heads);
            shape.extend([q.places, k.places]);
            match call.read(mask).at(&broadcast(&call.shape(mask), &shape)) {
                Values::Bool(truths) => {
                    let left_out = scores.iter_mut().zip(truths).filter(|(_, truth)| *truth != op.kept);
                    left_out.for_each(|(score, _)| *score = (op.masked, false));
                }
                numbers => {
                    let pairs = scores.iter_mut().zip(numbers.floats());
                    pairs.for_each(|((score, _), number)| *score += number);
                }
            }
        }
        Attention { q, k, v, scores }
    }

    /// The scores of a place.
    fn of(&self, n: usize, i: usize) -> &[(f64, bool)] {
        let first = (n * self.q.places + i) * self.k.places;
        &self.scores[first..first + self.k.places]
    }

    /// All places that ask, with the number of their matrix.
    fn each(&self) -> impl Iterator<Item = (usize, usize)> {
        let places = self.q.places;
        (0..self.q.count).flat_map(move |n| (0..places).map(move |i| (n, i)))
    }
}

impl Evaluate for Attend {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let of = Attention::new(self, call, 3);
        let out = Matrices::of(&call.output_shape(0), self.heads_last[3]);
        let values = call.read(2).floats();
        let mut means: Vec<f64> = vec![0.0; call.output_shape(0).iter().product()];
        let mut sums = Vec::new();
        for (n, i) in of.each() {
            let scores: Vec<f64> = of.of(n, i).iter().map(|(score, _)| *score).collect();
            // The logarithm of 0, if the mask leaves nothing.
            let is_empty = scores.iter().all(|score| *score == f64::NEG_INFINITY);
            let log_sum = if is_empty { f64::NEG_INFINITY } else { log_sum_exp(&scores) };
            sums.push(log_sum);
            for (j, score) in scores.iter().enumerate() {
                for e in 0..of.v.width {
                    means[out.at(n, i) + e] += (score - log_sum).exp() * values[of.v.at(n, j) + e];
                }
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), means), Values::round(call.output_dtype(1), sums)])
    }
}

impl Evaluate for AttendGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let of = Attention::new(&self.of(), call, 6);
        let means = Matrices::of(&call.shape(3), self.heads_last[3]);
        let [q, k, v, out, log_sums, grad] = [0, 1, 2, 3, 4, 5].map(|input| call.read(input).floats());
        let mut grads = [0, 1, 2].map(|k| vec![0.0; call.output_shape(k).iter().product()]);
        let mut of_mask = Vec::new();
        for (n, i) in of.each() {
            let mean = means.dot([&out, &grad], means, n, [i, i]);
            for (j, &(score, is_left)) in of.of(n, i).iter().enumerate() {
                let weight = (score - log_sums[n * of.q.places + i]).exp();
                let of_weight = means.dot([&grad, &v], of.v, n, [i, j]);
                let of_score = if is_left { weight * (of_weight - mean) } else { 0.0 };
                of_mask.push(of_score);
                let (asking, asked) = (of.q.at(n, i), of.k.at(n, j));
                let [of_q, of_k, of_v] = &mut grads;
                for d in 0..of.q.width {
                    of_q[asking + d] += self.scale * of_score * k[asked + d];
                    of_k[asked + d] += self.scale * of_score * q[asking + d];
                }
                for e in 0..of.v.width {
                    of_v[of.v.at(n, j) + e] += weight * grad[means.at(n, i) + e];
                }
            }
        }
        let all = grads.into_iter().chain(self.of_mask.then_some(of_mask)).enumerate();
        Ok(all.map(|(k, grad)| Values::round(call.output_dtype(k), grad)).collect())
    }
}
