/// The logarithm of the softmax along an axis: `x - ln Σ exp x`.
///
/// * `x`: the logits.
/// * `axis`: along which axis, that of the rows counted as 0.
pub fn log_softmax(x: _, #[default = -1] axis: i64) -> _ {
    let shifted = x - max(x, axis = axis, keep_dim = true);
    shifted - log(sum(exp(shifted), axis = axis, keep_dim = true))
}
