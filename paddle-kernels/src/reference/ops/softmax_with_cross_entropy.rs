//! `softmax_with_cross_entropy`.

use paddle_core::ops::{SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad};

use super::Evaluate;
use super::cross_entropy::targets;
use super::softmax::{log_sum_exp, normalised_rows, row_length, rows};
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for SoftmaxWithCrossEntropy {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (logits, shape) = (call.read(0).floats(), call.shape(0));
        let classes = row_length(&shape);
        let targets = targets(call, classes, self.soft_label, self.ignore_index)?;
        let loss = |(row, targets): (&[f64], &[f64])| -> f64 {
            let log_sum = log_sum_exp(row);
            row.iter()
                .zip(targets)
                .map(|(x, target)| if *target == 0.0 { 0.0 } else { target * (log_sum - x) })
                .sum()
        };
        let losses = rows(&logits, classes).zip(rows(&targets, classes)).map(loss).collect();
        Ok(vec![
            Values::round(call.output_dtype(0), normalised_rows(&logits, &shape)),
            Values::round(call.output_dtype(1), losses),
        ])
    }
}

impl Evaluate for SoftmaxWithCrossEntropyGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (softmax, grad) = (call.read(0).floats(), call.read(2).floats());
        let classes = row_length(&call.shape(0));
        let targets = targets(call, classes, self.0.soft_label, self.0.ignore_index)?;
        let totals: Vec<f64> = rows(&targets, classes).map(|row| row.iter().sum()).collect();
        let element = |(i, (softmax, target)): (usize, (f64, f64))| {
            (softmax * totals[i / classes] - target) * grad[i / classes]
        };
        let values = softmax.into_iter().zip(targets).enumerate().map(element).collect();
        Ok(vec![Values::round(call.output_dtype(0), values)])
    }
}
