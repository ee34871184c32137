/// The smooth L1 loss of a prediction and its target, summed over each row, `[_, 1]`: of a difference `d`, `(sigma d)² / 2`
/// where `|d|` is below `1 / sigma²`, and `|d| - 1 / (2 sigma²)` elsewhere. Girshick (2015).
///
/// * `x`: the prediction, `[_, size]`.
/// * `y`: the target, of the same shape.
/// * `sigma`: how narrow the smooth part is.
pub fn smooth_l1(x: _, y: _, #[default = 1.0] sigma: f32) -> _ {
    let each = huber_loss(x, y, 1.0 / (sigma * sigma)) * (sigma * sigma);
    sum(each, axis = 1, keep_dim = true)
}
