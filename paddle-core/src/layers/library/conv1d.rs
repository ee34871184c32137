/// Filters along signals: `[_, channels, length]` gives `[_, filters, length]`, as many as windows fit. With parameters `w`,
/// `[filters, channels / groups, 1, size]`, and `b`.
///
/// * `x`: the signals.
/// * `filters`, `size`: how many filters, and how long a window is.
/// * `stride`: how far one window is from the next.
/// * `padding`: how many zeros are put in front of and behind the signals.
/// * `dilation`: how far apart the elements of a window are.
/// * `groups`: into how many groups of channels, each with filters of its own.
/// * `bias`: whether there is one.
/// * `act`: what to apply to the result.
pub fn conv1d(
    x: _,
    filters: usize,
    size: usize,
    #[default = 1] stride: usize,
    #[default = 0] padding: usize,
    #[default = 1] dilation: usize,
    #[default = 1] groups: usize,
    #[default = true] bias: bool,
    #[default = identity] act: Activation,
) -> _ {
    let flat = conv2d(
        unsqueeze(x, 2),
        filters,
        [1, size],
        stride = [1, stride],
        padding = [0, padding],
        dilation = [1, dilation],
        groups = groups,
        bias = bias,
        act = act,
    );
    squeeze(flat, 2)
}
