//! Vocabularies: words and their ids.

use std::collections::HashMap;

use super::words;

/// The words of some texts, with ids from 0 in the order of their first occurrence.
///
/// ```
/// use paddle::data::text::Vocabulary;
///
/// let vocabulary = Vocabulary::of(["a dog is an animal", "a cat is, too"]);
/// assert_eq!(vocabulary.len(), 7);
/// assert_eq!((vocabulary.id("cat"), vocabulary.word(5)), (Some(5), Some("cat")));
/// // Words that are not among them are left out.
/// assert_eq!(vocabulary.ids("Is a cat a dog? Possibly."), [2, 0, 5, 0, 1]);
/// assert_eq!(vocabulary.texts_with(0), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    ids: HashMap<String, i64>,
    words: Vec<String>,
    /// For each word, the number of texts that have it.
    texts_with: Vec<usize>,
    texts: usize,
}

impl Vocabulary {
    /// The [`words`] of these texts.
    pub fn of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut all = Vocabulary::default();
        // For each word, the last text that it was seen in, counted from 1.
        let mut seen_in = Vec::new();
        for text in texts {
            all.texts += 1;
            for word in words(text.as_ref()) {
                let id = all.id(&word).map_or(all.words.len(), |id| id as usize);
                if id == all.words.len() {
                    all.ids.insert(word.clone(), id as i64);
                    all.words.push(word);
                    all.texts_with.push(0);
                    seen_in.push(0);
                }
                if std::mem::replace(&mut seen_in[id], all.texts) != all.texts {
                    all.texts_with[id] += 1;
                }
            }
        }
        all
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The number of texts that the words were taken from.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// The id of a lower-case word, if the vocabulary has it.
    pub fn id(&self, word: &str) -> Option<i64> {
        self.ids.get(word).copied()
    }

    /// The word with this id.
    pub fn word(&self, id: i64) -> Option<&str> {
        Some(self.words.get(usize::try_from(id).ok()?)?)
    }

    /// The number of texts that have the word with this id.
    pub fn texts_with(&self, id: i64) -> usize {
        usize::try_from(id).ok().and_then(|id| self.texts_with.get(id)).copied().unwrap_or(0)
    }

    /// The ids of the words of a text, in order. Unknown words are left out.
    pub fn ids(&self, text: &str) -> Vec<i64> {
        words(text).filter_map(|word| self.id(&word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_once_in_a_text() {
        let vocabulary = Vocabulary::of(["no no no", "", "yes no", "no"]);
        assert_eq!((vocabulary.texts(), vocabulary.len()), (4, 2));
        assert_eq!([0, 1, 2, -1, i64::MAX].map(|id| vocabulary.texts_with(id)), [3, 1, 0, 0, 0]);
    }

    #[test]
    fn nothing() {
        let vocabulary = Vocabulary::of([""; 0]);
        assert!(vocabulary.is_empty() && vocabulary.ids("words").is_empty());
        assert_eq!((vocabulary.id(""), vocabulary.word(0), vocabulary.word(-1)), (None, None, None));
    }
}
