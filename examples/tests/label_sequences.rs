//! What a user would test of the networks of `label_sequences`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

#[test]
fn a_label_says_whether_the_stress_has_been() {
    let word = pronunciations::training().find(|word| word.spelling == "photograph").unwrap();
    // F OW1 T AH0 G R AE2 F
    assert_eq!(labels(&word), [0, 6, 1, 3, 1, 1, 5, 1]);
}

#[test]
fn both_can_learn_words_by_heart() {
    let words = pronunciations::training().step_by(4000);
    let words: Vec<_> = words.map(|word| (word.sounds.clone(), labels(&word))).collect();
    let alone = stress::alone::with(stress::alone::Sizes { WIDTH: 4 }).unwrap();
    let field = stress::field::with(stress::field::Sizes { WIDTH: 4 }).unwrap();
    let of_alone: Vec<_> = words.iter().cloned().map(|(word, labels)| alone.row(word, labels)).collect();
    let of_field: Vec<_> = words.iter().cloned().map(|(word, labels)| field.row(word, labels)).collect();
    assert_learns(&alone, &of_alone);
    assert_learns(&field, &of_field);
    check_gradients(&field, &of_field[..2]).unwrap();
    assert_program(&field, "examples/golden/label_sequences_field.txt");
    let decoding = stress::field_labels::with(stress::field_labels::Sizes { WIDTH: 4 }).unwrap();
    assert_program(&decoding, "examples/golden/label_sequences_field_labels.txt");
}

#[test]
fn a_short_training_stresses_some_words() {
    let [alone, field] = run(&Settings { seed: 1, passes: 4, words: 2_000, width: 16 }).unwrap();
    assert!(alone > 0.3 && field > 0.4, "{alone} {field}");
}

#[test]
#[ignore = "takes two minutes, in release"]
fn neighbours_help_with_whole_words() {
    for seed in 1..=3 {
        let [alone, field] = run(&Settings { seed, passes: 6, words: usize::MAX, width: 48 }).unwrap();
        assert!(field > alone, "seed {seed}: {field} {alone}");
    }
}
