//! English words and how they are pronounced, with the stress of each vowel, from the CMU Pronouncing Dictionary, embedded.
//!
//! `src/data/README.md` has the origin, the licence and how they were chosen.

use std::path::Path;

use super::gzip;
use super::split::is_held_out;

/// The sounds, ARPAbet's, in the order of their numbers.
pub const SOUNDS: [&str; 39] = [
    "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY", "F", "G", "HH", "IH", "IY",
    "JH", "K", "L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y",
    "Z", "ZH",
];

/// A word, and how it is pronounced.
///
/// ```
/// use paddle::data::pronunciations::{SOUNDS, Stress, training};
///
/// let word = training().find(|word| word.spelling == "photograph").expect("it is one of them");
/// let sounds: Vec<_> = word.sounds.iter().map(|&sound| SOUNDS[sound as usize]).collect();
/// assert_eq!(sounds, ["F", "OW", "T", "AH", "G", "R", "AE", "F"]);
/// assert_eq!((word.stress[0], word.stress[1], word.stress[6]), (None, Some(Stress::Primary), Some(Stress::Secondary)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pronunciation {
    /// The word, in letters from a to z.
    pub spelling: String,
    /// The numbers of its sounds among [`SOUNDS`].
    pub sounds: Vec<i64>,
    /// The stress of each sound; consonants have none to speak of. Just one is primary.
    pub stress: Vec<Option<Stress>>,
    /// The sounds of its other pronunciations, if it has any.
    pub others: Vec<Vec<i64>>,
}

/// The stress of a vowel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stress {
    /// None.
    None,
    /// That of the syllable that is heard most.
    Primary,
    /// Some.
    Secondary,
}

/// One word in this many is held out.
const ONE_IN: u64 = 10;

/// Every fifth word is in the small set: [`training`] and [`held_out`].
const SMALL: usize = 5;

/// A fifth of the words for training, in alphabetical order.
pub fn training() -> impl Iterator<Item = Pronunciation> {
    part(all().into_iter().step_by(SMALL), false)
}

/// A fifth of the words for testing: about a tenth of those, by their hash.
///
/// ```
/// use paddle::data::pronunciations::{held_out, training};
///
/// assert_eq!((training().count(), held_out().count()), (20_905, 2_374));
/// ```
pub fn held_out() -> impl Iterator<Item = Pronunciation> {
    part(all().into_iter().step_by(SMALL), true)
}

/// All words for training, those of [`training`] among them, in the dictionary's order.
pub fn whole_training() -> impl Iterator<Item = Pronunciation> {
    part(all().into_iter(), false)
}

/// All words for testing, those of [`held_out`] among them.
///
/// ```
/// use paddle::data::pronunciations::{whole_held_out, whole_training};
///
/// assert_eq!((whole_training().count(), whole_held_out().count()), (104_435, 11_958));
/// ```
pub fn whole_held_out() -> impl Iterator<Item = Pronunciation> {
    part(all().into_iter(), true)
}

fn part(words: impl Iterator<Item = Pronunciation>, held_out: bool) -> impl Iterator<Item = Pronunciation> {
    words.filter(move |word| is_held_out(&word.spelling, ONE_IN) == held_out)
}

fn all() -> Vec<Pronunciation> {
    let bytes = gzip::unpack(Path::new("pronunciations.tsv.gz"), include_bytes!("pronunciations.tsv.gz"));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.lines().map(parse).collect()).expect("the embedded file is valid")
}

/// Parses a line: the word, its sounds, vowels with the number of their stress, and those of its other pronunciations.
fn parse(line: &str) -> Option<Pronunciation> {
    let mut fields = line.split('\t');
    let spelling = fields.next()?.to_string();
    let (sounds, stress) = parse_sounds(fields.next()?)?;
    let others = fields.map(|field| parse_sounds(field).map(|(sounds, _)| sounds)).collect::<Option<_>>()?;
    Some(Pronunciation { spelling, sounds, stress, others })
}

fn parse_sounds(field: &str) -> Option<(Vec<i64>, Vec<Option<Stress>>)> {
    let sound = |text: &str| {
        let (name, stress) = match text.strip_suffix(['0', '1', '2']) {
            Some(name) => (name, Some(&text[name.len()..])),
            None => (text, None),
        };
        let stress = stress.map(|stress| match stress {
            "1" => Stress::Primary,
            "2" => Stress::Secondary,
            _ => Stress::None,
        });
        Some((SOUNDS.iter().position(|sound| *sound == name)? as i64, stress))
    };
    field.split(' ').map(sound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers were counted in the file by another program.
    #[test]
    fn the_file_is_what_it_was() {
        let whole = all();
        let others = whole.iter().map(|word| word.others.len()).sum::<usize>();
        assert_eq!((whole.len(), others), (116_393, 7_986));
        let all: Vec<_> = whole.into_iter().step_by(SMALL).collect();
        let sounds = all.iter().map(|word| word.sounds.len()).sum::<usize>();
        let count =
            |stress| all.iter().flat_map(|word| &word.stress).filter(|of| **of == Some(stress)).count();
        assert_eq!((all.len(), sounds), (23_279, 147_015));
        assert_eq!((count(Stress::Primary), count(Stress::Secondary)), (23_279, 5_608));
        assert!(all.iter().all(|word| word.sounds.len() == word.stress.len()));
        assert!(all.windows(2).all(|pair| pair[0].spelling < pair[1].spelling));
        assert!(SOUNDS.is_sorted());
    }
}
