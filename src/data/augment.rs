//! Changes of images, by which a training sees more of them than there are.
//!
//! [`Reader::with_random`](crate::reader::Reader::with_random) gives each image random numbers of its own, which are the same in
//! every run. What is made of them is up to the caller: these functions draw nothing.
//!
//! ```
//! use paddle::data::{augment, digits};
//! use paddle::reader::{DataSet, Random, Reader};
//!
//! let images = &digits::images()[..100];
//! let changed = |(digit, mut random): (&paddle::data::Image<8, 8>, Random)| {
//!     let mut pixels = digit.pixels;
//!     augment::shift(&mut pixels, random.between(-1, 1), random.between(-1, 1), 0.0);
//!     augment::rotate(&mut pixels, 10.0 * random.normal(), 0.0);
//!     (pixels, digit.label)
//! };
//! let reader = images.passes(10).shuffle(100).with_random(7).map_data(changed).batch(32);
//! # let again = images.passes(10).shuffle(100).with_random(7).map_data(changed).batch(32);
//! # assert!(reader.eq(again));
//! ```

use ndarray::{Array3, ArrayView3, ArrayViewMut3, s};

/// An image: its channels, each with rows of pixels. Arrays in the form of a network's rows are images, of one channel or of
/// several, and so are arrays of `ndarray` with three axes.
///
/// ```
/// use paddle::data::augment::{Pixels, flip};
///
/// let mut grey = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// assert_eq!(grey.channels().dim(), (1, 2, 3));
/// flip(&mut grey);
/// assert_eq!(grey, [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]);
/// ```
pub trait Pixels {
    /// The pixels, by channel, row and column.
    fn channels(&mut self) -> ArrayViewMut3<'_, f32>;
}

/// A view of these pixels.
fn view(pixels: &mut [f32], shape: (usize, usize, usize)) -> ArrayViewMut3<'_, f32> {
    ArrayViewMut3::from_shape(shape, pixels).expect("there are as many pixels as the array has")
}

impl<const H: usize, const W: usize> Pixels for [[f32; W]; H] {
    fn channels(&mut self) -> ArrayViewMut3<'_, f32> {
        view(self.as_flattened_mut(), (1, H, W))
    }
}

impl<const C: usize, const H: usize, const W: usize> Pixels for [[[f32; W]; H]; C] {
    fn channels(&mut self) -> ArrayViewMut3<'_, f32> {
        view(self.as_flattened_mut().as_flattened_mut(), (C, H, W))
    }
}

impl Pixels for Array3<f32> {
    fn channels(&mut self) -> ArrayViewMut3<'_, f32> {
        self.view_mut()
    }
}

/// Replaces each pixel by what `at` says of its channel, with its row and column.
fn replace(image: &mut impl Pixels, at: impl Fn(ArrayView3<'_, f32>, [usize; 3]) -> f32) {
    let mut pixels = image.channels();
    let before = pixels.to_owned();
    pixels.indexed_iter_mut().for_each(|((channel, row, column), to)| {
        *to = at(before.view(), [channel, row, column]);
    });
}

/// A pixel that may be outside, where `fill` is.
fn pixel(image: ArrayView3<'_, f32>, channel: usize, row: isize, column: isize, fill: f32) -> f32 {
    let place = usize::try_from(row).ok().zip(usize::try_from(column).ok());
    place.and_then(|(row, column)| image.get([channel, row, column]).copied()).unwrap_or(fill)
}

/// Moves an image down and to the right, or up and to the left by numbers below 0. What comes in is `fill`.
///
/// ```
/// let mut image = [[1.0, 2.0], [3.0, 4.0]];
/// paddle::data::augment::shift(&mut image, 1, -1, 9.0);
/// assert_eq!(image, [[9.0, 9.0], [2.0, 9.0]]);
/// ```
pub fn shift(image: &mut impl Pixels, down: isize, right: isize, fill: f32) {
    replace(image, |before, [channel, row, column]| {
        let from = |at: usize, by: isize| (at as isize).checked_sub(by).unwrap_or(-1);
        pixel(before, channel, from(row, down), from(column, right), fill)
    });
}

/// Exchanges left and right.
///
/// ```
/// let mut image = [[[1.0, 2.0]], [[3.0, 4.0]]];
/// paddle::data::augment::flip(&mut image);
/// assert_eq!(image, [[[2.0, 1.0]], [[4.0, 3.0]]]);
/// ```
pub fn flip(image: &mut impl Pixels) {
    let mut pixels = image.channels();
    for mut row in pixels.rows_mut() {
        for column in 0..row.len() / 2 {
            let last = row.len() - 1 - column;
            row.swap(column, last);
        }
    }
}

/// Turns an image about its centre by these degrees, against the clock. Each pixel is the bilinear mean of the four where it was;
/// what comes in is `fill`.
///
/// ```
/// let mut image = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]];
/// paddle::data::augment::rotate(&mut image, 90.0, 0.0);
/// assert!((image[0][1] - 1.0).abs() < 1e-6 && image[1][2].abs() < 1e-6);
/// ```
pub fn rotate(image: &mut impl Pixels, degrees: f32, fill: f32) {
    let (_, height, width) = image.channels().dim();
    let (middle, centre) = ((height as f64 - 1.0) / 2.0, (width as f64 - 1.0) / 2.0);
    let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
    replace(image, |before, [channel, row, column]| {
        let (y, x) = (row as f64 - middle, column as f64 - centre);
        let (from_row, from_column) = (middle + sin * x + cos * y, centre + cos * x - sin * y);
        let (top, left) = (from_row.floor(), from_column.floor());
        let (below, beside) = ((from_row - top) as f32, (from_column - left) as f32);
        let at = |down: isize, right: isize| {
            pixel(before, channel, top as isize + down, left as isize + right, fill)
        };
        let upper = (1.0 - beside) * at(0, 0) + beside * at(0, 1);
        let lower = (1.0 - beside) * at(1, 0) + beside * at(1, 1);
        (1.0 - below) * upper + below * lower
    });
}

/// The part of an image of `H` rows of `W` pixels whose first pixel is in this row and column. What is outside of the image is
/// `fill`, so a part may begin above and to the left of it, by numbers below 0.
///
/// ```
/// let mut image = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// assert_eq!(paddle::data::augment::crop(&mut image, 1, 1, 0.0), [[[5.0, 6.0], [0.0, 0.0]]]);
/// ```
pub fn crop<const C: usize, const H: usize, const W: usize>(
    image: &mut impl Pixels,
    row: isize,
    column: isize,
    fill: f32,
) -> [[[f32; W]; H]; C] {
    let pixels = image.channels();
    let place = |first: isize, at: usize| first.saturating_add(at as isize);
    std::array::from_fn(|channel| {
        std::array::from_fn(|y| {
            std::array::from_fn(|x| pixel(pixels.view(), channel, place(row, y), place(column, x), fill))
        })
    })
}

/// Fills a rectangle, the part of it that is inside of the image: DeVries and Taylor, "Improved regularization of convolutional
/// neural networks with cutout", 2017. It begins in this row and column, which may be below 0.
///
/// ```
/// let mut image = [[1.0; 3]; 3];
/// paddle::data::augment::cut_out(&mut image, [-1, 1], [3, 9], 0.0);
/// assert_eq!(image, [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]);
/// ```
pub fn cut_out(image: &mut impl Pixels, begin: [isize; 2], size: [usize; 2], fill: f32) {
    let mut pixels = image.channels();
    let (_, height, width) = pixels.dim();
    let range = |begin: isize, size: usize, length: usize| {
        let end = begin.saturating_add_unsigned(size);
        let inside = |at: isize| usize::try_from(at).unwrap_or(0).min(length);
        inside(begin)..inside(end)
    };
    let (rows, columns) = (range(begin[0], size[0], height), range(begin[1], size[1], width));
    pixels.slice_mut(s![.., rows, columns]).fill(fill);
}

/// Mixes two images: `share · image + (1 - share) · other`, and labels alike, as probabilities of classes: Zhang and others,
/// "mixup: beyond empirical risk minimization", 2018. The share is drawn by [`Random::beta`](crate::reader::Random::beta). What
/// one has and the other has not stays as it is.
///
/// ```
/// let (mut image, other) = ([[1.0, 0.0]], [[0.0, 0.5]]);
/// paddle::data::augment::mix_up(image.as_flattened_mut(), other.as_flattened(), 0.75);
/// assert_eq!(image, [[0.75, 0.125]]);
/// let mut label = [0.0, 1.0];
/// paddle::data::augment::mix_up(&mut label, &[1.0, 0.0], 0.75);
/// assert_eq!(label, [0.25, 0.75]);
/// ```
pub fn mix_up(values: &mut [f32], others: &[f32], share: f32) {
    for (value, other) in values.iter_mut().zip(others) {
        *value = share * *value + (1.0 - share) * other;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;

    fn image() -> Array3<f32> {
        Array3::from_shape_fn((2, 4, 5), |(channel, row, column)| (100 * channel + 10 * row + column) as f32)
    }

    fn changed(change: impl Fn(&mut Array3<f32>)) -> Array3<f32> {
        let mut image = image();
        change(&mut image);
        image
    }

    #[test]
    fn shifts_go_there_and_back() {
        let inside = s![.., 1..4, 0..3];
        let there = changed(|image| shift(image, -1, 2, -1.0));
        assert_eq!(there.slice(s![.., 0..3, 2..5]), image().slice(inside));
        assert_eq!(there.iter().filter(|&&pixel| pixel == -1.0).count(), 2 * (20 - 9));
        let gone = changed(|image| shift(image, isize::MIN, isize::MAX, -1.0));
        assert!(gone.iter().all(|&pixel| pixel == -1.0));
        assert_eq!(changed(|image| shift(image, 0, 0, -1.0)), image());
    }

    #[test]
    fn two_flips_are_none() {
        assert_eq!(changed(|image| [(); 2].iter().for_each(|()| flip(image))), image());
        let once = changed(flip);
        assert_eq!(once.index_axis(Axis(2), 0), image().index_axis(Axis(2), 4));
    }

    #[test]
    fn four_right_angles_are_none_and_no_angle_changes_nothing() {
        let square = Array3::from_shape_fn((1, 5, 5), |(_, row, column)| (10 * row + column) as f32);
        let mut turned = square.clone();
        rotate(&mut turned, 90.0, -1.0);
        // Against the clock: the last column becomes the first row.
        let close = |a: &Array3<f32>, b: &Array3<f32>| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);
        assert!(
            (turned[[0, 0, 0]] - 4.0).abs() < 1e-3 && (turned[[0, 0, 4]] - 44.0).abs() < 1e-3,
            "{turned}"
        );
        (0..3).for_each(|_| rotate(&mut turned, 90.0, -1.0));
        assert!(close(&turned, &square), "{turned}");
        assert_eq!(changed(|image| rotate(image, 0.0, -1.0)), image());
        // The corners are cut off: what was there is outside, but for the border that the means blur.
        let mut ones = Array3::ones((1, 5, 5));
        rotate(&mut ones, 45.0, 0.0);
        assert!(ones[[0, 2, 2]] == 1.0 && ones[[0, 0, 0]] < 0.2 && ones[[0, 4, 4]] < 0.2, "{ones}");
    }

    #[test]
    fn parts_and_holes_are_cut_at_the_border() {
        let part: [[[f32; 2]; 3]; 2] = crop(&mut image(), -1, 4, 7.0);
        assert_eq!(part[1], [[7.0, 7.0], [104.0, 7.0], [114.0, 7.0]]);
        let holes = |begin, size| changed(|image| cut_out(image, begin, size, -1.0));
        let filled = |image: Array3<f32>| image.iter().filter(|&&pixel| pixel == -1.0).count();
        assert_eq!(filled(holes([1, 1], [2, 3])), 2 * 6);
        assert_eq!(filled(holes([-1, 3], [2, usize::MAX])), 2 * 2);
        assert_eq!(filled(holes([4, 0], [1, 1])), 0);
        assert_eq!(filled(holes([-5, 0], [5, 5])), 0);
    }
}
