//! Two networks play against each other: one makes digits, the other tells them from those that people wrote.
//!
//! ```text
//! cargo run --release --example gan -- --seed 2      # pictures and curves in target/gan; Ctrl-C ends the game early
//! ```

use std::array;
use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use fastrand::Rng;
use ndarray::{Array3, Ix3};
use paddle::attribute::network;
#[cfg(feature = "cluster")]
use paddle::cluster::Cluster;
use paddle::data::{digits, split};
use paddle::plot::grid;
use paddle::updater::schedule::polynomial;
use paddle::{Adam, Device, Options, Parameters, Trainer, Watch, device, infer};

#[path = "gan/judge.rs"]
mod judge;

// ANCHOR: model
#[network]
mod gan {
    pub fn generator(noise: Tensor<f32, _, 32>) -> Tensor<f32, _, 8, 8> {
        let first = leaky_relu(fc(noise, 256, param = "G.first"), alpha = 0.2);
        let second = leaky_relu(fc(first, 256, param = "G.second"), alpha = 0.2);
        reshape(fc(second, 64, act = sigmoid, param = "G.image"), [8, 8])
    }

    /// How sure it is that an image is real, as a logit.
    fn discriminator(image: Tensor<f32, _, 8, 8>) -> Tensor<f32, _, 1> {
        let first = dropout(leaky_relu(fc(image, 256, param = "D.first"), alpha = 0.2), 0.3);
        let second = dropout(leaky_relu(fc(first, 128, param = "D.second"), alpha = 0.2), 0.3);
        fc(second, 1, param = "D.real")
    }

    /// Trains G: what it makes is to be taken for real.
    pub fn d0(noise: Tensor<f32, _, 32>) -> Tensor<f32> {
        mean(softplus(-discriminator(generator(noise))))
    }

    /// Trains D: what is real is to be told from what is made.
    pub fn d1(image: Tensor<f32, _, 8, 8>, noise: Tensor<f32, _, 32>) -> Tensor<f32> {
        mean(softplus(-discriminator(image)) + softplus(discriminator(generator(noise))))
    }
}
// ANCHOR_END: model

/// Learns to make handwritten digits.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the digits, of the noise and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often the two go through all digits.
    #[arg(long, default_value_t = 500)]
    passes: usize,
    /// Where pictures are put.
    #[arg(long, default_value = "target/gan")]
    folder: PathBuf,
    /// Trains on a cluster: `local:4` is one of four trainers, which are processes on this machine; `all-reduce:4` has four ranks, which are equals.
    #[cfg(feature = "cluster")]
    #[arg(long)]
    cluster: Option<Cluster>,
    /// The number of shards of a batch, which trainers share. The result depends on it, but not on the cluster.
    #[arg(long, default_value_t = 1)]
    shards: usize,
}

impl Settings {
    /// Whether this process draws pictures: one of them does, if there are several.
    fn draws(&self) -> bool {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.rank() == 0;
        }
        true
    }

    /// How the game is watched. On a cluster it is not interrupted, as all ranks would have to end at the same pass.
    fn watched(&self) -> Options {
        let options = Options::default();
        if !self.draws() {
            return options;
        }
        let options = options.progress().curve(self.folder.join("costs.svg"));
        #[cfg(feature = "cluster")]
        if self.cluster.is_some() {
            return options;
        }
        options.interruptible()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    let (training, testing) = split(digits::images(), 5);
    let judge = judge::Judge::train(&training, &testing, settings.seed)?;
    let samples = play(&settings, training.iter().map(|image| image.pixels).collect())?;
    let (classes, confidence) = judge.judge(samples.view())?;
    let (accuracy, on_noise) = (judge.test_accuracy, judge.confidence_on_noise);
    println!("classifier: test_accuracy={accuracy:.4} confidence_on_noise={on_noise:.4}");
    println!("gan: classes={classes} confidence={confidence:.4}");
    Ok(())
}

/// Has the two learn from each other, and returns 1,000 images that are made in the end.
fn play(settings: &Settings, mut digits: Vec<[[f32; 8]; 8]>) -> Result<Array3<f32>, Box<dyn Error>> {
    let &Settings { seed, passes, ref folder, .. } = settings;
    let (d0, d1) = (gan::d0(), gan::d1());
    let mut parameters = Parameters::create_on(device()?, (&d0, &d1), seed)?;
    let steps = passes * digits.len().div_ceil(64);
    let rate = polynomial(1e-3, steps as u64, 0.0, 1.0);
    let player = || Trainer::new(Adam::new(rate.clone()).betas(0.5, 0.999)).seed(seed);
    #[cfg(feature = "cluster")]
    let player = || player().on(settings.cluster.as_ref());
    let (mut g, mut d, mut rng) = (player(), player(), Rng::with_seed(seed));
    let options = Options::default().shards(settings.shards);
    let (only_g, only_d) = (options.clone().freeze(gan::params::D), options.freeze(gan::params::G));
    let always = noise(&mut rng, 100);
    std::fs::create_dir_all(folder)?;
    // The costs of `d1`, that real is told from made, and of `d0`, that made is taken for real.
    let mut watch = Watch::new("gan", ["told", "taken"], &settings.watched(), 0)?;
    for pass in 1..=passes {
        watch.begin_pass(pass)?;
        rng.shuffle(&mut digits);
        for images in digits.chunks(64) {
            let made = noise(&mut rng, images.len());
            let rows: Vec<_> = images.iter().zip(made).map(|(&image, noise)| d1.row(image, noise)).collect();
            let told = d.step_with(&d1, &mut parameters, &rows, &only_d)?.cost();
            let taken = g.step_with(&d0, &mut parameters, noise(&mut rng, images.len()), &only_g)?.cost();
            watch.step(images.len(), [told, taken])?;
        }
        watch.end_pass()?;
        let is_last = pass == passes || watch.interrupted();
        if settings.draws() && (pass % 50 == 0 || is_last) {
            let picture = folder.join(format!("pass_{pass:03}.png"));
            grid(&picture, &make(&parameters, &always)?, 10)?;
            watch.aside(|| println!("{}", picture.display()));
        }
        if is_last {
            break;
        }
    }
    watch.end()?;
    make(&parameters, &noise(&mut rng, 1000))
}

fn noise(rng: &mut Rng, rows: usize) -> Vec<[f32; 32]> {
    (0..rows).map(|_| array::from_fn(|_| 2.0 * rng.f32() - 1.0)).collect()
}

fn make(parameters: &Parameters<Device>, noise: &[[f32; 32]]) -> Result<Array3<f32>, Box<dyn Error>> {
    let images = infer(&gan::generator(), parameters, noise)?;
    Ok(images.at::<f32>(0)?.into_dimensionality::<Ix3>()?.to_owned())
}

#[cfg(test)]
#[path = "tests/gan.rs"]
mod tests;
