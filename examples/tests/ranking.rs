//! What a user would test of the model of `ranking`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn run_with(seed: u64, passes: usize, pairs: usize) -> [f64; 2] {
    run(&Settings { seed, passes, pairs }).unwrap()
}

#[test]
fn a_small_model() {
    let net = ranking::cost::with(ranking::cost::Sizes { VOCABULARY: 9, WIDTH: 4 }).unwrap();
    let rows = [net.row(vec![0, 1], vec![2, 3, 4], vec![5]), net.row(vec![6, 6], vec![7], vec![8, 0, 2])];
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/ranking.txt");
    check_gradients(&net, &rows).unwrap();
}

#[test]
fn a_few_pairs_teach_something() {
    let [learned, _] = run_with(1, 2, 2000);
    assert!(learned > 0.7, "{learned}");
}

#[test]
#[ignore = "takes half a minute, in release"]
fn all_seeds_are_better_than_counting_words() {
    for seed in 1..=3 {
        let [learned, counted] = run_with(seed, 3, usize::MAX);
        assert!(learned >= counted + 0.01, "seed {seed}: {learned} {counted}");
    }
}
