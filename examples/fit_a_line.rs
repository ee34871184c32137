//! Linear regression on real data, beside its closed form.
//!
//! ```text
//! cargo run --release --example fit_a_line                  # the progression of diabetes, embedded
//! cargo run --release --example fit_a_line -- housing.data  # the prices of homes, from UCI's file
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paddle::attribute::network;
use paddle::data::{Sample, Standardizer, diabetes, housing, least_squares, split};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Network, Options, Parameters, Sgd, Spec, Trainable, Trainer, infer};

// ANCHOR: model
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
// ANCHOR_END: model

fn main() -> ExitCode {
    let path = env::args_os().nth(1).map(PathBuf::from);
    match run(path.as_deref(), Path::new("target/fit_a_line")) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Fits the housing data of a file, or else the embedded data, and says how well. A folder gets the curve of the cost.
fn run(housing_data: Option<&Path>, folder: &Path) -> Result<String, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let curve = folder.join("cost.svg");
    match housing_data {
        None => fit(&regression::diabetes_cost(), &regression::diabetes(), diabetes::samples(), &curve),
        Some(path) => fit(&regression::housing_cost(), &regression::housing(), housing::read(path)?, &curve),
    }
}

fn fit<const N: usize, Cost, Price>(
    cost: &Network<Cost>,
    price: &Network<Price>,
    samples: Vec<Sample<N>>,
    curve: &Path,
) -> Result<String, Box<dyn Error>>
where
    Cost: Trainable<Row: From<([f32; N], f32)>>,
    Price: Spec<Row = [f32; N]>,
{
    // ANCHOR: data
    let (train, test) = split(samples, 5);
    let standard = Standardizer::fit(&train);
    let row = |sample: &Sample<N>| Cost::Row::from((standard.apply(sample.features), sample.target));
    let rows: Vec<_> = train.iter().map(row).collect();
    // ANCHOR_END: data

    // ANCHOR: training
    // Both networks call `line`, so they share its parameters.
    let mut parameters = Parameters::create((cost, price))?;
    let mut trainer = Trainer::new(Sgd::new(0.1));
    // A batch has all rows: steps along the exact gradient end in the minimum, not near it.
    let reader = rows.iter().passes(2000).batch(rows.len());
    let options = Options::default().curve(curve);
    trainer.train(cost, &mut parameters, reader, options, |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind()
            && pass % 200 == 0
        {
            println!("pass {pass}: cost {cost:.2}");
        }
        Ok(())
    })?;
    // ANCHOR_END: training

    // ANCHOR: judged
    let features: Vec<_> = test.iter().map(|sample| standard.apply(sample.features)).collect();
    let outputs = infer(price, &parameters, features)?;
    let prices = outputs.at::<f32>(0)?;
    let errors = prices.iter().zip(&test).map(|(price, sample)| f64::from(price - sample.target));
    let test_mse = errors.map(|error| error * error).sum::<f64>() / test.len() as f64;
    let closed_form_mse = least_squares(&train)?.mse(&test);
    // ANCHOR_END: judged
    Ok(format!("fit_a_line: test_mse={test_mse:.4} closed_form_mse={closed_form_mse:.4}"))
}

#[cfg(test)]
#[path = "tests/fit_a_line.rs"]
mod tests;
