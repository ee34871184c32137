/// How much nearer to an anchor one value is to be than another, `max(0, |a - p|² - |a - n|² + margin)`, for each row: `[_, 1]`.
/// Schroff, Kalenichenko and Philbin (2015).
///
/// * `anchor`: `[_, size]`.
/// * `positive`: what is to be near, of the same shape.
/// * `negative`: what is to be far, likewise.
/// * `margin`: by how much.
pub fn triplet_loss(anchor: _, positive: _, negative: _, #[default = 1.0] margin: f32) -> _ {
    let near = sum(square(anchor - positive), axis = -1, keep_dim = true);
    let far = sum(square(anchor - negative), axis = -1, keep_dim = true);
    relu(near - far + margin)
}
