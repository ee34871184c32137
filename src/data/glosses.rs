//! A data set of texts to classify: the glosses of WordNet, with the lexicographers' files that they are in as classes.

use super::text::Vocabulary;
use super::{is_held_out, wordnet};
use crate::random::SplitMix64;

/// A gloss, as ids of its words and of its class. [`up_to`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gloss {
    /// The ids, in [`Glosses::vocabulary`], of the words of the gloss, in order. Other words are left out, so the list
    /// may be empty.
    pub words: Vec<i64>,
    /// The index in [`Glosses::classes`].
    pub class: i64,
}

/// Glosses for training and for testing. [`up_to`] has an example.
#[derive(Clone, Debug)]
pub struct Glosses {
    /// The words of the training glosses.
    pub vocabulary: Vocabulary,
    /// The 44 lexicographers' files in alphabetical order: `adj.all`, …, `verb.weather`.
    pub classes: Vec<String>,
    /// The glosses for training.
    pub training: Vec<Gloss>,
    /// The glosses for testing.
    pub held_out: Vec<Gloss>,
}

/// The glosses of [`wordnet::synsets`], with their examples. A fifth, 9,931, is [held out](is_held_out) by text. Of the
/// other 39,085, the first `most` in a fixed random order are for training.
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
    // The shuffle of Fisher and Yates.
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
