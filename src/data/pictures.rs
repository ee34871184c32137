//! 2,734 small pictures in colour of ten kinds: emoji of two fonts, and clip art; embedded.
//!
//! `src/data/README.md` has the origins, the licences and how they were chosen.

use std::path::Path;

use super::gzip;
use super::picture::{self, Picture};

/// The classes, in the order of their numbers.
pub const CLASSES: [&str; 10] =
    ["animal", "clothing", "face", "food", "hand", "person", "place", "plant", "sign", "vehicle"];

/// The pictures to learn from, those by which settings are chosen, and those held out: 1,667, 562 and 505.
///
/// Pictures that look alike, and those of one emoji, are a family, and a family is in one part. Families have numbers; the
/// remainder by 5 says which part.
///
/// ```
/// let (learned, chosen_by, held_out) = paddle::data::pictures::parts();
/// assert_eq!((learned.len(), chosen_by.len(), held_out.len()), (1667, 562, 505));
/// ```
pub fn parts() -> (Vec<Picture>, Vec<Picture>, Vec<Picture>) {
    let (mut learned, mut chosen_by, mut held_out) = (Vec::new(), Vec::new(), Vec::new());
    for (family, picture) in families() {
        match family % 5 {
            4 => held_out.push(picture),
            3 => chosen_by.push(picture),
            _ => learned.push(picture),
        }
    }
    (learned, chosen_by, held_out)
}

/// All pictures, each with the number of its family.
fn families() -> impl Iterator<Item = (u16, Picture)> {
    let path = Path::new("pictures.bin.gz");
    let pictures = gzip::unpack(path, include_bytes!("pictures.bin.gz"))
        .and_then(|bytes| picture::parse(path, &bytes, CLASSES.len() as u8))
        .expect("the embedded file is valid");
    pictures.into_iter().map(|(family, picture)| (u16::from_le_bytes(family), picture))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The numbers of pictures and families, and the sum of the bytes, as Python has them.
    #[test]
    fn the_embedded_file_is_complete() {
        let all: Vec<_> = families().collect();
        assert_eq!(all.iter().map(|(family, _)| family).collect::<BTreeSet<_>>().len(), 1827);
        let counts = [354, 107, 243, 428, 73, 455, 168, 101, 606, 199];
        for (class, count) in counts.into_iter().enumerate() {
            assert_eq!(all.iter().filter(|(_, picture)| picture.label == class as i64).count(), count);
        }
        let of_picture = |(family, picture): &(u16, Picture)| {
            let pixels = picture.pixels.as_flattened().as_flattened();
            let family: u64 = family.to_le_bytes().map(u64::from).iter().sum();
            family + picture.label as u64 + pixels.iter().map(|x| (255.0 * x).round() as u64).sum::<u64>()
        };
        assert_eq!(all.iter().map(of_picture).sum::<u64>(), 1_655_947_017);
    }

    /// No held-out picture, of some, is as near to a learned one as pictures of a family are: 0.1, as the root of the mean square.
    #[test]
    fn nothing_held_out_looks_like_what_is_learned() {
        let (learned, chosen_by, held_out) = parts();
        let known: Vec<_> = learned.iter().chain(&chosen_by).map(|picture| picture.pixels).collect();
        for picture in held_out.iter().step_by(20) {
            let near = |other: &[[[f32; 32]; 32]; 3]| {
                let (a, b) =
                    (picture.pixels.as_flattened().as_flattened(), other.as_flattened().as_flattened());
                a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>() / a.len() as f32
            };
            assert!(known.iter().all(|other| near(other) > 0.0099));
        }
    }
}
