//! Grids of small images as one picture.

use std::io::{self, ErrorKind};
use std::path::Path;

use ndarray::{ArrayBase, ArrayView4, Axis, Data, Ix3, Ix4};
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
    super::write(path.as_ref(), draw(images.view().insert_axis(Axis(1)), columns))
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
        Ok(Grid { png: draw(images.view().insert_axis(Axis(1)), columns)? })
    }

    /// The picture as a file in the format PNG has it.
    pub fn png(&self) -> &[u8] {
        &self.png
    }
}

/// Draws images in colour, `[count, 3, height, width]`, whose channels are red, green and blue, like [`grid`].
///
/// ```
/// use ndarray::Array4;
///
/// // From black to red.
/// let images = Array4::from_shape_fn((10, 3, 8, 8), |(i, channel, _, _)| if channel == 0 { i as f32 / 9.0 } else { 0.0 });
/// # let path = std::env::temp_dir().join(format!("paddle-colour-grid-{}.png", std::process::id()));
/// paddle::plot::colour_grid(&path, &images, 5)?;
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::FileError>(())
/// ```
///
/// # Errors
/// There is no image, an image has no pixels or other than three channels, `columns` is 0, or the file cannot be written.
pub fn colour_grid<A: Data<Elem = f32>>(
    path: impl AsRef<Path>,
    images: &ArrayBase<A, Ix4>,
    columns: usize,
) -> Result<(), FileError> {
    let picture = match images.dim().1 {
        3 => draw(images.view(), columns),
        found => {
            let said = format!("found images of {found} channels, expected red, green and blue");
            Err(io::Error::new(ErrorKind::InvalidInput, said))
        }
    };
    super::write(path.as_ref(), picture)
}

/// Images of one channel, which is grey, or of three.
fn draw(images: ArrayView4<'_, f32>, columns: usize) -> io::Result<Vec<u8>> {
    let nothing =
        || io::Error::new(ErrorKind::InvalidInput, "there is no image to draw, or no column for it");
    let (count, channels, height, width) = images.dim();
    let columns = columns.min(count);
    if columns == 0 || height == 0 || width == 0 {
        return Err(nothing());
    }
    let (factor, (gap, grey)) = ((SIZE / height.max(width)).max(1), GAP);
    let (step_x, step_y) = (width * factor + gap, height * factor + gap);
    let (across, down) = (columns * step_x + gap, count.div_ceil(columns) * step_y + gap);
    let mut pixels = vec![grey; across * down * channels];
    for ((i, channel, y, x), &value) in images.indexed_iter() {
        // The cast turns NaN into 0.
        let value = (255.0 * value.clamp(0.0, 1.0)).round() as u8;
        let left = gap + i % columns * step_x + x * factor;
        let top = gap + i / columns * step_y + y * factor;
        for row in top..top + factor {
            for column in left..left + factor {
                pixels[(row * across + column) * channels + channel] = value;
            }
        }
    }
    let colour = if channels == 1 { ColorType::Grayscale } else { ColorType::Rgb };
    encode(&pixels, across, down, colour).map_err(io::Error::other)
}

fn encode(pixels: &[u8], width: usize, height: usize, colour: ColorType) -> Result<Vec<u8>, EncodingError> {
    let mut picture = Vec::new();
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut picture, side(width), side(height));
    encoder.set_color(colour);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, Array4};

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
        let (pixels, width) = decoded(&draw(images.view().insert_axis(Axis(1)), 2).unwrap());
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
            let error = draw(Array3::zeros(shape).view().insert_axis(Axis(1)), columns).unwrap_err();
            assert_eq!(error.to_string(), "there is no image to draw, or no column for it");
        }
    }
    #[test]
    fn channels_are_red_green_and_blue() {
        let images = Array4::from_shape_fn((2, 3, 32, 32), |(i, channel, _, _)| {
            [[1.0, 0.5, 0.0], [0.0; 3]][i][channel]
        });
        let (pixels, width) = decoded(&draw(images.view(), 2).unwrap());
        let at = |x: usize, y: usize| &pixels[3 * (y * width + x)..][..3];
        assert_eq!(
            (at(1, 1), at(2, 2), at(33, 33), at(34, 2)),
            (&[64; 3][..], &[255, 128, 0][..], &[255, 128, 0][..], &[64; 3][..])
        );
        assert_eq!((at(36, 2), pixels.len()), (&[0; 3][..], 3 * 70 * 36));
        let path = std::env::temp_dir().join("paddle-no-colours.png");
        let error = colour_grid(&path, &Array4::zeros((1, 2, 8, 8)), 1).unwrap_err();
        assert!(
            error.to_string().contains("found images of 2 channels, expected red, green and blue"),
            "{error}"
        );
    }
}
