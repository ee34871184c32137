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

fn run_with(seed: u64, passes: usize, words: usize, width: usize) -> [f64; 2] {
    let results = std::env::temp_dir().join(format!("paddle-stress-{seed}-{}", std::process::id()));
    let words = run(&Settings { seed, passes, words, width, results: results.clone() }).unwrap();
    assert!(std::fs::read_to_string(results.join("neighbours.svg")).unwrap().starts_with("<svg"));
    std::fs::remove_dir_all(results).unwrap();
    words
}

#[test]
fn a_short_training_stresses_some_words() {
    let [alone, field] = run_with(1, 4, 2_000, 16);
    assert!(alone > 0.3 && field > 0.4, "{alone} {field}");
}

#[test]
#[ignore = "takes two minutes, in release"]
fn neighbours_help_with_whole_words() {
    for seed in 1..=3 {
        let [alone, field] = run_with(seed, 6, usize::MAX, 48);
        assert!(field > alone, "seed {seed}: {field} {alone}");
    }
}
