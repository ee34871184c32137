//! What a user would test of the model of `sentiment`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn run_with(seed: u64, passes: usize, glosses: usize) -> [f64; 2] {
    run(&Settings { seed, passes, glosses }).unwrap()
}

/// Texts of any length, none at all included; that one word comes before another makes a difference.
#[test]
fn a_small_model() {
    let net = sentiment::cost::with(sentiment::cost::Sizes { VOCABULARY: 4, CLASSES: 3, WIDTH: 8 }).unwrap();
    let rows = [(vec![0, 1, 2], 0), (vec![2, 1, 0], 1), (vec![3], 2), (vec![], 0)];
    let rows = rows.map(|(words, class)| net.row(words, class));
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/sentiment.txt");
    check_gradients(&net, &rows).unwrap();
}

#[test]
fn a_few_glosses_teach_something() {
    let [learned, counted] = run_with(1, 2, 500);
    assert!(learned > 0.15, "{learned}");
    assert!((0.3..0.4).contains(&counted), "{counted}");
}

#[test]
#[ignore = "takes three minutes, in release"]
fn all_seeds_are_better_than_counting_words() {
    for seed in 1..=3 {
        let [learned, counted] = run_with(seed, 5, 20_000);
        assert!(learned >= counted + 0.02, "seed {seed}: {learned} {counted}");
    }
}
