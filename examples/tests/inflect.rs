//! What a user would test of the model of `inflect`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn run_with(seed: u64, passes: usize) -> [f64; 3] {
    inflections::exact_match(run(&Settings { seed, passes }).unwrap())
}

#[test]
fn a_small_model() {
    let net = inflect::cost::with(inflect::cost::Sizes { WIDTH: 4 }).unwrap();
    // A word becomes none, itself, itself from the end, and none becomes a word.
    let rows = [
        (vec![1, 2], vec![27], vec![0]),
        (vec![2, 3, 1], vec![27, 2, 3, 1], vec![2, 3, 1, 0]),
        (vec![1, 3], vec![28, 3, 1], vec![3, 1, 0]),
        (vec![], vec![28, 1], vec![1, 0]),
    ];
    let rows = rows.map(|(word, before, form)| net.row(word, before, form));
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/inflect_cost.txt");
    let form = inflect::form::with(inflect::form::Sizes { WIDTH: 4 }).unwrap();
    assert_program(&form, "examples/golden/inflect_form.txt");
    check_gradients(&net, &rows).unwrap();
}

/// Words are written for as long as they take, each by itself.
#[test]
fn a_form_does_not_depend_on_others() {
    let net = inflect::form::with(inflect::form::Sizes { WIDTH: 8 }).unwrap();
    let parameters = Parameters::create_with_seed(&net, 5).unwrap();
    let words: Vec<_> = inflections::held_out().take(40).collect();
    let row = |word: &Inflection| {
        net.row(word.lemma.bytes().map(|letter| i64::from(letter - b'`')).collect::<Vec<_>>(), 27)
    };
    let together = infer(&net, &parameters, words.iter().map(row).collect::<Vec<_>>()).unwrap();
    let together = together.at::<i64>(0).unwrap();
    for (word, form) in words.iter().zip(together.outer_iter()) {
        let alone = infer(&net, &parameters, [row(word)]).unwrap();
        assert_eq!(alone.at::<i64>(0).unwrap().index_axis(ndarray::Axis(0), 0), form, "{}", word.lemma);
    }
}

#[test]
fn a_pass_teaches_some_words() {
    let [_, by_rule, all] = run_with(1, 1);
    assert!(by_rule > 0.3 && all > 0.2, "{by_rule} {all}");
}

#[test]
#[ignore = "takes two minutes, in release"]
fn all_seeds_are_better_than_the_rule() {
    for seed in 1..=3 {
        let [_, _, all] = run_with(seed, 15);
        assert!(all >= inflections::rule_baseline() + 0.1, "seed {seed}: {all}");
    }
}
