/// The mean of the squared differences of a prediction and its target, over all elements of all rows: one number.
///
/// * `x`: the prediction.
/// * `y`: the target, of the same shape.
pub fn mse_loss(x: _, y: _) -> _ {
    mean(square(x - y))
}
