//! What a user would test of `fit_a_line`.

use std::fmt::Write;

use paddle::Adam;
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

/// Runs the example, with a folder of this name for its picture.
fn run_in(name: &str, housing_data: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("paddle-{name}-{}", std::process::id()));
    let line = run(housing_data, &folder);
    fs::remove_dir_all(folder).unwrap();
    line
}

#[test]
fn the_embedded_data() {
    let line = run_in("embedded", None).unwrap();
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
    assert_near(&run_in("columns", Some(&path)).unwrap());
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_that_is_not_there() {
    let error = run_in("missing", Some(Path::new("no/such/housing.data"))).unwrap_err();
    assert!(error.to_string().starts_with("no/such/housing.data: "), "{error}");
}

/// Trains on the embedded data, by steps along the gradient of all rows; returns the outputs for these rows.
fn fitted<Cost, Price>(cost: &Network<Cost>, price: &Network<Price>, passes: usize) -> Vec<(f32, f32)>
where
    Cost: Trainable<Row: From<([f32; 10], f32)>>,
    Price: Spec<Row = [f32; 10]>,
{
    let (train, _) = split(diabetes::samples(), 5);
    let standard = Standardizer::fit(&train);
    let features: Vec<_> = train.iter().map(|sample| standard.apply(sample.features)).collect();
    let rows: Vec<_> =
        features.iter().zip(&train).map(|(&x, sample)| Cost::Row::from((x, sample.target))).collect();
    let mut parameters = Parameters::create((cost, price)).unwrap();
    let reader = rows.iter().passes(passes).batch(rows.len());
    // The numbers of patients are large, and the gradient of an absolute value is not.
    let mut trainer = Trainer::new(Adam::new(1.0));
    trainer.train(cost, &mut parameters, reader, Options::default(), |_| Ok(())).unwrap();
    let outputs = infer(price, &parameters, features).unwrap();
    let found = outputs.at::<f32>(0).unwrap();
    found.iter().copied().zip(train.iter().map(|sample| sample.target)).collect()
}

fn mean_of(found: &[(f32, f32)], error: impl Fn(f32) -> f32) -> f32 {
    found.iter().map(|(price, target)| error(price - target)).sum::<f32>() / found.len() as f32
}

// ANCHOR: exercise_1
#[network]
mod median {
    fn line(x: _) -> _ {
        fc(x, 1)
    }

    pub fn cost(x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(abs(line(x) - y))
    }

    pub fn price(x: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        line(x)
    }
}

#[test]
fn absolute_errors_instead_of_squares() {
    let by_squares = fitted(&regression::diabetes_cost(), &regression::diabetes(), 2000);
    let by_absolutes = fitted(&median::cost(), &median::price(), 2000);
    // Each line is better at what it was asked for.
    assert!(mean_of(&by_absolutes, f32::abs) < mean_of(&by_squares, f32::abs));
    assert!(mean_of(&by_absolutes, |it| it * it) > mean_of(&by_squares, |it| it * it));
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod curved {
    fn curve(x: _) -> _ {
        fc(concat([x, square(x)], axis = 1), 1)
    }

    pub fn cost(x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(curve(x) - y))
    }

    pub fn price(x: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        curve(x)
    }
}

#[test]
fn squares_of_the_features_as_well() {
    let line = fitted(&regression::diabetes_cost(), &regression::diabetes(), 2000);
    let curve = fitted(&curved::cost(), &curved::price(), 2000);
    // What is learned from is told better; whether other patients are is another question.
    assert!(mean_of(&curve, |it| it * it) < mean_of(&line, |it| it * it));
}
// ANCHOR_END: exercise_2
