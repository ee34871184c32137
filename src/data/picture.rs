//! Pictures in colour of one size, with their classes.

use std::path::Path;

use super::DataError;

/// The width and height of a picture in pixels.
const SIDE: usize = 32;

/// A picture of 32 × 32 pixels in colour, and its class.
///
/// ```
/// let (learned, _, _) = paddle::data::pictures::parts();
/// let [red, green, blue] = learned[0].pixels;
/// assert_eq!((red.len(), green[0].len()), (32, 32));
/// assert!((0.0..=1.0).contains(&blue[31][31]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture {
    /// Red, green and blue, each row by row, from 0 (none) to 1.
    pub pixels: [[[f32; SIDE]; SIDE]; 3],
    /// The class, from 0.
    pub label: i64,
}

/// The bytes of the pixels of a picture.
const PIXELS: usize = 3 * SIDE * SIDE;

/// Pictures as bytes: of each its class, `N` more bytes, then red, green and blue, row by row. They are read as pairs of the
/// `N` bytes and the picture.
pub(super) fn parse<const N: usize>(
    path: &Path,
    bytes: &[u8],
    classes: u8,
) -> Result<Vec<([u8; N], Picture)>, DataError> {
    let size = 1 + N + PIXELS;
    let failed = |offset: usize, found: String, expected: String| DataError::Bytes {
        path: path.into(),
        offset: offset as u64,
        found,
        expected,
    };
    let rest = bytes.len() % size;
    if rest > 0 || bytes.is_empty() {
        let expected = format!("pictures of {size} bytes each");
        return Err(failed(bytes.len() - rest, format!("{rest} bytes up to the end"), expected));
    }
    let pictures = bytes.chunks_exact(size).zip((0..).step_by(size)).map(|(of, offset)| {
        if of[0] >= classes {
            return Err(failed(offset, format!("class {}", of[0]), format!("0 to {}", classes - 1)));
        }
        let mut picture = Picture { pixels: [[[0.0; SIDE]; SIDE]; 3], label: of[0].into() };
        let pixels = picture.pixels.as_flattened_mut().as_flattened_mut();
        pixels.iter_mut().zip(&of[1 + N..]).for_each(|(to, &byte)| *to = f32::from(byte) / 255.0);
        Ok((std::array::from_fn(|k| of[1 + k]), picture))
    });
    pictures.collect()
}
