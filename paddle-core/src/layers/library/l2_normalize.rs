/// `x` divided by its Euclidean norm, `x / √(Σ x² + epsilon)`, along an axis.
///
/// * `x`: what to normalise.
/// * `axis`: along which axis, that of the rows counted as 0.
pub fn l2_normalize(x: _, #[default = -1] axis: i64, #[default = 0.000000000001] epsilon: f32) -> _ {
    x * rsqrt(sum(square(x), axis = axis, keep_dim = true) + epsilon)
}
