//! Pictures as inputs.

use std::path::Path;

use clap::Args;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader};
use ndarray::Array4;
use paddle::core::program::DType;
use paddle::network::Variable;

use crate::array::Array;
use crate::failure::Failure;

/// How the pixels of pictures become numbers: (pixel / scale - mean) / std, for pixels from 0 to 255.
#[derive(Args)]
pub(crate) struct Scaling {
    /// Pixels of pictures, 0 to 255, are divided by this number first.
    #[arg(long, value_name = "NUMBER", default_value_t = 255.0, value_parser = divisor)]
    scale: f32,
    /// Then these are subtracted: one number, or one for each channel, as in `0.485,0.456,0.406`.
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        default_value = "0",
        allow_hyphen_values = true
    )]
    mean: Vec<f32>,
    /// At last it is divided by these: one number, or one for each channel.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1", value_parser = divisor)]
    std: Vec<f32>,
}

fn divisor(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if number != 0.0 => Ok(number),
        Ok(_) => Err("nothing can be divided by 0".into()),
        Err(_) => Err("expected a number".into()),
    }
}

/// Whether a file is a picture, by its name.
pub(crate) fn is_picture(path: &Path) -> bool {
    ImageFormat::from_path(path).is_ok()
}

/// How an input takes pictures.
struct Layout {
    channels: usize,
    /// `None` for the picture's own.
    height: Option<usize>,
    width: Option<usize>,
    /// Whether the channels are behind the pixels.
    are_last: bool,
}

impl Layout {
    fn of(input: &Variable) -> Option<Self> {
        let is_possible = input.dtype == DType::F32 && input.batched && input.levels == 0;
        match input.dims[..] {
            [Some(channels @ (1 | 3)), height, width] if is_possible => {
                Some(Layout { channels, height, width, are_last: false })
            }
            [height, width, Some(channels @ (1 | 3))] if is_possible => {
                Some(Layout { channels, height, width, are_last: true })
            }
            _ => None,
        }
    }
}

impl Scaling {
    /// Reads a picture as one row of an input.
    pub(crate) fn read(&self, path: &Path, input: &Variable) -> Result<Array, Failure> {
        let Some(layout) = Layout::of(input) else {
            let why = format!(
                "input `{}` is {}, but pictures are f32[_, channels, height, width] or f32[_, height, width, channels] \
                 with 1 or 3 channels",
                input.name, input.shown
            );
            return Err(Failure::of(path, why));
        };
        for (option, numbers) in [("--mean", &self.mean), ("--std", &self.std)] {
            if numbers.len() != 1 && numbers.len() != layout.channels {
                let (found, channels) = (numbers.len(), layout.channels);
                let name = &input.name;
                let why =
                    format!("`{option}` has {found} numbers, but input `{name}` has {channels} channels");
                return Err(Failure::Asked(why));
            }
        }
        let reader = ImageReader::open(path).map_err(|error| Failure::of(path, error))?;
        let picture = reader.decode().map_err(|error| Failure::of(path, error))?;
        Ok(Array::F32(self.pixels(&picture, &layout).into_dyn()))
    }

    fn pixels(&self, picture: &DynamicImage, layout: &Layout) -> Array4<f32> {
        let size = |wanted: Option<usize>, own: u32| {
            wanted.map_or(own, |size| u32::try_from(size).unwrap_or(u32::MAX).max(1))
        };
        let (width, height) = (size(layout.width, picture.width()), size(layout.height, picture.height()));
        let picture = match (picture.width(), picture.height()) == (width, height) {
            true => picture.clone(),
            false => picture.resize_exact(width, height, FilterType::Triangle),
        };
        let bytes = match layout.channels {
            1 => picture.to_luma8().into_raw(),
            _ => picture.to_rgb8().into_raw(),
        };
        let of_channel =
            |numbers: &[f32], channel: usize| numbers[if numbers.len() == 1 { 0 } else { channel }];
        let (height, width, channels) = (height as usize, width as usize, layout.channels);
        let pixels = Array4::from_shape_fn((1, height, width, channels), |(_, y, x, channel)| {
            let pixel = f32::from(bytes[(y * width + x) * channels + channel]);
            (pixel / self.scale - of_channel(&self.mean, channel)) / of_channel(&self.std, channel)
        });
        if layout.are_last { pixels } else { pixels.permuted_axes([0, 3, 1, 2]) }
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};
    use ndarray::Axis;

    use super::*;

    fn scaling() -> Scaling {
        Scaling { scale: 255.0, mean: vec![0.5, 0.0, 0.0], std: vec![0.5] }
    }

    #[test]
    fn channels_before_and_behind() {
        let mut picture = RgbImage::new(2, 1);
        picture.put_pixel(1, 0, Rgb([255, 51, 0]));
        let picture = DynamicImage::ImageRgb8(picture);
        let layout = |are_last| Layout { channels: 3, height: None, width: None, are_last };
        let first = scaling().pixels(&picture, &layout(false));
        assert_eq!(first.shape(), [1, 3, 1, 2]);
        assert_eq!(first.iter().copied().collect::<Vec<_>>(), [-1.0, 1.0, 0.0, 0.4, 0.0, 0.0]);
        let last = scaling().pixels(&picture, &layout(true));
        assert_eq!(last.index_axis(Axis(2), 1).iter().copied().collect::<Vec<_>>(), [1.0, 0.4, 0.0]);
    }

    #[test]
    fn pictures_get_the_size_of_the_input() {
        let picture = DynamicImage::ImageRgb8(RgbImage::from_pixel(8, 6, Rgb([100, 100, 100])));
        let layout = Layout { channels: 1, height: Some(2), width: Some(4), are_last: false };
        let scaling = Scaling { scale: 1.0, mean: vec![0.0], std: vec![1.0] };
        let pixels = scaling.pixels(&picture, &layout);
        assert_eq!((pixels.shape(), pixels[[0, 0, 1, 3]]), (&[1, 1, 2, 4][..], 100.0));
    }
}
