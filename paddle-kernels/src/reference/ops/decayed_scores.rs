//! `decayed_scores`.

use paddle_core::ops::{DecayedScores, Real};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::candidates::candidates;
use crate::reference::values::Values;

impl Evaluate for DecayedScores {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (boxes, scores) = (call.read(0).floats(), call.read(1).floats());
        let shape = call.shape(1);
        let &[.., classes, count] = &shape[..] else { panic!("the shape rule wants scores for classes") };
        let mut out = vec![self.least; scores.len()];
        for line in 0..shape[..shape.len() - 1].iter().product() {
            let scores = &scores[line * count..][..count];
            let corners = |number: usize| {
                let first = (line / classes * count + number) * 4;
                [boxes[first], boxes[first + 1], boxes[first + 2], boxes[first + 3]]
            };
            let left = candidates(scores, self.score_threshold, self.candidates);
            let overlaps = |k: usize| {
                let before = left[..k].iter();
                before.map(|&other| self.overlap(corners(left[k]), corners(other))).collect::<Vec<f64>>()
            };
            let largest = |overlaps: &[f64]| overlaps.iter().fold(0.0, |most, &one| Real::max(one, most));
            let all: Vec<Vec<f64>> = (0..left.len()).map(overlaps).collect();
            for (k, &number) in left.iter().enumerate() {
                let factors = all[k].iter().zip(&all).map(|(&one, other)| self.factor(one, largest(other)));
                let decayed = factors.fold(1.0, |least, factor| Real::min(factor, least)) * scores[number];
                out[line * count + number] = decayed.max(self.least);
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
