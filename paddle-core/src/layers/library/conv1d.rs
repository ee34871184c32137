/// Filters along signals: `[_, channels, length]` gives `[_, filters, length]`, as many as windows fit. With parameters
/// `flat.w`, `[filters, channels / groups, 1, size]`, and `flat.b`.
///
/// * `x`: the signals.
/// * `filters`, `size`: how many filters, and how long a window is.
/// * `stride`: how far one window is from the next.
/// * `padding`: how many zeros are put in front of and behind the signals.
/// * `causal`: whether as many zeros more are put in front of the signals as a window reaches back: then a result depends on no
///   later element, and there are as many results as elements.
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
    #[default = false] causal: bool,
    #[default = 1] dilation: usize,
    #[default = 1] groups: usize,
    #[default = true] bias: bool,
    #[default = identity] act: Activation,
) -> _ {
    let line = unsqueeze(x, 2);
    let before = if causal { pad(line, [0, 0, 0, 0, dilation * (size - 1), 0]) } else { line };
    let flat = conv2d(
        before,
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
