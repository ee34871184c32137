//! The glosses as texts of numbered words, and WordNet's relations between those words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use paddle::data::text::words;
use paddle::data::{is_held_out, wordnet};
use paddle::reader::Random;

/// A word has a vector if the glosses and their headwords have it so often.
const LEAST: usize = 5;
/// From this share of all words on, a word is so frequent that not each of its occurrences counts: Mikolov et al. (2013).
const FREQUENT: f32 = 1e-3;

/// A headword, and what it means.
pub(crate) struct Entry {
    /// All words of the headword: `immigrant` and `class`. The gloss is that of the last one.
    pub(crate) name: Vec<i64>,
    pub(crate) gloss: Vec<i64>,
}

impl Entry {
    pub(crate) fn word(&self) -> i64 {
        self.name[self.name.len() - 1]
    }
}

pub(crate) struct Corpus {
    /// The words by their numbers.
    pub(crate) words: Vec<String>,
    pub(crate) entries: Vec<Entry>,
    /// How much of a word's occurrences counts, from 0 to 1.
    pub(crate) matters: Vec<f32>,
    /// Words as often as they are drawn.
    draws: Vec<i64>,
    /// Of words, those that WordNet relates to them: more general, more special or similar ones.
    pub(crate) related: BTreeMap<usize, BTreeSet<usize>>,
}

impl Corpus {
    /// The first glosses of WordNet, so many at most, and the relations between their words.
    pub(crate) fn of(most: usize) -> Corpus {
        let synsets = wordnet::synsets();
        let texts: Vec<[Vec<String>; 2]> = synsets
            .iter()
            .take(most)
            .map(|synset| [words(&synset.word).collect(), words(&synset.gloss).collect()])
            .collect();
        let mut counts = BTreeMap::<&str, usize>::new();
        for word in texts.iter().flatten().flatten() {
            *counts.entry(word).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        counts.retain(|word, count| *count >= LEAST && word.chars().all(char::is_alphabetic));
        let numbers: HashMap<&str, i64> = counts.keys().copied().zip(0..).collect();
        let known = |text: &[String]| -> Vec<i64> {
            text.iter().filter_map(|word| numbers.get(word.as_str()).copied()).collect()
        };
        let entry = |[name, gloss]: &[Vec<String>; 2]| {
            // A name whose last word is unknown is no word to learn.
            numbers.get(name.last()?.as_str())?;
            let (name, gloss) = (known(name), known(gloss));
            (!gloss.is_empty()).then_some(Entry { name, gloss })
        };
        let entries = texts.iter().filter_map(entry).collect();

        let mut related = BTreeMap::<usize, BTreeSet<usize>>::new();
        let number = |word: &str| numbers.get(word.to_lowercase().as_str()).map(|&number| number as usize);
        for synset in &synsets {
            for &other in &synset.related {
                if let (Some(a), Some(b)) = (number(&synset.word), number(&synsets[other].word))
                    && a != b
                {
                    related.entry(a).or_default().insert(b);
                    related.entry(b).or_default().insert(a);
                }
            }
        }
        let matters = |&count: &usize| (FREQUENT * all as f32 / count as f32).sqrt().min(1.0);
        Corpus {
            words: counts.keys().map(|word| word.to_string()).collect(),
            entries,
            matters: counts.values().map(matters).collect(),
            draws: draws(counts.values().copied()),
            related,
        }
    }

    /// A word. Frequent words are drawn more often, by their count to the power of 3/4.
    pub(crate) fn drawn(&self, random: &mut Random) -> i64 {
        self.draws[random.below(self.draws.len())]
    }

    /// The words with relations: those that settings may be chosen by, and those that are held out.
    pub(crate) fn parts(&self) -> [Vec<usize>; 2] {
        let (held_out, chosen_by) = self.related.keys().partition(|&&word| is_held_out(&self.words[word], 2));
        [chosen_by, held_out]
    }
}

/// The numbers of words, each about as often as its count to the power of 3/4, a million in all, and at least once.
fn draws(counts: impl Iterator<Item = usize> + Clone) -> Vec<i64> {
    let weight = |count: usize| (count as f64).powf(0.75);
    let sum: f64 = counts.clone().map(weight).sum();
    let times = |count: usize| (1e6 * weight(count) / sum).ceil() as usize;
    counts.zip(0..).flat_map(|(count, word)| std::iter::repeat_n(word, times(count))).collect()
}
