//! Recipes: short answers to what is often asked.

use std::error::Error;

use paddle::attribute::network;
use paddle::best::{Best, EarlyStopping, KeepBest};
use paddle::data::Standardizer;
use paddle::event::EventKind;
use paddle::files::{Notes, note};
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Load, Options, Parameters, Trainer, infer};

#[network]
mod curve {
    fn height(x: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        fc(fc(x, 16, act = tanh), 1)
    }

    pub fn cost(x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(height(x) - y))
    }

    pub fn predict(x: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        height(x)
    }
}

fn rows() -> Vec<curve::cost::Row> {
    (0..50).map(|k| k as f32 / 50.0).map(|x| curve::cost::Row { x, y: (5.0 * x).sin() }).collect()
}

/// A folder of the test's own.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("paddle-recipes-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn stopping_early() -> Result<(), Box<dyn Error>> {
    let folder = folder("early");
    let path = folder.join("best.safetensors");
    let net = curve::cost();
    let (training, held_out) = paddle::data::split(rows(), 5);
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(0.01));
    // ANCHOR: stopping_early
    let mut keep = KeepBest::new(Best::lowest(), &path);
    let mut early = EarlyStopping::new(Best::lowest(), 3);
    let reader = training.iter().passes(200).shuffle(40).batch(8);
    trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { pass, .. } = event.kind() {
            let cost = event.test(&net, held_out.iter().batch(8))?.cost();
            keep.see(pass, cost, event.parameters())?;
            if early.see(pass, cost) {
                event.stop();
            }
        }
        Ok(())
    })?;
    keep.restore(&mut parameters)?;
    // ANCHOR_END: stopping_early
    assert!(keep.best().value().is_some());
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn going_on_after_a_kill() -> Result<(), Box<dyn Error>> {
    let folder = folder("kill");
    let path = folder.join("run.checkpoint");
    // ANCHOR: checkpoint
    let net = curve::cost();
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(0.01));
    if path.exists() {
        trainer.resume(&net, &mut parameters, &path)?;
    }
    let rows = rows();
    let reader = rows.iter().passes(20).shuffle(50).seed(1).batch(8);
    let options = Options::default().checkpoint(&path).checkpoint_every(100);
    trainer.train(&net, &mut parameters, reader, options, |_| Ok(()))?;
    // ANCHOR_END: checkpoint
    assert!(path.exists());
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn preparation_saved_with_the_model() -> Result<(), Box<dyn Error>> {
    let folder = folder("notes");
    let path = folder.join("model.safetensors");
    let features: Vec<[f32; 1]> = rows().iter().map(|row| [row.x]).collect();
    let parameters = Parameters::create(&curve::predict())?;
    // ANCHOR: notes
    let standardizer = Standardizer::fit_features(features.iter().copied());
    parameters.save_with(&path, &Notes::default().with("standardizer", &standardizer))?;

    // In the program that serves:
    let net = curve::predict();
    let mut parameters = Parameters::create(&net)?;
    parameters.load(&path, Load::Strict)?;
    let standardizer: Standardizer<1> = note(&path, "standardizer")?;
    let [x] = standardizer.apply([0.3]);
    let outputs = infer(&net, &parameters, [x])?;
    // ANCHOR_END: notes
    assert_eq!(outputs.at::<f32>(0)?.len(), 1);
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn many_threads_ask_one_model() -> Result<(), Box<dyn Error>> {
    // ANCHOR: threads
    let net = curve::predict();
    let parameters = Parameters::create(&net)?;
    std::thread::scope(|scope| {
        for k in 0..4 {
            let (net, parameters) = (&net, &parameters);
            scope.spawn(move || {
                infer(net, parameters, [k as f32]).map(|outputs| outputs.at::<f32>(0).unwrap()[[0, 0]])
            });
        }
    });
    // ANCHOR_END: threads
    Ok(())
}

// ANCHOR: weights
#[network]
mod unbalanced {
    pub fn cost(x: Tensor<f32, _, 4>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        const WEIGHTS: [f32; 3] = [1.0, 1.0, 20.0];
        let losses = softmax_with_cross_entropy(fc(x, 3), class);
        let weights = gather(WEIGHTS, class);
        sum(losses * weights) / sum(weights)
    }
}
// ANCHOR_END: weights

// ANCHOR: pairs
#[network]
mod pairs {
    /// Texts and pictures that belong together are near each other; all others of the batch are wrong answers.
    pub fn cost(text: Tensor<f32, _, 32>, picture: Tensor<f32, _, 64>) -> Tensor<f32> {
        let text = l2_normalize(fc(text, 16), axis = 1);
        let picture = l2_normalize(fc(picture, 16), axis = 1);
        let fits = matmul(text, all_rows(picture), transpose_y = true) / 0.1;
        mean(softmax_with_cross_entropy(fits, row_numbers(text)))
    }
}
// ANCHOR_END: pairs

// ANCHOR: layer
#[network]
pub mod layers {
    /// A layer for any network: `use crate::recipes::layers::swiglu;`. Shazeer (2020).
    #[layer]
    pub fn swiglu(x: Tensor<f32, _, D>, size: usize) -> Tensor<f32, _, D> {
        fc(silu(fc(x, size, param = ".gate")) * fc(x, size, param = ".value"), D)
    }
}
// ANCHOR_END: layer

#[test]
fn networks_of_recipes() -> Result<(), Box<dyn Error>> {
    let net = unbalanced::cost();
    let mut parameters = Parameters::create(&net)?;
    Trainer::new(Adam::new(0.01)).step(
        &net,
        &mut parameters,
        [net.row([1.0; 4], 2), net.row([0.0; 4], 0)],
    )?;
    let net = pairs::cost();
    let mut parameters = Parameters::create(&net)?;
    Trainer::new(Adam::new(0.01)).step(
        &net,
        &mut parameters,
        [net.row([1.0; 32], [0.5; 64]), net.row([0.0; 32], [1.0; 64])],
    )?;
    let net = paddle::network!(|x: Tensor<f32, _, 8>| {
        use crate::recipes::layers::swiglu;
        swiglu(swiglu(x, 16), 16, param = "second")
    });
    assert_eq!(infer(&net, &Parameters::create(&net)?, [[1.0; 8]])?.at::<f32>(0)?.shape(), [1, 8]);
    Ok(())
}
