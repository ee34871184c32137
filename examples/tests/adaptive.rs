//! What a user would test of the model of `adaptive`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn run_with(seed: u64, passes: usize, glosses: usize, most: i64) -> Judged {
    let settings = Settings { seed, passes, glosses, most };
    run(&settings, most).unwrap()
}

/// Texts of no iteration's words, of some of one's, and of several.
#[test]
fn a_small_model() {
    let net = adaptive::cost::with(adaptive::cost::Sizes { VOCABULARY: 5, CLASSES: 3, WIDTH: 6 }).unwrap();
    let rows = [(vec![0, 1, 2, 3, 4, 0, 1], 0), (vec![2, 1, 0, 3], 1), (vec![3], 2), (vec![], 0)];
    let rows = rows.map(|(words, class)| net.row(words, 3, class));
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/adaptive.txt");
    check_gradients(&net, &rows).unwrap();
}

#[test]
fn a_few_glosses_teach_something() {
    let Judged { accuracy, iterations, rows } = run_with(1, 2, 500, 4);
    assert!(accuracy > 0.12, "{accuracy}");
    let (least, most) = (iterations.iter().min().unwrap(), iterations.iter().max().unwrap());
    assert!((1..=*most).contains(least) && *most <= 4, "{least} {most}");
    assert_eq!(i64::try_from(rows).unwrap(), iterations.iter().sum::<i64>());
}

#[test]
#[ignore = "takes two minutes, in release"]
fn all_seeds_are_no_worse_than_with_one_iteration() {
    for seed in 1..=3 {
        let often = run_with(seed, 5, 20_000, 8);
        let once = run_with(seed, 5, 20_000, 1);
        assert!(often.accuracy >= once.accuracy, "seed {seed}: {} {}", often.accuracy, once.accuracy);
        assert!(often.iterations.iter().min() < often.iterations.iter().max(), "seed {seed}");
    }
}
