/// The squared distance of the rows of two values, `[_, 1]`.
///
/// * `x`, `y`: `[_, size]`.
pub fn squared_l2_distance(x: _, y: _) -> _ {
    sum(square(x - y), axis = 1, keep_dim = true)
}
