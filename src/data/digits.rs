//! 1,797 digits written by 13 people, 8 × 8 pixels of 17 greys (Alpaydin, Kaynak 1998), embedded.
//!
//! `src/data/README.md` has the origin and the licence.

use std::path::Path;

use super::{Image, gzip, table};

/// All digits, in the order of the file.
///
/// ```
/// use paddle::data::digits;
///
/// let images = digits::images();
/// assert_eq!(images.len(), 1797);
/// assert_eq!((images[0].label, images[0].pixels[0][3]), (0, 13.0 / 16.0));
/// ```
pub fn images() -> Vec<Image<8, 8>> {
    let path = Path::new("digits.csv.gz");
    let rows = gzip::unpack(path, include_bytes!("digits.csv.gz"))
        .and_then(|bytes| table::parse::<64>(path, &bytes))
        .expect("the embedded file is valid");
    rows.into_iter().map(|row| Image::new(row.features, 16.0, row.target as i64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of scikit-learn's file, taken by Python.
    #[test]
    fn the_embedded_file_is_complete() {
        let images = images();
        let sum = |image: &Image<8, 8>| {
            image.pixels.as_flattened().iter().map(|&x| f64::from(16.0 * x)).sum::<f64>()
        };
        assert_eq!(images.iter().map(sum).sum::<f64>(), 561_718.0);
        assert_eq!(images.iter().map(|image| image.label).sum::<i64>(), 8070);
        assert!(images.iter().all(|image| (0..10).contains(&image.label)));
        assert!(
            images.iter().all(|image| image.pixels.as_flattened().iter().all(|x| (0.0..=1.0).contains(x)))
        );
    }
}
