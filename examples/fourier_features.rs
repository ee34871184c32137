//! An operator of one's own, in one file: its types, its gradient, its kernels, and a model that is trained through it.
//!
//! ```text
//! cargo run --release --example fourier_features
//! cargo test --example fourier_features
//! ```
//!
//! `fourier` is the feature map of "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional
//! Domains" (Tancik et al., 2020, equation 4, for one frequency per dimension): each number becomes a point on a circle.

use std::error::Error;
use std::process::ExitCode;

use paddle::attribute::network;
use paddle::data::{Standardizer, diabetes, least_squares, split};
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::reader::{DataSet, Reader};
use paddle::{Options, Parameters, Sgd, Trainer, infer};

/// The operator, and the one that computes its gradient.
#[network]
pub mod features {
    /// The sines of all numbers of a row times `frequency`, and behind them their cosines.
    #[operator(row_wise, gradient = fourier_gradient)]
    pub fn fourier(x: Tensor<f32, _, D>, #[default = 1.0] frequency: f32) -> Tensor<f32, _, { 2 * D }>;

    /// The gradient of the cost with respect to `x`, of which `grad` is that with respect to `fourier(x)`.
    #[operator(row_wise)]
    pub fn fourier_gradient(
        x: Tensor<f32, _, D>,
        grad: Tensor<f32, _, { 2 * D }>,
        #[default = 1.0] frequency: f32,
    ) -> Tensor<f32, _, D>;
}

/// With f = `frequency`: y = (sin f·x, cos f·x).
impl Operator for features::fourier {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f32>(0)?, output.get::<f32>()?);
        let (frequency, count) = (inputs.number("frequency")? as f32, x.shape()[1]);
        for (x, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
            for (i, x) in x.iter().enumerate() {
                (y[i], y[count + i]) = (frequency * x).sin_cos();
            }
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f64>(0)?, output.get::<f64>()?);
        let frequency = inputs.number("frequency")?;
        let count = x.shape()[1];
        for i in 0..count {
            y[[0, i]] = (frequency * x[[0, i]]).sin();
            y[[0, count + i]] = (frequency * x[[0, i]]).cos();
        }
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        [0, 1, 3, 700].map(|rows| op.clone().rows(rows, &[5])).into()
    }
}

/// dx = f·(cos f·x · dy₁ − sin f·x · dy₂), where dy = (dy₁, dy₂).
impl Operator for features::fourier_gradient {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, dy, mut dx) = (inputs.get::<f32>(0)?, inputs.get::<f32>(1)?, output.get::<f32>()?);
        let frequency = inputs.number("frequency")? as f32;
        for ((x, dy), mut dx) in x.rows().into_iter().zip(dy.rows()).zip(dx.rows_mut()) {
            for (i, x) in x.iter().enumerate() {
                let (sin, cos) = (frequency * x).sin_cos();
                dx[i] = frequency * (cos * dy[i] - sin * dy[dx.len() + i]);
            }
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, dy, mut dx) = (inputs.get::<f64>(0)?, inputs.get::<f64>(1)?, output.get::<f64>()?);
        let frequency = inputs.number("frequency")?;
        let count = x.shape()[1];
        for i in 0..count {
            let angle = frequency * x[[0, i]];
            dx[[0, i]] = frequency * (angle.cos() * dy[[0, i]] - angle.sin() * dy[[0, count + i]]);
        }
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        [0, 1, 3, 700].map(|rows| op.clone().rows(rows, &[5]).rows(rows, &[10])).into()
    }
}

#[network]
mod regression {
    use super::features::fourier;

    /// Waves across the patients' features, in directions that are learned.
    fn progression(x: Tensor<f32, _, D>) -> Tensor<f32, _, 1> {
        let directions = fc(x, 8, init = normal(0.0, 0.1));
        let waves: Tensor<f32, _, 16> = fourier(directions, frequency = 0.5);
        fc(waves, 1)
    }

    pub fn cost(x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(progression(x) - y))
    }

    pub fn predict(x: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        progression(x)
    }
}

fn main() -> ExitCode {
    match run(400) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Trains on the embedded data of diabetes patients, and says how well it predicts those that it has not seen.
fn run(passes: usize) -> Result<String, Box<dyn Error>> {
    let (train, test) = split(diabetes::samples(), 5);
    let standard = Standardizer::fit(&train);
    let (cost, predict) = (regression::cost(), regression::predict());
    // The progression is about 150 on average, and 80 around it.
    let rows: Vec<_> = train
        .iter()
        .map(|sample| cost.row(standard.apply(sample.features), (sample.target - 150.0) / 80.0))
        .collect();
    let mut parameters = Parameters::create((&cost, &predict))?;
    let reader = rows.iter().passes(passes).batch(32);
    Trainer::new(Sgd::new(0.02)).train(&cost, &mut parameters, reader, Options::default(), |_| Ok(()))?;

    let outputs = infer(
        &predict,
        &parameters,
        test.iter().map(|sample| standard.apply(sample.features)).collect::<Vec<_>>(),
    )?;
    let predicted = outputs.at::<f32>(0)?;
    let errors = predicted.iter().zip(&test).map(|(y, sample)| f64::from(80.0 * y + 150.0 - sample.target));
    let test_mse = errors.map(|error| error * error).sum::<f64>() / test.len() as f64;
    let line_mse = least_squares(&train)?.mse(&test);
    Ok(format!("fourier_features: test_mse={test_mse:.1} line_mse={line_mse:.1}"))
}

#[cfg(test)]
#[path = "tests/fourier_features.rs"]
mod tests;
