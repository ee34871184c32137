//! 49,016 meanings of English words, with glosses and what they are related to (WordNet 3.0), embedded.
//!
//! `src/data/README.md` has the origin, the licence and how they were chosen.

use std::path::Path;

use super::gzip;

/// A meaning that one or several words have: a set of synonyms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synset {
    /// What part of speech the words are.
    pub part_of_speech: PartOfSpeech,
    /// The first of the words.
    pub word: String,
    /// More general meanings, hypernyms; of adjectives, similar ones. As indices.
    pub related: Vec<usize>,
    /// What it means, and examples in quotes.
    pub gloss: String,
}

/// What a word may be in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartOfSpeech {
    /// A noun.
    Noun,
    /// A verb.
    Verb,
    /// An adjective.
    Adjective,
}

/// All of them: nouns, verbs, adjectives.
///
/// ```
/// use paddle::data::wordnet::{self, PartOfSpeech};
///
/// let synsets = wordnet::synsets();
/// let dog = synsets.iter().find(|synset| synset.word == "dog").expect("it is a common word");
/// assert_eq!(dog.part_of_speech, PartOfSpeech::Noun);
/// assert!(dog.gloss.starts_with("a member of the genus Canis"));
/// assert_eq!(synsets[dog.related[0]].word, "canine");
/// ```
pub fn synsets() -> Vec<Synset> {
    let bytes = gzip::unpack(Path::new("wordnet.tsv.gz"), include_bytes!("wordnet.tsv.gz"));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.lines().map(parse).collect()).expect("the embedded file is valid")
}

/// A line: part of speech, word, related lines, gloss.
fn parse(line: &str) -> Option<Synset> {
    let mut fields = line.split('\t');
    let part_of_speech = match fields.next()? {
        "n" => PartOfSpeech::Noun,
        "v" => PartOfSpeech::Verb,
        "a" => PartOfSpeech::Adjective,
        _ => return None,
    };
    let word = fields.next()?.to_string();
    let related = fields.next()?.split_whitespace().map(|line| line.parse().ok()).collect::<Option<_>>()?;
    Some(Synset { part_of_speech, word, related, gloss: fields.next()?.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the conversion counted.
    #[test]
    fn the_embedded_file_is_complete() {
        let synsets = synsets();
        let count = |part| synsets.iter().filter(|synset| synset.part_of_speech == part).count();
        let parts = [PartOfSpeech::Noun, PartOfSpeech::Verb, PartOfSpeech::Adjective].map(count);
        assert_eq!((synsets.len(), parts), (49_016, [24_873, 10_564, 13_579]));
        assert_eq!(synsets.iter().map(|synset| synset.related.len()).sum::<usize>(), 54_743);
        assert_eq!(synsets.iter().map(|synset| synset.gloss.len()).sum::<usize>(), 3_851_914);
        for synset in &synsets {
            assert!(!synset.word.is_empty() && !synset.gloss.is_empty());
            let alike = |&at: &usize| synsets[at].part_of_speech == synset.part_of_speech;
            assert!(synset.related.iter().all(alike), "{synset:?}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "n\tword\t0", "x\tword\t0\tgloss", "n\tword\tzero\tgloss"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
