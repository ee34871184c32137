//! 49,016 meanings of English words, with glosses and relations (WordNet 3.0), embedded.
//!
//! `src/data/README.md` has the origin, the licence and how they were chosen.

use std::path::Path;

use super::gzip;

/// A meaning that one or several words share: a set of synonyms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synset {
    /// The part of speech of the words.
    pub part_of_speech: PartOfSpeech,
    /// The lexicographers' file of the entry, named by part of speech and topic: `noun.animal`, `verb.motion`,
    /// `adj.all`.
    pub lexicographer_file: String,
    /// The first of the words.
    pub word: String,
    /// Indices of more general meanings, the hypernyms; for adjectives, of similar meanings.
    pub related: Vec<usize>,
    /// The definition, with examples in quotes.
    pub gloss: String,
}

/// A part of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartOfSpeech {
    /// A noun.
    Noun,
    /// A verb.
    Verb,
    /// An adjective.
    Adjective,
}

/// All meanings: nouns, then verbs, then adjectives.
///
/// ```
/// use paddle::data::wordnet::{self, PartOfSpeech};
///
/// let synsets = wordnet::synsets();
/// let dog = synsets.iter().find(|synset| synset.word == "dog").expect("it is a common word");
/// assert_eq!(dog.part_of_speech, PartOfSpeech::Noun);
/// assert_eq!(dog.lexicographer_file, "noun.animal");
/// assert!(dog.gloss.starts_with("a member of the genus Canis"));
/// assert_eq!(synsets[dog.related[0]].word, "canine");
/// ```
pub fn synsets() -> Vec<Synset> {
    let bytes = gzip::unpack(Path::new("wordnet.tsv.gz"), include_bytes!("wordnet.tsv.gz"));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.lines().map(parse).collect()).expect("the embedded file is valid")
}

/// Parses a line: lexicographers' file, word, related lines, gloss.
fn parse(line: &str) -> Option<Synset> {
    let mut fields = line.split('\t');
    let file = fields.next()?;
    let part_of_speech = match file.split_once('.')?.0 {
        "noun" => PartOfSpeech::Noun,
        "verb" => PartOfSpeech::Verb,
        "adj" => PartOfSpeech::Adjective,
        _ => return None,
    };
    let (lexicographer_file, word) = (file.to_string(), fields.next()?.to_string());
    let related = fields.next()?.split_whitespace().map(|line| line.parse().ok()).collect::<Option<_>>()?;
    Some(Synset { part_of_speech, lexicographer_file, word, related, gloss: fields.next()?.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the conversion of the file counted.
    #[test]
    fn the_embedded_file_is_complete() {
        let synsets = synsets();
        let count = |part| synsets.iter().filter(|synset| synset.part_of_speech == part).count();
        let parts = [PartOfSpeech::Noun, PartOfSpeech::Verb, PartOfSpeech::Adjective].map(count);
        assert_eq!((synsets.len(), parts), (49_016, [24_873, 10_564, 13_579]));
        assert_eq!(synsets.iter().map(|synset| synset.related.len()).sum::<usize>(), 54_743);
        assert_eq!(synsets.iter().map(|synset| synset.gloss.len()).sum::<usize>(), 3_851_914);
        let files =
            |part| synsets.iter().filter(|synset| synset.lexicographer_file.starts_with(part)).count();
        assert_eq!(["noun.", "verb.", "adj."].map(files), parts);
        for synset in &synsets {
            assert!(!synset.word.is_empty() && !synset.gloss.is_empty());
            let alike = |&at: &usize| synsets[at].part_of_speech == synset.part_of_speech;
            assert!(synset.related.iter().all(alike), "{synset:?}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "noun.act\tword\t0",
            "adv.all\tword\t0\tgloss",
            "noun\tword\t0\tgloss",
            "noun.act\tword\tzero\tgloss",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
