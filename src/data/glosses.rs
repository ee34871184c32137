//! What words mean, as texts to be told apart: glosses of WordNet, and the lexicographers' files that they are in.

use super::text::Vocabulary;
use super::{is_held_out, wordnet};
use crate::random::SplitMix64;

/// A gloss, with numbers for its words and for its class: [`up_to`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gloss {
    /// The words of [`Glosses::vocabulary`] in it, in their order; others are left out, so there may be none.
    pub words: Vec<i64>,
    /// Which of [`Glosses::classes`].
    pub class: i64,
}

/// Glosses to learn from and others to judge by: [`up_to`] has an example.
#[derive(Clone, Debug)]
pub struct Glosses {
    /// The words of the glosses to learn from.
    pub vocabulary: Vocabulary,
    /// The 44 lexicographers' files, by the alphabet: `adj.all`, …, `verb.weather`.
    pub classes: Vec<String>,
    /// The glosses to learn from.
    pub training: Vec<Gloss>,
    /// The glosses to judge by.
    pub held_out: Vec<Gloss>,
}

/// The glosses of [`wordnet::synsets`], with examples. A fifth is [held out](is_held_out) by the texts: 9,931. Of the others,
/// `most` are to be learned from: the first, in an order that is drawn once and for all, of 39,085.
///
/// ```
/// use paddle::data::glosses;
///
/// let glosses = glosses::up_to(1000);
/// assert_eq!((glosses.training.len(), glosses.held_out.len(), glosses.classes.len()), (1000, 9931, 44));
/// let gloss = &glosses.held_out[0];
/// assert_eq!(glosses.classes[gloss.class as usize], "noun.Tops");
/// let words: Vec<_> = gloss.words.iter().filter_map(|&id| glosses.vocabulary.word(id)).collect();
/// assert_eq!(words.join(" "), "an that has physical existence"); // no gloss to learn from has `entity`
/// ```
pub fn up_to(most: usize) -> Glosses {
    let synsets = wordnet::synsets();
    let (held_out, mut training): (Vec<_>, Vec<_>) =
        synsets.iter().partition(|synset| is_held_out(&synset.gloss, 5));
    // Fisher and Yates.
    let mut random = SplitMix64::new(0);
    for end in (2..=training.len()).rev() {
        training.swap(end - 1, random.below(end as u64) as usize);
    }
    training.truncate(most);
    let mut classes: Vec<_> = synsets.iter().map(|synset| synset.lexicographer_file.clone()).collect();
    classes.sort_unstable();
    classes.dedup();
    let vocabulary = Vocabulary::of(training.iter().map(|synset| &synset.gloss));
    let numbered = |synset: &&wordnet::Synset| Gloss {
        words: vocabulary.ids(&synset.gloss),
        class: classes.partition_point(|class| *class < synset.lexicographer_file) as i64,
    };
    let [training, held_out] = [training, held_out].map(|synsets| synsets.iter().map(numbered).collect());
    Glosses { vocabulary, classes, training, held_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_glosses_are_on_one_side() {
        let glosses = up_to(usize::MAX);
        assert_eq!((glosses.training.len(), glosses.held_out.len()), (39_085, 9_931));
        let all = wordnet::synsets();
        let mut counts = vec![0; glosses.classes.len()];
        for gloss in glosses.training.iter().chain(&glosses.held_out) {
            counts[gloss.class as usize] += 1;
        }
        for (class, count) in glosses.classes.iter().zip(counts) {
            assert_eq!(
                all.iter().filter(|synset| synset.lexicographer_file == *class).count(),
                count,
                "{class}"
            );
        }
        assert!(glosses.training.iter().all(|gloss| !gloss.words.is_empty()));
    }

    #[test]
    fn fewer_are_the_first_of_more() {
        let (few, more) = (up_to(100), up_to(200));
        assert_eq!(few.training, more.training[..100]);
        assert_eq!(few.vocabulary.texts(), 100);
        assert!(up_to(0).training.is_empty() && up_to(0).vocabulary.is_empty());
    }
}
