//! `auc`.

use paddle_core::ops::Auc;

use super::Evaluate;
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for Auc {
    /// The area, then the new counts.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (predict, width) =
            (call.read(0).floats(), *call.shape(0).last().expect("the shape rule wants columns"));
        let (Values::I64(labels), Values::I64(positive), Values::I64(negative)) =
            (call.read(1), call.read(2), call.read(3))
        else {
            panic!("the shape rule wants classes and counts of type i64");
        };
        let probabilities: Vec<f64> = predict.chunks_exact(width).map(|row| row[width - 1]).collect();
        if let Some(row) = probabilities.iter().position(|p| !(*p >= 0.0 && *p <= 1.0)) {
            return Err(messages::no_probability(probabilities[row], row));
        }
        let (buckets, steps) = (self.num_thresholds as usize + 1, self.slide_steps as usize);
        // The new counts, and those from which the area is computed.
        let counted = |mut counts: Vec<i64>, is_counted: fn(i64) -> bool| {
            let batch = match steps {
                0 => 0,
                steps => counts[(steps + 1) * buckets] as usize % steps * buckets,
            };
            if steps > 0 {
                for bucket in 0..buckets {
                    counts[steps * buckets + bucket] -= counts[batch + bucket];
                    counts[batch + bucket] = 0;
                }
                counts[(steps + 1) * buckets] += 1;
            }
            for (probability, _) in probabilities.iter().zip(&labels).filter(|(_, label)| is_counted(**label))
            {
                let bucket = (probability * self.num_thresholds as f64) as usize;
                counts[batch + bucket] += 1;
                if steps > 0 {
                    counts[steps * buckets + bucket] += 1;
                }
            }
            let of_area = counts[steps * buckets..][..buckets].to_vec();
            (counts, of_area)
        };
        let (positive, ranks) = counted(positive, |label| label > 0);
        let (negative, others) = counted(negative, |label| label == 0);
        // For every pair of a positive and a negative row, the positive one wins, draws or loses.
        let mut won = 0.0;
        for (i, &above) in ranks.iter().enumerate() {
            for (j, &below) in others.iter().enumerate() {
                won += if i > j {
                    1.0
                } else if i == j {
                    0.5
                } else {
                    0.0
                } * above as f64
                    * below as f64;
            }
        }
        let [above, below] = [ranks, others].map(|counts| counts.iter().sum::<i64>() as f64);
        let area = if above > 0.0 && below > 0.0 { won / above / below } else { 0.0 };
        Ok(vec![Values::F64(vec![area]), Values::I64(positive), Values::I64(negative)])
    }
}
