/// Pixels become channels, which undoes `pixel_shuffle`: `[_, channels, height · by, width · by]` gives
/// `[_, channels · by², height, width]`.
///
/// * `x`: the images.
/// * `by`: how many times as low and narrow they become.
pub fn pixel_unshuffle(x: Tensor<f32, _, C, H, W>, by: usize) -> _ {
    let apart = reshape(x, [C, H / by, by, W / by, by]);
    reshape(transpose(apart, [0, 1, 3, 5, 2, 4]), [C * by * by, H / by, W / by])
}
