/// Whether all elements of two values are equal: one truth value.
///
/// * `x`, `y`: of one shape.
pub fn equal_all(x: _, y: _) -> _ {
    all(x == y)
}
