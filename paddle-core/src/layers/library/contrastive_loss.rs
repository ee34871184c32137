/// Pairs that belong together are to be near, `d²`, others at least a margin apart, `max(0, margin - d)²`, where `d` is the Euclidean
/// distance; a half of that for each row: `[_, 1]`. Hadsell, Chopra and LeCun (2006).
///
/// * `x`, `y`: the pair, `[_, size]`.
/// * `same`: 1.0 where they belong together, 0.0 where they do not: `[_, 1]`.
/// * `margin`: how far apart others are to be.
pub fn contrastive_loss(x: _, y: _, same: _, #[default = 1.0] margin: f32) -> _ {
    let squared = sum(square(x - y), axis = -1, keep_dim = true);
    // The root has no derivative at 0.
    let apart = relu(margin - sqrt(squared + 0.000000000001));
    0.5 * (same * squared + (1.0 - same) * square(apart))
}
