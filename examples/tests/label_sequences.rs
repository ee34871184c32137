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

// ANCHOR: exercise_1
/// Whether labels have just one primary stress, and say of each other sound on which side of it it is.
fn is_possible(labels: &[i64]) -> bool {
    let Some(stress) = labels.iter().position(|&label| label == 6) else { return false };
    let (before, behind) = (&labels[..stress], &labels[stress + 1..]);
    before.iter().all(|label| label % 2 == 0 && *label != 6) && behind.iter().all(|label| label % 2 == 1)
}

#[test]
fn a_field_keeps_to_one_primary_stress() {
    let words: Vec<_> = pronunciations::training().take(1500).collect();
    assert!(words.iter().all(|word| is_possible(&labels(word))));

    let sizes = stress::field::Sizes { WIDTH: 16 };
    let field = stress::field::with(sizes).unwrap();
    let field_labels = stress::field_labels::with(stress::field_labels::Sizes { WIDTH: 16 }).unwrap();
    let alone = stress::alone::with(stress::alone::Sizes { WIDTH: 16 }).unwrap();
    let alone_labels = stress::alone_labels::with(stress::alone_labels::Sizes { WIDTH: 16 }).unwrap();
    let networks = (&field, &field_labels, &alone, &alone_labels);
    let mut parameters = Parameters::create_with_seed(networks, 1).unwrap();
    let trainer = || Trainer::new(Adam::new(4e-3)).seed(1);
    let of_field: Vec<_> = words.iter().map(|word| field.row(word.sounds.clone(), labels(word))).collect();
    let of_alone: Vec<_> = words.iter().map(|word| alone.row(word.sounds.clone(), labels(word))).collect();
    let options = Options::default;
    trainer()
        .train(&field, &mut parameters, of_field.iter().passes(8).batch(32), options(), |_| Ok(()))
        .unwrap();
    trainer()
        .train(&alone, &mut parameters, of_alone.iter().passes(8).batch(32), options(), |_| Ok(()))
        .unwrap();

    let new: Vec<_> =
        pronunciations::held_out().take(500).map(|word| (word.sounds.clone(), labels(&word))).collect();
    let impossible = |found: Vec<Vec<i64>>| found.iter().filter(|labels| !is_possible(labels)).count();
    let rows: Vec<_> = new.iter().cloned().map(|(word, right)| field_labels.row(word, right)).collect();
    let outputs = paddle::infer(&field_labels, &parameters, &rows).unwrap();
    let found = outputs.sequences("found").unwrap();
    let by_field = impossible(found.iter().map(<[i64]>::to_vec).collect());
    let rows: Vec<_> = new.iter().cloned().map(|(word, right)| alone_labels.row(word, right)).collect();
    let outputs = paddle::infer(&alone_labels, &parameters, &rows).unwrap();
    let found = outputs.sequences("found").unwrap();
    let by_itself = impossible(found.iter().map(<[i64]>::to_vec).collect());
    assert!(by_field * 2 < by_itself, "{by_field} {by_itself}");
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod table {
    pub fn cost(word: Seq<i64>, labels: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        mean(linear_chain_crf(embedding(word, [39, 7], param = "sounds"), labels, param = "neighbours"))
    }

    pub fn found(word: Seq<i64>, right: Seq<i64>) -> (_, _) {
        let found = crf_decoding(embedding(word, [39, 7], param = "sounds"), param = "neighbours");
        (found, right)
    }
}

#[test]
fn a_field_without_a_network() {
    let (cost, found) = (table::cost(), table::found());
    let mut parameters = Parameters::create_with_seed((&cost, &found), 1).unwrap();
    let words = pronunciations::training().take(4000);
    let rows: Vec<_> = words.map(|word| cost.row(word.sounds.clone(), labels(&word))).collect();
    let reader = rows.iter().passes(4).shuffle(rows.len()).batch(32);
    let trainer = Trainer::new(Adam::new(2e-2));
    { trainer }.train(&cost, &mut parameters, reader, Options::default(), |_| Ok(())).unwrap();
    let mut distance = EditDistance::default();
    let new = pronunciations::held_out().map(|word| found.row(word.sounds.clone(), labels(&word)));
    infer_each(&found, &parameters, new.map(Item::Data).batch(256), |outputs| {
        Ok(distance.add((outputs.sequences("found")?, outputs.sequences("right")?))?)
    })
    .unwrap();
    let right = 1.0 - distance.wrong();
    // The network gets eight words of ten.
    assert!((0.6..0.8).contains(&right), "{right}");
}
// ANCHOR_END: exercise_2
