//! The 60,000 photographs of CIFAR-10 (Krizhevsky, "Learning multiple layers of features from tiny images", 2009), 32 × 32
//! pixels in colour, from a folder that the user has.
//!
//! The files are those of the binary version: `data_batch_1.bin` to `data_batch_5.bin`, and `test_batch.bin`.

use std::path::Path;

use super::picture::{self, Picture};
use super::{DataError, gzip};
use crate::files::disk;

/// The classes, in the order of their numbers.
pub const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Reads the photographs for training and for testing, in the order of the files.
///
/// ```
/// use paddle::data::cifar;
///
/// let error = cifar::read("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("no/such/folder/data_batch_1.bin"));
/// ```
///
/// # Errors
/// A file cannot be read, does not consist of pictures, or has a class that is none of the ten; the error has file and offset.
pub fn read(folder: impl AsRef<Path>) -> Result<(Vec<Picture>, Vec<Picture>), DataError> {
    let folder = folder.as_ref();
    let mut training = Vec::new();
    for part in 1..=5 {
        training.extend(pictures(&folder.join(format!("data_batch_{part}.bin")))?);
    }
    Ok((training, pictures(&folder.join("test_batch.bin"))?))
}

fn pictures(path: &Path) -> Result<Vec<Picture>, DataError> {
    let bytes = disk::read(path).map_err(|source| DataError::Io { path: path.into(), source })?;
    let pictures = picture::parse::<0>(path, &gzip::unpack(path, &bytes)?, CLASSES.len() as u8)?;
    Ok(pictures.into_iter().map(|([], picture)| picture).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is read of a folder with these bytes as `data_batch_3.bin`, and one picture in each other file.
    fn read_with(test: &str, third: &[u8]) -> Result<(Vec<Picture>, Vec<Picture>), String> {
        let folder = std::env::temp_dir().join(format!("paddle-cifar-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for part in 1..=5 {
            let bytes = [&[part][..], &[51; 3072]].concat();
            fs::write(folder.join(format!("data_batch_{part}.bin")), bytes).unwrap();
        }
        fs::write(folder.join("data_batch_3.bin"), third).unwrap();
        fs::write(folder.join("test_batch.bin"), [&[9][..], &[255; 3072]].concat()).unwrap();
        let pictures = read(&folder);
        fs::remove_dir_all(&folder).unwrap();
        pictures.map_err(|error| error.to_string().replace(&format!("{}/", folder.display()), ""))
    }

    #[test]
    fn files_are_read_in_order() {
        // Red, green and blue of the second picture are different.
        let second = [&[7][..], &[0; 1024], &[102; 1024], &[204; 1024]].concat();
        let third = [&[3][..], &[51; 3072], &second].concat();
        let (training, testing) = read_with("order", &third).unwrap();
        let labels: Vec<_> = training.iter().map(|picture| picture.label).collect();
        assert_eq!((labels, testing[0].label), (vec![1, 2, 3, 7, 4, 5], 9));
        assert_eq!(training[3].pixels.map(|colour| colour[31][0]), [0.0, 0.4, 0.8]);
        assert_eq!((training[0].pixels[2][0][0], testing[0].pixels[0][0][0]), (0.2, 1.0));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let one = [&[3][..], &[51; 3072]].concat();
        let cases = [
            (one[..3000].to_vec(), "data_batch_3.bin, byte 0: found 3000 bytes up to the end"),
            ([&one[..], &[1; 5]].concat(), "data_batch_3.bin, byte 3073: found 5 bytes up to the end"),
            (vec![], "data_batch_3.bin, byte 0: found 0 bytes up to the end"),
        ];
        for (k, (bytes, said)) in cases.into_iter().enumerate() {
            let expected = format!("{said}, expected pictures of 3073 bytes each");
            assert_eq!(read_with(&format!("short{k}"), &bytes).unwrap_err(), expected);
        }
        let wrong = [&one[..], &[10], &[0; 3072]].concat();
        let said = "data_batch_3.bin, byte 3073: found class 10, expected 0 to 9";
        assert_eq!(read_with("class", &wrong).unwrap_err(), said);
    }
}
