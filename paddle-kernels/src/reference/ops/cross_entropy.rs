//! `cross_entropy`.

use paddle_core::ops::{CrossEntropy, CrossEntropyGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use super::softmax::{row_length, rows};
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// The target of each class in a row: 1 for the class of the label's id, the label's own probabilities if it has them,
/// and nothing for `ignore_index`.
pub(super) fn targets(
    call: &Call<'_>,
    classes: usize,
    soft_label: bool,
    ignore_index: i64,
) -> Result<Vec<f64>, KernelError> {
    let label = call.read(1);
    if soft_label {
        return Ok(label.floats());
    }
    let Values::I64(ids) = label else { panic!("the shape rule wants class ids of type i64") };
    let mut targets = vec![0.0; ids.len() * classes];
    for (row, &id) in ids.iter().enumerate().filter(|(_, id)| **id != ignore_index) {
        match usize::try_from(id) {
            Ok(class) if class < classes => targets[row * classes + class] = 1.0,
            _ => return Err(messages::class_out_of_range(id, row, classes)),
        }
    }
    Ok(targets)
}

impl Evaluate for CrossEntropy {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, classes) = (call.read(0).floats(), row_length(&call.shape(0)));
        let targets = targets(call, classes, self.soft_label, self.ignore_index)?;
        let loss = |(x, targets): (&[f64], &[f64])| -> f64 {
            let chosen = x.iter().zip(targets).filter(|(_, target)| **target != 0.0);
            chosen.map(|(x, target)| -target * x.ln().max(-1e20)).sum()
        };
        let losses = rows(&x, classes).zip(rows(&targets, classes)).map(loss).collect();
        Ok(vec![Values::round(call.output_dtype(0), losses)])
    }
}

impl Evaluate for CrossEntropyGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, grad, classes) = (call.read(0).floats(), call.read(2).floats(), row_length(&call.shape(0)));
        let targets = targets(call, classes, self.0.soft_label, self.0.ignore_index)?;
        let of = |(i, (x, target)): (usize, (f64, f64))| match target {
            0.0 => 0.0,
            _ => -target / x * grad[i / classes],
        };
        let values = x.into_iter().zip(targets).enumerate().map(of).collect();
        Ok(vec![Values::round(call.output_dtype(0), values)])
    }
}
