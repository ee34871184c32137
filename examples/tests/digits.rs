//! What a user would test of `digits`.

use paddle::testing::{assert_learns, assert_program};

use super::*;

/// Digits as rows, one of each class.
fn one_of_each() -> Vec<classifier::small::Row> {
    let images = digits::images();
    let of = |class| images.iter().find(|image| image.label == class).expect("there are all digits");
    (0..10).map(of).map(|image| (image.pixels, image.label).into()).collect()
}

#[test]
fn the_network_learns_ten_digits() {
    assert_learns(&classifier::small(), one_of_each());
}

#[test]
fn its_program_is_the_one_that_was_reviewed() {
    assert_program(&classifier::small(), "examples/golden/digits.txt");
}

fn accuracy(passes: usize, seed: u64) -> f32 {
    let line =
        run(&Settings { folder: None, seed, passes: Some(passes), ..Settings::parse_from([""]) }).unwrap();
    line.strip_prefix("digits: test_accuracy=").unwrap().parse().unwrap()
}

#[test]
fn two_passes_tell_most_digits_apart() {
    let accuracy = accuracy(2, 1);
    assert!(accuracy > 0.7, "{accuracy}");
}

#[test]
#[ignore = "takes half a minute, in release"]
fn all_seeds_reach_the_goal() {
    for seed in 1..=3 {
        let accuracy = accuracy(40, seed);
        assert!(accuracy >= 0.98, "seed {seed}: {accuracy}");
    }
}
