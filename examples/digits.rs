//! Handwritten digits, told apart by a convolutional network.
//!
//! ```text
//! cargo run --release --example digits                # 8 × 8 pixels, embedded
//! cargo run --release --example digits -- mnist       # 28 × 28 pixels, from a folder with MNIST's files
//! cargo run --release --example digits -- --seed 2 --passes 10
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use paddle::attribute::network;
#[cfg(feature = "cluster")]
use paddle::cluster::Cluster;
use paddle::data::{Image, digits, mnist, split};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Network, Options, Parameters, Trainable, Trainer, device, test};

#[network]
mod classifier {
    /// The logits of ten classes, of images `[_, height, width]`.
    fn logits(image: Tensor<f32, _, H, W>) -> Tensor<f32, _, 10> {
        let image = reshape(image, [1, H, W]);
        let edges = batch_norm(conv2d(image, 32, 3, padding = same));
        let shapes = batch_norm(conv2d(relu(edges), 32, 3, padding = same));
        let halves = dropout(pool2d(relu(shapes), 2, kind = max), 0.25);
        let parts = batch_norm(conv2d(halves, 64, 3, padding = same));
        let quarters = dropout(pool2d(relu(parts), 2, kind = max), 0.25);
        let hidden = dropout(fc(quarters, 128, act = relu), 0.5);
        fc(hidden, 10)
    }

    fn judged(logits: Tensor<f32, _, 10>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let accuracy = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), accuracy)
    }

    pub fn small(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> _ {
        judged(logits(image, param = "small"), label)
    }

    pub fn large(image: Tensor<f32, _, 28, 28>, label: Tensor<i64, _, 1>) -> _ {
        judged(logits(image, param = "large"), label)
    }
}

/// Tells handwritten digits apart.
#[derive(Parser)]
struct Settings {
    /// A folder with MNIST's files; the embedded digits are taken without one.
    folder: Option<PathBuf>,
    /// Of the parameters at first, of the order of the digits, and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all digits are gone through.
    #[arg(long)]
    passes: Option<usize>,
    /// Trains on a cluster: `local:4` is one of four trainers, which are processes on this machine; `all-reduce:4` has four ranks, which are equals.
    #[cfg(feature = "cluster")]
    #[arg(long)]
    cluster: Option<Cluster>,
    /// The number of shards of a batch, which trainers share. The result depends on it, but not on the cluster.
    #[arg(long, default_value_t = 1)]
    shards: usize,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Trains on the digits that the settings choose, and says how many of the others are told apart.
fn run(settings: &Settings) -> Result<String, Box<dyn Error>> {
    match &settings.folder {
        None => train(&classifier::small(), split(digits::images(), 5), 40, settings),
        Some(folder) => train(&classifier::large(), mnist::read(folder)?, 4, settings),
    }
}

fn train<const H: usize, const W: usize, S>(
    net: &Network<S>,
    (training, testing): (Vec<Image<H, W>>, Vec<Image<H, W>>),
    passes: usize,
    settings: &Settings,
) -> Result<String, Box<dyn Error>>
where
    S: Trainable<Row: From<([[f32; W]; H], i64)> + Clone>,
{
    let rows = |images: &[Image<H, W>]| {
        images.iter().map(|image| S::Row::from((image.pixels, image.label))).collect::<Vec<_>>()
    };
    let (training, testing) = (rows(&training), rows(&testing));
    let seed = settings.seed;
    let mut parameters = Parameters::create_on(device()?, net, seed)?;
    let mut trainer = Trainer::new(Adam::new(1e-3)).seed(seed);
    #[cfg(feature = "cluster")]
    {
        trainer = trainer.on(settings.cluster.as_ref());
    }
    let passes = settings.passes.unwrap_or(passes);
    let reader = training.iter().passes(passes).shuffle(training.len()).seed(seed).batch(64);
    trainer.train(net, &mut parameters, reader, Options::default().shards(settings.shards), |event| {
        if let EventKind::EndPass { pass, cost, metrics } = event.kind() {
            println!("pass {pass}: cost {cost:.4}, accuracy {:.4}", metrics[0]);
        }
        Ok(())
    })?;
    let tested = test(net, &parameters, testing.iter().batch(256))?;
    Ok(format!("digits: test_accuracy={:.4}", tested.metric("accuracy").unwrap_or_default()))
}

#[cfg(test)]
#[path = "tests/digits.rs"]
mod tests;
