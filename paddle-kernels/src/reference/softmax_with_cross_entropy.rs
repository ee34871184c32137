//! `softmax_with_cross_entropy`.

use paddle_core::plan::KernelError;

use super::call::Call;
use super::shape::broadcast;
use super::softmax::{log_sum_exp, normalised_rows, row_length, rows};
use super::values::Values;
use crate::messages;

/// The class of each row.
fn labels(call: &Call<'_>, classes: usize) -> Result<Vec<usize>, KernelError> {
    let Values::I64(ids) = call.read(1) else {
        panic!("the shape rule wants class ids of type i64");
    };
    let class = |(row, &id): (usize, &i64)| match usize::try_from(id) {
        Ok(class) if class < classes => Ok(class),
        _ => Err(messages::class_out_of_range(id, row, classes)),
    };
    ids.iter().enumerate().map(class).collect()
}

pub(super) fn forward(call: &Call<'_>) -> Result<Vec<Values>, KernelError> {
    let (logits, shape) = (call.read(0).floats(), call.shape(0));
    let classes = row_length(&shape);
    let labels = labels(call, classes)?;
    let loss = rows(&logits, classes).zip(labels).map(|(row, label)| log_sum_exp(row) - row[label]).collect();
    Ok(vec![
        Values::round(call.output_dtype(0), normalised_rows(&logits, &shape)),
        Values::round(call.output_dtype(1), loss),
    ])
}

pub(super) fn grad(call: &Call<'_>) -> Result<Vec<Values>, KernelError> {
    let (out, classes) = (call.output_shape(0), row_length(&call.output_shape(0)));
    let (softmax, loss_grad) = (call.read_broadcast(0).floats(), call.read_broadcast(2).floats());
    let labels = labels(call, classes)?;
    // The loss's gradient may have more rows than the softmax, which are then repeated, and the labels with them.
    let row_of = broadcast(&call.shape(0), &out);
    let element = |(i, (softmax, loss_grad)): (usize, (f64, f64))| {
        let one_hot = if labels[row_of[i] / classes] == i % classes { 1.0 } else { 0.0 };
        (softmax - one_hot) * loss_grad
    };
    let values = softmax.into_iter().zip(loss_grad).enumerate().map(element).collect();
    Ok(vec![Values::round(call.output_dtype(0), values)])
}
