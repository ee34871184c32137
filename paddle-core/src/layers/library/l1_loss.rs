/// The mean of the absolute differences of a prediction and its target, over all elements of all rows: one number.
///
/// * `x`: the prediction.
/// * `y`: the target, of the same shape.
pub fn l1_loss(x: _, y: _) -> _ {
    mean(abs(x - y))
}
