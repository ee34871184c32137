/// A convolution, then pooling: the block that LeNet is made of.
///
/// * `x`: images, `[_, channels, height, width]`.
/// * `filters`, `filter_size`: how many filters, and their height and width.
/// * `pool_size`, `pool_stride`: the height and width of a window of the pooling, and how far one is from the next.
pub fn simple_img_conv_pool(
    x: _,
    filters: usize,
    filter_size: usize,
    pool_size: usize,
    pool_stride: usize,
    #[default = 1] conv_stride: usize,
    #[default = 0] conv_padding: usize,
    #[default = max] pool_kind: Word,
    #[default = identity] act: Activation,
) -> _ {
    let conv = conv2d(x, filters, filter_size, stride = conv_stride, padding = conv_padding, act = act);
    pool2d(conv, pool_size, kind = pool_kind, stride = pool_stride)
}
