//! Grids of small images as one picture.

use std::io::{self, ErrorKind};
use std::path::Path;

use ndarray::{ArrayBase, ArrayView3, Data, Ix3};
use png::{BitDepth, ColorType, Encoder, EncodingError};

use crate::files::FileError;

/// The size to which smaller images are enlarged, in pixels.
const SIZE: usize = 32;

/// The width of the gap between images in pixels, and its grey.
const GAP: (usize, u8) = (2, 64);

/// Draws grey images, `[count, height, width]`, into a PNG file, row by row. 0 is black and 1 is white; values beyond
/// are cut off, and NaN is black. The file is written as a whole or not at all.
///
/// ```
/// use ndarray::Array3;
///
/// let images = Array3::from_shape_fn((10, 8, 8), |(i, y, x)| if x == y { i as f32 / 9.0 } else { 0.0 });
/// # let path = std::env::temp_dir().join(format!("paddle-grid-{}.png", std::process::id()));
/// paddle::plot::grid(&path, &images, 5)?;
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::FileError>(())
/// ```
///
/// # Errors
/// There is no image, an image has no pixels, `columns` is 0, or the file cannot be written.
pub fn grid<A: Data<Elem = f32>>(
    path: impl AsRef<Path>,
    images: &ArrayBase<A, Ix3>,
    columns: usize,
) -> Result<(), FileError> {
    super::write(path.as_ref(), draw(images.view(), columns))
}

/// Such a picture without a file, which notebooks show: see [`notebook`](crate::notebook).
#[derive(Clone, Debug)]
pub struct Grid {
    png: Vec<u8>,
}

impl Grid {
    /// Draws grey images as [`grid`] does.
    ///
    /// # Errors
    /// There is no image, an image has no pixels, or `columns` is 0.
    pub fn new<A: Data<Elem = f32>>(images: &ArrayBase<A, Ix3>, columns: usize) -> io::Result<Self> {
        Ok(Grid { png: draw(images.view(), columns)? })
    }

    /// The picture as a file in the format PNG has it.
    pub fn png(&self) -> &[u8] {
        &self.png
    }
}

fn draw(images: ArrayView3<'_, f32>, columns: usize) -> io::Result<Vec<u8>> {
    let nothing =
        || io::Error::new(ErrorKind::InvalidInput, "there is no image to draw, or no column for it");
    let (count, height, width) = images.dim();
    let columns = columns.min(count);
    if columns == 0 || height == 0 || width == 0 {
        return Err(nothing());
    }
    let (factor, (gap, grey)) = ((SIZE / height.max(width)).max(1), GAP);
    let (step_x, step_y) = (width * factor + gap, height * factor + gap);
    let (across, down) = (columns * step_x + gap, count.div_ceil(columns) * step_y + gap);
    let mut pixels = vec![grey; across * down];
    for ((i, y, x), &value) in images.indexed_iter() {
        // The cast turns NaN into 0.
        let value = (255.0 * value.clamp(0.0, 1.0)).round() as u8;
        let left = gap + i % columns * step_x + x * factor;
        let top = gap + i / columns * step_y + y * factor;
        for row in top..top + factor {
            pixels[row * across + left..][..factor].fill(value);
        }
    }
    encode(&pixels, across, down).map_err(io::Error::other)
}

fn encode(pixels: &[u8], width: usize, height: usize) -> Result<Vec<u8>, EncodingError> {
    let mut picture = Vec::new();
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut picture, side(width), side(height));
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    /// The pixels of a picture, and its width.
    fn decoded(picture: &[u8]) -> (Vec<u8>, usize) {
        let mut reader = png::Decoder::new(io::Cursor::new(picture)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (pixels, info.width as usize)
    }

    #[test]
    fn each_image_is_where_it_belongs() {
        // Images of 16 × 8 pixels, which are doubled in size.
        let images = Array3::from_shape_fn((3, 16, 8), |(i, y, x)| match (i, y, x) {
            (1, 2, 3) => 1.0,
            (2, 15, 7) => 0.5,
            (0, 0, 0) => 7.0,
            (0, 0, 1) => f32::NAN,
            _ => -1.0,
        });
        let (pixels, width) = decoded(&draw(images.view(), 2).unwrap());
        assert_eq!((width, pixels.len()), (2 * 18 + 2, width * (2 * 34 + 2)));
        let mut expected = vec![64; pixels.len()];
        for (i, y, x) in [(0, 0, 0), (1, 0, 0), (2, 0, 0)] {
            let (left, top) = (2 + i % 2 * 18 + x, 2 + i / 2 * 34 + y);
            (top..top + 32).for_each(|row| expected[row * width + left..][..16].fill(0));
        }
        for (left, top, value) in [(2, 2, 255), (20 + 6, 2 + 4, 255), (2 + 14, 36 + 30, 128)] {
            (top..top + 2).for_each(|row| expected[row * width + left..][..2].fill(value));
        }
        assert_eq!(pixels, expected);
    }

    #[test]
    fn nothing_to_draw_is_an_error() {
        for (shape, columns) in [((0, 8, 8), 2), ((2, 0, 8), 2), ((2, 8, 0), 2), ((2, 8, 8), 0)] {
            let error = draw(Array3::zeros(shape).view(), columns).unwrap_err();
            assert_eq!(error.to_string(), "there is no image to draw, or no column for it");
        }
    }
}
