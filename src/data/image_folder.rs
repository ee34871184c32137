//! Images in folders, one for each class.

use std::path::{Path, PathBuf};

use image::ImageReader;
use image::imageops::FilterType;

use super::DataError;
use crate::files::disk;

/// The ends of the names of images that are read.
const ENDS: [&str; 6] = ["bmp", "gif", "jpeg", "jpg", "png", "webp"];

/// A folder that has a folder of images for each class.
///
/// ```
/// use paddle::data::ImageFolder;
///
/// let error = ImageFolder::open("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("no/such/folder: "));
/// ```
///
/// Images are read when they are needed, on several threads if need be:
///
/// ```no_run
/// use paddle::data::{ImageFolder, read_image};
/// use paddle::reader::{DataSet, Reader};
///
/// let folder = ImageFolder::open("flowers")?;
/// let reader = folder.files.passes(10).shuffle(1 << 16).parallel_map(4, |(path, class)| {
///     read_image::<3, 32, 32>(&path).map(|pixels| (pixels, class))
/// });
/// let batches = reader.try_map_data(|row| row).batch(64);
/// # Ok::<(), paddle::data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFolder {
    /// The names of the classes: those of the folders, sorted.
    pub classes: Vec<String>,
    /// The images, by class, sorted by name, each with the number of its class.
    pub files: Vec<(PathBuf, i64)>,
}

impl ImageFolder {
    /// Finds the images: files that end in `.bmp`, `.gif`, `.jpeg`, `.jpg`, `.png` or `.webp`. Others are left out.
    ///
    /// # Errors
    /// A folder cannot be read, or there is no image ([`DataError::Format`]).
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, DataError> {
        let folder = folder.as_ref();
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source| DataError::Io { path, source }
        };
        let (mut classes, mut files) = (Vec::new(), Vec::new());
        for name in sorted(disk::folders(folder).map_err(failed(folder))?) {
            let of_class = folder.join(&name);
            let names = sorted(disk::names(&of_class).map_err(failed(&of_class))?);
            let images = names.into_iter().map(|name| of_class.join(name)).filter(|path| is_image(path));
            files.extend(images.map(|path| (path, classes.len() as i64)));
            classes.push(name.to_string_lossy().into_owned());
        }
        if files.is_empty() {
            let (found, expected) =
                ("no images".to_string(), "folders of images, one for each class".to_string());
            return Err(DataError::Format { path: folder.to_path_buf(), found, expected });
        }
        Ok(ImageFolder { classes, files })
    }
}

fn sorted<T: Ord>(mut names: Vec<T>) -> Vec<T> {
    names.sort();
    names
}

fn is_image(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase);
    end.is_some_and(|end| ENDS.contains(&end.as_str()))
}

/// Reads an image with `C` channels, 1 for grey or 3 for red, green and blue, of `H` rows of `W` pixels, from 0 (black) to 1. An
/// image of another size is stretched to it, as a whole, by linear filters.
///
/// ```
/// let error = paddle::data::read_image::<3, 8, 8>("no/such.png").unwrap_err();
/// assert!(error.to_string().starts_with("no/such.png: "));
/// ```
///
/// # Errors
/// The file cannot be read, is no image, or `C` is neither 1 nor 3.
pub fn read_image<const C: usize, const H: usize, const W: usize>(
    path: impl AsRef<Path>,
) -> Result<[[[f32; W]; H]; C], DataError> {
    let path = path.as_ref();
    let wrong = |why: String| DataError::Image { path: path.to_path_buf(), why };
    let bytes = disk::read(path).map_err(|source| DataError::Io { path: path.to_path_buf(), source })?;
    let reader = ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format();
    let decoded = reader.map_err(|error| wrong(error.to_string()))?.decode();
    let mut decoded = decoded.map_err(|error| wrong(error.to_string()))?;
    let (width, height) = (W as u32, H as u32);
    if (decoded.width(), decoded.height()) != (width, height) {
        decoded = decoded.resize_exact(width, height, FilterType::Triangle);
    }
    let values = match C {
        1 => decoded.to_luma8().into_raw(),
        3 => decoded.to_rgb8().into_raw(),
        _ => return Err(wrong(format!("{C} channels were asked for, expected 1 or 3"))),
    };
    let mut pixels = [[[0.0; W]; H]; C];
    for (at, value) in values.into_iter().enumerate() {
        pixels[at % C][at / C / W][at / C % W] = f32::from(value) / 255.0;
    }
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_are_classes_and_bytes_are_pixels() {
        let folder = std::env::temp_dir().join(format!("paddle-images-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for class in ["b", "a"] {
            fs::create_dir_all(folder.join(class)).unwrap();
        }
        assert!(matches!(ImageFolder::open(&folder), Err(DataError::Format { .. })));
        let mut image = image::RgbImage::new(3, 2);
        image.put_pixel(2, 1, image::Rgb([255, 51, 0]));
        for name in ["a/2.png", "a/1.PNG", "b/0.png"] {
            image.save_with_format(folder.join(name), image::ImageFormat::Png).unwrap();
        }
        fs::write(folder.join("b/notes.txt"), "no image").unwrap();
        let found = ImageFolder::open(&folder).unwrap();
        assert_eq!(found.classes, ["a", "b"]);
        let expected = [("a/1.PNG", 0), ("a/2.png", 0), ("b/0.png", 1)];
        assert_eq!(found.files, expected.map(|(name, class)| (folder.join(name), class)));

        let pixels = read_image::<3, 2, 3>(&found.files[0].0).unwrap();
        assert_eq!(
            [pixels[0][1][2], pixels[1][1][2], pixels[2][1][2], pixels[0][0][0]],
            [1.0, 0.2, 0.0, 0.0]
        );
        let grey = read_image::<1, 4, 6>(&found.files[0].0).unwrap();
        assert!(grey[0][3][5] > 0.3 && grey[0][0][0] == 0.0, "{grey:?}");
        let two = read_image::<2, 2, 3>(&found.files[0].0).unwrap_err();
        assert!(two.to_string().ends_with("2 channels were asked for, expected 1 or 3"), "{two}");
        fs::write(folder.join("a/2.png"), &fs::read(folder.join("a/1.PNG")).unwrap()[..40]).unwrap();
        let torn = read_image::<3, 2, 3>(folder.join("a/2.png")).unwrap_err();
        assert!(matches!(torn, DataError::Image { .. }), "{torn}");
        fs::remove_dir_all(folder).unwrap();
    }
}
