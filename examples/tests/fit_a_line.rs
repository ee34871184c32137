//! What a user would test of `fit_a_line`.

use std::fmt::Write;
use std::fs;

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

#[test]
fn the_line_learns_two_patients() {
    let samples = diabetes::samples();
    let standard = Standardizer::fit(&samples);
    let row = |sample: &Sample<10>| (standard.apply(sample.features), sample.target).into();
    let rows: Vec<regression::diabetes_cost::Row> = samples[..2].iter().map(row).collect();
    assert_learns(&regression::diabetes_cost(), &rows);
    assert_program(&regression::diabetes_cost(), "examples/golden/fit_a_line.txt");
    check_gradients(&regression::diabetes_cost(), &rows).unwrap();
}

/// The two errors of the last line.
fn errors(line: &str) -> (f64, f64) {
    let rest = line.strip_prefix("fit_a_line: test_mse=").unwrap();
    let (test, closed_form) = rest.split_once(" closed_form_mse=").unwrap();
    (test.parse().unwrap(), closed_form.parse().unwrap())
}

fn assert_near(line: &str) {
    let (test, closed_form) = errors(line);
    assert!((test / closed_form - 1.0).abs() < 0.02, "{line}");
}

#[test]
fn the_embedded_data() {
    let line = run(None).unwrap();
    assert_near(&line);
    // As numpy has it.
    assert!((errors(&line).1 - 3279.1576).abs() < 1e-3, "{line}");
}

/// A file like `housing.data`: 13 features and a target that a line explains but for a little.
#[test]
fn a_file_of_thirteen_columns() {
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0;
    let mut text = String::new();
    for i in 0..120 {
        let features: Vec<f64> = (0..13).map(|j| number(13 * i + j) * (j + 1) as f64).collect();
        let target = 20.0 + features.iter().sum::<f64>() / 10.0 + number(i + 77);
        for value in features.iter().chain([&target]) {
            write!(text, " {value:.4}").unwrap();
        }
        text.push('\n');
    }
    let path = env::temp_dir().join(format!("paddle-thirteen-columns-{}.data", std::process::id()));
    fs::write(&path, text).unwrap();
    assert_near(&run(Some(&path)).unwrap());
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_that_is_not_there() {
    let error = run(Some(Path::new("no/such/housing.data"))).unwrap_err();
    assert!(error.to_string().starts_with("no/such/housing.data: "), "{error}");
}
