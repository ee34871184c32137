//! What a user would test of the model of `translate`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn settings(seed: u64, passes: usize, words: usize, width: usize) -> Settings {
    Settings { seed, passes, words, width, parameters: None }
}

#[test]
fn a_small_model() {
    let net = translate::cost::with(translate::cost::Sizes { WIDTH: 4 }).unwrap();
    // A word without sounds, one with a sound for each letter, and sounds without a word.
    let rows = [
        (vec![1, 2], vec![0], vec![0]),
        (vec![2, 3], vec![0, 28, 29], vec![28, 29, 0]),
        (vec![], vec![0, 30], vec![30, 0]),
    ];
    let rows = rows.map(|(word, before, sounds)| net.row(word, before, sounds));
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/translate_cost.txt");
    let beams = translate::beams::with(translate::beams::Sizes { WIDTH: 4 }).unwrap();
    assert_program(&beams, "examples/golden/translate_beams.txt");
    check_gradients(&net, &rows).unwrap();
}

// ANCHOR: exercise_1
#[test]
fn sounds_do_not_depend_on_other_words() {
    let net = translate::beams::with(translate::beams::Sizes { WIDTH: 8 }).unwrap();
    let parameters = Parameters::create_with_seed(&net, 5).unwrap();
    let words = ["a", "brought", "knapsack", "discotheque"].map(|word| net.row(letters(word), 0));
    let together = sounds(infer(&net, &parameters, &words).unwrap().at(0).unwrap());
    for (word, together) in words.iter().zip(&together) {
        let alone = sounds(infer(&net, &parameters, [word]).unwrap().at(0).unwrap());
        assert_eq!(&alone[0], together);
    }
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[test]
fn a_word_may_be_pronounced_as_it_is_listed_further_down() {
    let mut words: Vec<_> = pronunciations::whole_held_out().filter(|word| !word.others.is_empty()).collect();
    let others: Vec<_> = words.iter().map(|word| word.others[0].clone()).collect();
    assert_eq!(rates(&words, &others), [0.0, 0.0]);
    words.iter_mut().for_each(|word| word.others.clear());
    let [wrong, edits] = rates(&words, &others);
    assert!(wrong == 1.0 && edits < 0.4, "{wrong} {edits}");
}
// ANCHOR_END: exercise_2

#[test]
fn weights_of_letters_add_up_to_one() {
    let held_out: Vec<_> =
        pronunciations::whole_held_out().filter(|word| word.spelling == "brought").collect();
    let learned: Vec<_> = pronunciations::whole_training().step_by(500).collect();
    let found = run(&settings(1, 1, 0, 8), &learned, &held_out).unwrap();
    let (letters, sounds, looks) = &found.looks[0];
    assert_eq!(looks.len(), sounds.len() + 1, "the end looks at letters, too");
    for looks in looks {
        assert!((looks[..letters.len()].iter().sum::<f32>() - 1.0).abs() < 1e-5, "{looks:?}");
        assert!(looks[letters.len()..].iter().all(|look| *look == 0.0));
    }
}

#[test]
fn a_table_knows_letters_by_their_neighbours() {
    let learned: Vec<_> = pronunciations::whole_training().step_by(10).collect();
    let table = LetterTable::fit(&learned);
    assert_eq!(names(&table.sounds("phat")), ["F", "AE", "T"]);
    assert_eq!(names(&table.sounds("knock")), ["N", "AA", "K"]);
}

#[test]
fn a_short_training_pronounces_some_sounds() {
    let held_out: Vec<_> = pronunciations::whole_held_out().step_by(20).collect();
    let learned: Vec<_> = pronunciations::whole_training().step_by(40).collect();
    let found = run(&settings(1, 12, 0, 32), &learned, &held_out).unwrap();
    let [wrong, edits] = rates(&held_out, &found.beams);
    assert!(wrong < 0.95 && edits < 0.5, "{wrong} {edits}");
}

#[test]
#[ignore = "takes ten minutes of processor time, in release"]
fn all_seeds_are_better_than_the_table_in_full() {
    let held_out: Vec<_> = pronunciations::whole_held_out().collect();
    let learned: Vec<_> = pronunciations::whole_training().collect();
    let table = LetterTable::fit(&learned);
    let by_table: Vec<_> = held_out.iter().map(|word| table.sounds(&word.spelling)).collect();
    let by_table = rates(&held_out, &by_table);
    for seed in 1..=3 {
        let found = run(&settings(seed, 6, usize::MAX, 96), &learned, &held_out).unwrap();
        let beams = rates(&held_out, &found.beams);
        assert!(
            beams[0] < by_table[0] - 0.07 && beams[1] < by_table[1],
            "seed {seed}: {beams:?}, {by_table:?}"
        );
    }
}
