/// The maximum or the average of whole images: `[_, channels, height, width]` gives `[_, channels, 1, 1]`.
///
/// * `x`: the images.
/// * `kind`: what to take, `max` or `avg`.
pub fn global_pool2d(x: _, #[default = max] kind: Word) -> _ {
    adaptive_pool2d(x, 1, kind = kind)
}
