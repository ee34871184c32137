//! Two experts, of which each patient is seen by one: a branch for each row, beside the closed form for each group.
//!
//! ```text
//! cargo run --release --example mixture -- --seed 2
//! ```

use std::error::Error;

use clap::Parser;
use paddle::attribute::network;
use paddle::data::{Sample, Standardizer, diabetes, least_squares, split};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Options, Parameters, Sgd, Trainer, device, infer};

// ANCHOR: model
#[network]
mod mixture {
    /// Rows are split by sex, 1 or 2. Each expert computes its own.
    fn expected(x: Tensor<f32, _, 9>, sex: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        if sex < 1.5 { fc(x, 1, param = "first") } else { fc(x, 1, param = "second") }
    }

    pub fn cost(x: Tensor<f32, _, 9>, sex: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(expected(x, sex) - y))
    }

    pub fn progression(x: Tensor<f32, _, 9>, sex: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        expected(x, sex)
    }
}
// ANCHOR_END: model

/// Predicts the progression of diabetes, by one expert for each sex.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all patients are gone through.
    #[arg(long, default_value_t = 4000)]
    passes: usize,
}

/// How well patients are predicted that were not learned from.
struct Judged {
    /// The mean squared error of the experts.
    test_mse: f64,
    /// That of two linear regressions, each fitted to one sex.
    closed_form_mse: f64,
    /// The rows that each expert computed.
    rows: [u64; 2],
}

fn main() -> Result<(), Box<dyn Error>> {
    let Judged { test_mse, closed_form_mse, rows: [a, b] } = run(&Settings::parse())?;
    println!("a regression for each sex: test_mse={closed_form_mse:.4}");
    println!("mixture: test_mse={test_mse:.4} rows={a}+{b}");
    Ok(())
}

/// The sex of a patient, and the other nine features.
fn apart(patient: diabetes::Sample) -> (f32, Sample<9>) {
    let [age, sex, others @ ..] = patient.features;
    let mut features = [age; 9];
    features[1..].copy_from_slice(&others);
    (sex, Sample { features, target: patient.target })
}

fn run(settings: &Settings) -> Result<Judged, Box<dyn Error>> {
    let (train, test) = split(diabetes::samples().into_iter().map(apart), 5);
    let standard = Standardizer::fit(&train.iter().map(|(_, sample)| *sample).collect::<Vec<_>>());

    let (cost, progression) = (mixture::cost(), mixture::progression());
    let mut parameters = Parameters::create_on(device()?, (&cost, &progression), settings.seed)?;
    let row =
        |(sex, sample): &(f32, Sample<9>)| cost.row(standard.apply(sample.features), *sex, sample.target);
    let rows: Vec<_> = train.iter().map(row).collect();
    // A batch has all rows: steps along the exact gradient end in the minimum, not near it.
    let reader = rows.iter().passes(settings.passes).batch(rows.len());
    let mut trainer = Trainer::new(Sgd::new(0.1));
    trainer.train(&cost, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind()
            && pass % 400 == 0
        {
            println!("pass {pass}: cost {cost:.2}");
        }
        Ok(())
    })?;

    let row = |(sex, sample): &(f32, Sample<9>)| progression.row(standard.apply(sample.features), *sex);
    let outputs = infer(&progression, &parameters, test.iter().map(row).collect::<Vec<_>>())?;
    let predicted = outputs.at::<f32>(0)?;
    let squared = |error: f64| error * error;
    let of_experts = predicted.iter().zip(&test).map(|(y, (_, sample))| squared((y - sample.target).into()));
    let mut closed_form = 0.0;
    for sex in [1.0, 2.0] {
        let of_sex = |patients: &[(f32, Sample<9>)]| -> Vec<_> {
            patients.iter().filter(|patient| patient.0 == sex).map(|patient| patient.1).collect()
        };
        let (train, test) = (of_sex(&train), of_sex(&test));
        closed_form += least_squares(&train)?.mse(&test) * test.len() as f64;
    }
    let rows = outputs.stats().products().iter().map(|product| product.rows).collect::<Vec<_>>();
    Ok(Judged {
        test_mse: of_experts.sum::<f64>() / test.len() as f64,
        closed_form_mse: closed_form / test.len() as f64,
        rows: rows.try_into().map_err(|_| "each expert has one product")?,
    })
}

#[cfg(test)]
#[path = "tests/mixture.rs"]
mod tests;
