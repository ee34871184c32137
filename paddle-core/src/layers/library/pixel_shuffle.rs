/// Channels become pixels: `[_, channels · by², height, width]` gives `[_, channels, height · by, width · by]`. Shi et al. (2016).
///
/// * `x`: the images.
/// * `by`: how many times as high and wide they become.
pub fn pixel_shuffle(x: Tensor<f32, _, C, H, W>, by: usize) -> _ {
    let apart = reshape(x, [C / (by * by), by, by, H, W]);
    reshape(transpose(apart, [0, 1, 4, 2, 5, 3]), [C / (by * by), H * by, W * by])
}
