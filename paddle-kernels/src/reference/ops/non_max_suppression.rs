//! `non_max_suppression`.

use paddle_core::ops::NonMaxSuppression;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::candidates::candidates;
use crate::reference::values::Values;

impl Evaluate for NonMaxSuppression {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (boxes, scores) = (call.read(0).floats(), call.read(1).floats());
        let (of_scores, of_out) = (call.shape(1), call.output_shape(0));
        let (&[.., classes, count], &[.., places]) = (&of_scores[..], &of_out[..]) else {
            panic!("the shape rule wants scores for classes")
        };
        let mut out = Vec::new();
        for line in 0..of_out[..of_out.len() - 1].iter().product() {
            let scores = &scores[line * count..][..count];
            let corners = |number: usize| {
                let first = (line / classes * count + number) * 4;
                [boxes[first], boxes[first + 1], boxes[first + 2], boxes[first + 3]]
            };
            let left = candidates(scores, self.score_threshold, self.candidates);
            let (mut kept, mut threshold) = (Vec::new(), self.overlap_threshold);
            for number in left {
                let mut others = kept.iter().map(|&other| corners(other));
                if !others.any(|other| self.overlaps(corners(number), other, threshold)) {
                    kept.push(number);
                    threshold = self.next_threshold(threshold);
                }
            }
            let numbers = kept.into_iter().map(|number| number as i64);
            out.extend(numbers.chain(std::iter::repeat(-1)).take(places));
        }
        Ok(vec![Values::I64(out)])
    }
}
