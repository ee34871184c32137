/// The maximum or the average of windows that slide over signals: `[_, channels, length]` gives
/// `[_, channels, (length + 2 padding - size) / stride + 1]`.
///
/// * `x`: the signals.
/// * `size`: how long a window is.
/// * `kind`: what to take of a window, `max` or `avg`.
/// * `stride`: how far a window is from the next; `size` if it is 0, so that windows lie side by side.
/// * `padding`: how many elements, which are no maximum and count for no average, are put in front of and behind the signals.
pub fn pool1d(
    x: _,
    size: usize,
    #[default = max] kind: Word,
    #[default = 0] stride: usize,
    #[default = 0] padding: usize,
) -> _ {
    let step = if stride == 0 { size } else { stride };
    squeeze(pool2d(unsqueeze(x, 2), [1, size], kind = kind, stride = [1, step], padding = [0, padding]), 2)
}
