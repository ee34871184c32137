/// The channels of groups in turn, one of each: `[_, channels, height, width]` keeps its shape. Zhang et al. (2018).
///
/// * `x`: the images.
/// * `groups`: into how many groups of equal size the channels are cut.
pub fn channel_shuffle(x: Tensor<f32, _, C, H, W>, groups: usize) -> _ {
    let apart = reshape(x, [groups, C / groups, H, W]);
    reshape(transpose(apart, [0, 2, 1, 3, 4]), [C, H, W])
}
