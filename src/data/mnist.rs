//! MNIST's digits, 28 × 28 pixels of 256 greys (LeCun, Cortes, Burges 1998), from a folder that the user has.
//!
//! The files are the original ones, in the format idx, compressed by gzip or not: `train-images-idx3-ubyte`,
//! `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, with or without `.gz`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{DataError, Image, gzip};
use crate::files::disk;

/// A digit.
pub type Digit = Image<28, 28>;

/// Reads the digits for training and for testing. If the folder has only the two files that begin with `t10k`, their
/// first 8,000 digits are for training and the rest for testing.
///
/// ```
/// use paddle::data::mnist;
///
/// let error = mnist::read("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("no/such/folder/t10k-images-idx3-ubyte"));
/// ```
///
/// # Errors
/// A file cannot be read, or does not have the format that its name says.
pub fn read(folder: impl AsRef<Path>) -> Result<(Vec<Digit>, Vec<Digit>), DataError> {
    let folder = folder.as_ref();
    let mut test = digits(folder, "t10k")?;
    match digits(folder, "train") {
        Ok(train) => Ok((train, test)),
        Err(DataError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            let rest = test.split_off(test.len().min(8000));
            Ok((test, rest))
        }
        Err(error) => Err(error),
    }
}

fn digits(folder: &Path, part: &str) -> Result<Vec<Digit>, DataError> {
    let images = Idx::read(folder, &format!("{part}-images-idx3-ubyte"), &[28, 28])?;
    let labels = Idx::read(folder, &format!("{part}-labels-idx1-ubyte"), &[])?;
    if images.count != labels.count {
        let (found, expected) =
            (format!("{} labels", labels.count), format!("{}, as many as images", images.count));
        return Err(DataError::Format { path: labels.path, found, expected });
    }
    if let Some(at) = labels.elements.iter().position(|&label| label > 9) {
        let (found, expected) = (format!("label {} of image {at}", labels.elements[at]), "0 to 9".into());
        return Err(DataError::Format { path: labels.path, found, expected });
    }
    let digit =
        |(pixels, &label): (&[u8], &u8)| Digit::new(pixels.iter().map(|&x| x.into()), 255.0, label.into());
    Ok(images.elements.chunks_exact(28 * 28).zip(&labels.elements).map(digit).collect())
}

/// A file of bytes in the format idx: two zeros, 8 for bytes, the number of dimensions, each dimension in four bytes,
/// the elements.
struct Idx {
    path: PathBuf,
    count: usize,
    elements: Vec<u8>,
}

impl Idx {
    /// Reads a file, packed or not, with elements of these dimensions.
    fn read(folder: &Path, name: &str, dims: &[u32]) -> Result<Idx, DataError> {
        let plain = folder.join(name);
        let packed = folder.join(format!("{name}.gz"));
        let (path, bytes) = match disk::read(&plain) {
            Err(error) if error.kind() == ErrorKind::NotFound => (packed.clone(), disk::read(&packed)),
            read => (plain, read),
        };
        let bytes = bytes.map_err(|source| DataError::Io { path: path.clone(), source })?;
        let bytes = gzip::unpack(&path, &bytes)?;
        let fail =
            |found: String, expected: String| DataError::Format { path: path.clone(), found, expected };
        let header = 4 * (dims.len() + 2);
        if bytes.len() < header {
            return Err(fail(format!("{} bytes", bytes.len()), format!("a header of {header}")));
        }
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let magic = 0x0800 + dims.len() as u32 + 1;
        if word(0) != magic {
            return Err(fail(
                format!("0x{:08x} at the start", word(0)),
                format!("0x{magic:08x}, as idx has it"),
            ));
        }
        let found: Vec<u32> = (0..dims.len()).map(|k| word(8 + 4 * k)).collect();
        if found != dims {
            return Err(fail(format!("images of {found:?} pixels"), format!("{dims:?}")));
        }
        let (count, size) = (word(4) as usize, dims.iter().product::<u32>() as usize);
        let mut elements = bytes;
        elements.drain(..header);
        if Some(elements.len()) != count.checked_mul(size) {
            return Err(fail(
                format!("{} bytes behind the header", elements.len()),
                format!("{count} times {size}"),
            ));
        }
        Ok(Idx { path, count, elements })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files. Each test has its own.
    fn folder(test: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("paddle-mnist-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
        folder
    }

    fn images(count: u32) -> Vec<u8> {
        let header = [0x0803, count, 28, 28].map(u32::to_be_bytes).concat();
        [header, vec![51; 28 * 28 * count as usize]].concat()
    }

    fn labels(of: &[u8]) -> Vec<u8> {
        [[0x0801, of.len() as u32].map(u32::to_be_bytes).concat(), of.to_vec()].concat()
    }

    fn failure(test: &str, images: Vec<u8>, labels: Vec<u8>) -> String {
        let files = [("t10k-images-idx3-ubyte", images), ("t10k-labels-idx1-ubyte", labels)];
        let folder = folder(test, &files);
        let error = read(&folder).unwrap_err().to_string();
        fs::remove_dir_all(&folder).unwrap();
        error.replace(&format!("{}/", folder.display()), "")
    }

    #[test]
    fn both_parts_or_one() {
        let t10k = [("t10k-images-idx3-ubyte", images(2)), ("t10k-labels-idx1-ubyte", labels(&[3, 9]))];
        let both = folder("both", &t10k);
        assert_eq!(read(&both).map(|(train, test)| (train.len(), test.len())).unwrap(), (2, 0));
        let train = [("train-images-idx3-ubyte", images(1)), ("train-labels-idx1-ubyte", labels(&[7]))];
        folder("both", &train);
        let (train, test) = read(&both).unwrap();
        fs::remove_dir_all(&both).unwrap();
        assert_eq!((train[0].label, train[0].pixels[27][27]), (7, 0.2));
        assert_eq!((train.len(), test.len(), test[1].label), (1, 2, 9));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let images_of = |words: [u32; 4]| words.map(u32::to_be_bytes).concat();
        let cases = [
            (vec![0, 0], labels(&[]), "t10k-images-idx3-ubyte: found 2 bytes, expected a header of 16"),
            (
                images_of([0x0801, 0, 28, 28]),
                labels(&[]),
                "t10k-images-idx3-ubyte: found 0x00000801 at the start, expected 0x00000803, as idx has it",
            ),
            (
                images_of([0x0803, 0, 28, 27]),
                labels(&[]),
                "t10k-images-idx3-ubyte: found images of [28, 27] pixels, expected [28, 28]",
            ),
            (
                images_of([0x0803, u32::MAX, 28, 28]),
                labels(&[]),
                "t10k-images-idx3-ubyte: found 0 bytes behind the header, expected 4294967295 times 784",
            ),
            (
                images(2),
                labels(&[1]),
                "t10k-labels-idx1-ubyte: found 1 labels, expected 2, as many as images",
            ),
            (images(1), labels(&[10]), "t10k-labels-idx1-ubyte: found label 10 of image 0, expected 0 to 9"),
        ];
        for (k, (images, labels, expected)) in cases.into_iter().enumerate() {
            assert_eq!(failure(&format!("wrong{k}"), images, labels), expected);
        }
        let broken = failure("gzip", vec![0x1F, 0x8B, 8, 0, 0], labels(&[]));
        assert!(broken.starts_with("t10k-images-idx3-ubyte: "), "{broken}");
    }
}
