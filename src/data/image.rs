//! Grey images of one size, with their classes.

/// A grey image of `H` rows of `W` pixels, and its class.
///
/// ```
/// let digit = &paddle::data::digits::images()[0];
/// assert_eq!((digit.pixels.len(), digit.pixels[0].len()), (8, 8));
/// assert!(digit.pixels.as_flattened().iter().all(|pixel| (0.0..=1.0).contains(pixel)));
/// assert!((0..10).contains(&digit.label));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image<const H: usize, const W: usize> {
    /// The grey of each pixel, row by row, from 0 (background) to 1.
    pub pixels: [[f32; W]; H],
    /// The class, from 0.
    pub label: i64,
}

impl<const H: usize, const W: usize> Image<H, W> {
    /// An image from `H · W` numbers, row by row. `white` is the largest number.
    pub(super) fn new(numbers: impl IntoIterator<Item = f32>, white: f32, label: i64) -> Self {
        let mut pixels = [[0.0; W]; H];
        for (pixel, number) in pixels.as_flattened_mut().iter_mut().zip(numbers) {
            *pixel = number / white;
        }
        Image { pixels, label }
    }
}
