/// How near the directions of the rows of two values are: the cosine of the angle between them, `[_, 1]`.
///
/// * `x`, `y`: `[_, size]`.
/// * `epsilon`: what the product of their lengths is at least.
pub fn cos_sim(x: _, y: _, #[default = 0.00000001] epsilon: f32) -> _ {
    let dot = sum(x * y, axis = 1, keep_dim = true);
    let lengths = sum(square(x), axis = 1, keep_dim = true) * sum(square(y), axis = 1, keep_dim = true);
    dot / sqrt(maximum(lengths, epsilon * epsilon))
}
