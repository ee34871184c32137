//! What a user would test of `mixture`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

#[test]
fn the_experts_learn_four_patients() {
    let patients = diabetes::samples();
    let standard = Standardizer::fit(&patients.iter().map(|&patient| apart(patient).1).collect::<Vec<_>>());
    let net = mixture::cost();
    let row = |&patient: &diabetes::Sample| {
        let (sex, sample) = apart(patient);
        net.row(standard.apply(sample.features), sex, sample.target)
    };
    let rows: Vec<_> = patients[..4].iter().map(row).collect();
    assert_eq!(rows.iter().map(|row| row.sex).collect::<Vec<_>>(), [2.0, 1.0, 2.0, 1.0]);
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/mixture.txt");
    check_gradients(&net, &rows).unwrap();
}

/// As good as a regression for each sex, which computes no row of the other.
#[test]
fn all_seeds_reach_the_goal() {
    let (_, test) = split(diabetes::samples(), 5);
    let of_sex = |sex| test.iter().filter(|patient| patient.features[1] == sex).count() as u64;
    for seed in 1..=3 {
        let Judged { test_mse, closed_form_mse, rows } = run(&Settings { seed, passes: 4000 }).unwrap();
        assert!(test_mse <= 1.02 * closed_form_mse, "seed {seed}: {test_mse} {closed_form_mse}");
        assert_eq!(rows, [of_sex(1.0), of_sex(2.0)]);
        // `np.linalg.lstsq` for each sex.
        assert!((closed_form_mse - 3232.2939).abs() < 1e-3, "{closed_form_mse}");
    }
}
