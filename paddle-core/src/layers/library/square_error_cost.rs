/// The squared difference of a prediction and its target, element by element: `(x - y)²`.
///
/// * `x`: the prediction.
/// * `y`: the target, of the same shape.
pub fn square_error_cost(x: _, y: _) -> _ {
    square(x - y)
}
