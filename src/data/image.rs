//! Grey images of one size, with what is on them.

/// A grey image of `H` rows of `W` pixels, and its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image<const H: usize, const W: usize> {
    /// Row by row, from 0, the background, to 1.
    pub pixels: [[f32; W]; H],
    /// The class, from 0.
    pub label: i64,
}

impl<const H: usize, const W: usize> Image<H, W> {
    /// From `H · W` numbers, row by row, of which `white` is the largest.
    pub(super) fn new(numbers: impl IntoIterator<Item = f32>, white: f32, label: i64) -> Self {
        let mut pixels = [[0.0; W]; H];
        for (pixel, number) in pixels.as_flattened_mut().iter_mut().zip(numbers) {
            *pixel = number / white;
        }
        Image { pixels, label }
    }
}
