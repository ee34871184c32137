//! Linear regression on real data, beside its closed form.
//!
//! ```text
//! cargo run --release --example fit_a_line                  # the progression of diabetes, embedded
//! cargo run --release --example fit_a_line -- housing.data  # the prices of homes, from UCI's file
//! ```

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paddle::attribute::network;
use paddle::data::{Sample, Standardizer, diabetes, housing, least_squares, split};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Network, Options, Parameters, Sgd, Spec, Trainer, infer};

#[network]
mod regression {
    /// One weight per feature, and one more. Other data have other features, so each has weights of its own.
    fn line(x: _) -> _ {
        fc(x, 1)
    }

    pub fn diabetes_cost(x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(line(x, param = "diabetes") - y))
    }

    pub fn diabetes(x: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        line(x, param = "diabetes")
    }

    pub fn housing_cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(line(x, param = "housing") - y))
    }

    pub fn housing(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        line(x, param = "housing")
    }
}

fn main() -> ExitCode {
    let path = env::args_os().nth(1).map(PathBuf::from);
    match run(path.as_deref()) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Fits the housing data of a file, or else the embedded data, and says how well.
fn run(housing_data: Option<&Path>) -> Result<String, Box<dyn Error>> {
    match housing_data {
        None => fit(&regression::diabetes_cost(), &regression::diabetes(), diabetes::samples()),
        Some(path) => fit(&regression::housing_cost(), &regression::housing(), housing::read(path)?),
    }
}

fn fit<const N: usize, Cost, Price>(
    cost: &Network<Cost>,
    price: &Network<Price>,
    samples: Vec<Sample<N>>,
) -> Result<String, Box<dyn Error>>
where
    Cost: Spec<Row: From<([f32; N], f32)>>,
    Price: Spec<Row = [f32; N]>,
{
    let (train, test) = split(samples, 5);
    let standard = Standardizer::fit(&train);
    let row = |sample: &Sample<N>| Cost::Row::from((standard.apply(sample.features), sample.target));
    let rows: Vec<_> = train.iter().map(row).collect();

    // Both networks call `line`, so they share its parameters.
    let mut parameters = Parameters::create((cost, price))?;
    let mut trainer = Trainer::new(Sgd::new(0.1));
    // A batch has all rows: steps along the exact gradient end in the minimum, not near it.
    let reader = rows.iter().passes(2000).batch(rows.len());
    trainer.train(cost, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind()
            && pass % 200 == 0
        {
            println!("pass {pass}: cost {cost:.2}");
        }
        Ok(())
    })?;

    let features: Vec<_> = test.iter().map(|sample| standard.apply(sample.features)).collect();
    let outputs = infer(price, &parameters, features)?;
    let prices = outputs.at::<f32>(0)?;
    let errors = prices.iter().zip(&test).map(|(price, sample)| f64::from(price - sample.target));
    let test_mse = errors.map(|error| error * error).sum::<f64>() / test.len() as f64;
    let closed_form_mse = least_squares(&train)?.mse(&test);
    Ok(format!("fit_a_line: test_mse={test_mse:.4} closed_form_mse={closed_form_mse:.4}"))
}

#[cfg(test)]
mod tests {
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
}
