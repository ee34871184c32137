//! Handwritten digits, told apart by one layer, by three, and by a network that looks for shapes.
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
use ndarray::{Array2, Array3, Array4};
use paddle::attribute::network;
#[cfg(feature = "cluster")]
use paddle::cluster::Cluster;
use paddle::data::{Image, digits, mnist, split};
use paddle::event::EventKind;
use paddle::plot::{colour_grid, grid};
use paddle::reader::{DataSet, Reader};
use paddle::{
    Adam, Device, Network, Options, Parameters, Spec, Trainable, Trainer, device, infer_each, test,
};

// ANCHOR: model
#[network]
mod classifier {
    /// What each pixel counts for each digit.
    fn softmax_regression(image: Tensor<f32, _, H, W>) -> Tensor<f32, _, 10> {
        fc(image, 10)
    }

    /// Two layers in between, which know nothing of neighbours.
    fn perceptron(image: Tensor<f32, _, H, W>) -> Tensor<f32, _, 10> {
        let first = dropout(fc(image, 128, act = relu), 0.2);
        let second = dropout(fc(first, 64, act = relu), 0.2);
        fc(second, 10)
    }

    /// Shapes made of edges, wherever they are, at half and at a quarter of the size: LeCun, Bottou, Bengio and Haffner (1998). Its layers are
    /// of today: normalised, with dropout.
    fn lenet(image: Tensor<f32, _, H, W>) -> Tensor<f32, _, 10> {
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

    pub fn small_softmax(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> _ {
        judged(softmax_regression(image, param = "small_softmax"), label)
    }

    pub fn small_perceptron(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> _ {
        judged(perceptron(image, param = "small_perceptron"), label)
    }

    pub fn small_lenet(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> _ {
        judged(lenet(image, param = "small_lenet"), label)
    }

    pub fn small_digit(image: Tensor<f32, _, 8, 8>) -> Tensor<i64, _> {
        argmax(lenet(image, param = "small_lenet"), axis = 1)
    }

    pub fn large_softmax(image: Tensor<f32, _, 28, 28>, label: Tensor<i64, _, 1>) -> _ {
        judged(softmax_regression(image, param = "large_softmax"), label)
    }

    pub fn large_perceptron(image: Tensor<f32, _, 28, 28>, label: Tensor<i64, _, 1>) -> _ {
        judged(perceptron(image, param = "large_perceptron"), label)
    }

    pub fn large_lenet(image: Tensor<f32, _, 28, 28>, label: Tensor<i64, _, 1>) -> _ {
        judged(lenet(image, param = "large_lenet"), label)
    }

    pub fn large_digit(image: Tensor<f32, _, 28, 28>) -> Tensor<i64, _> {
        argmax(lenet(image, param = "large_lenet"), axis = 1)
    }
}
// ANCHOR_END: model

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
    /// Where pictures of the results are put.
    #[arg(long, default_value = "target/digits")]
    results: PathBuf,
    /// Trains on a cluster: `local:4` is one of four trainers, which are processes on this machine; `all-reduce:4` has four ranks, which are equals.
    #[cfg(feature = "cluster")]
    #[arg(long)]
    cluster: Option<Cluster>,
    /// The number of shards of a batch, which trainers share. The result depends on it, but not on the cluster.
    #[arg(long, default_value_t = 1)]
    shards: usize,
}

/// The shares of held-out digits that each network tells right.
struct Figures {
    softmax: f32,
    perceptron: f32,
    lenet: f32,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(Figures { softmax, perceptron, lenet }) => {
            println!("digits: lenet={lenet:.4} perceptron={perceptron:.4} softmax={softmax:.4}");
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Trains all networks on the digits that the settings choose.
fn run(settings: &Settings) -> Result<Figures, Box<dyn Error>> {
    std::fs::create_dir_all(&settings.results)?;
    match &settings.folder {
        None => {
            let (softmax, perceptron) = (classifier::small_softmax(), classifier::small_perceptron());
            let (lenet, digit) = (classifier::small_lenet(), classifier::small_digit());
            compare(&softmax, &perceptron, &lenet, &digit, &split(digits::images(), 5), 40, settings)
        }
        Some(folder) => {
            let (softmax, perceptron) = (classifier::large_softmax(), classifier::large_perceptron());
            let (lenet, digit) = (classifier::large_lenet(), classifier::large_digit());
            compare(&softmax, &perceptron, &lenet, &digit, &mnist::read(folder)?, 8, settings)
        }
    }
}

/// Images to learn from, and images that are held out.
type Parts<const H: usize, const W: usize> = (Vec<Image<H, W>>, Vec<Image<H, W>>);

/// A row of a network with a cost: pixels and label.
type Labelled<const H: usize, const W: usize> = ([[f32; W]; H], i64);

// ANCHOR: compare
fn compare<const H: usize, const W: usize>(
    softmax: &Network<impl Trainable<Row: From<Labelled<H, W>> + Clone>>,
    perceptron: &Network<impl Trainable<Row: From<Labelled<H, W>> + Clone>>,
    lenet: &Network<impl Trainable<Row: From<Labelled<H, W>> + Clone>>,
    digit: &Network<impl Spec<Row = [[f32; W]; H]>>,
    parts: &Parts<H, W>,
    passes: usize,
    settings: &Settings,
) -> Result<Figures, Box<dyn Error>> {
    let mut parameters =
        Parameters::create_on(device()?, (softmax, perceptron, lenet, digit), settings.seed)?;
    let figures = Figures {
        softmax: train("softmax", softmax, 1e-2, &mut parameters, parts, passes, settings)?,
        perceptron: train("perceptron", perceptron, 1e-3, &mut parameters, parts, passes, settings)?,
        lenet: train("lenet", lenet, 1e-3, &mut parameters, parts, passes, settings)?,
    };
    // ANCHOR_END: compare
    let weights = parameters.names().find(|name| name.contains("softmax") && name.ends_with(".w"));
    let weights = parameters.get::<f32>(weights.expect("the layer has weights"))?;
    draw_weights(settings, &weights.into_shape_with_order((H * W, 10))?, [H, W])?;
    let mut answers = Vec::new();
    infer_each(digit, &parameters, parts.1.iter().map(|image| image.pixels).batch(256), |outputs| {
        answers.extend(outputs.at::<i64>(0)?.iter().copied());
        Ok(())
    })?;
    draw_mistakes(settings, &parts.1, &answers)?;
    Ok(figures)
}

// ANCHOR: training
/// Trains a network, and returns the share of held-out images that it tells right.
fn train<const H: usize, const W: usize, S>(
    name: &str,
    net: &Network<S>,
    rate: f64,
    parameters: &mut Parameters<Device>,
    (training, testing): &Parts<H, W>,
    passes: usize,
    settings: &Settings,
) -> Result<f32, Box<dyn Error>>
where
    S: Trainable<Row: From<Labelled<H, W>> + Clone>,
{
    let rows = |images: &[Image<H, W>]| {
        images.iter().map(|image| S::Row::from((image.pixels, image.label))).collect::<Vec<_>>()
    };
    let (training, testing) = (rows(training), rows(testing));
    let seed = settings.seed;
    let mut trainer = Trainer::new(Adam::new(rate)).seed(seed);
    #[cfg(feature = "cluster")]
    {
        trainer = trainer.on(settings.cluster.as_ref());
    }
    let passes = settings.passes.unwrap_or(passes);
    let reader = training.iter().passes(passes).shuffle(training.len()).seed(seed).batch(64);
    trainer.train(net, parameters, reader, Options::default().shards(settings.shards), |event| {
        if let EventKind::EndPass { pass, cost, metrics } = event.kind()
            && (passes <= 10 || (pass + 1) % 10 == 0)
        {
            println!("{name}, pass {pass}: cost {cost:.4}, accuracy {:.4}", metrics[0]);
        }
        Ok(())
    })?;
    let tested = test(net, parameters, testing.iter().batch(256))?;
    Ok(tested.metric("accuracy").unwrap_or_default())
}
// ANCHOR_END: training

/// Draws what each pixel counts for each digit: red for it, blue against it.
fn draw_weights(
    settings: &Settings,
    weights: &Array2<f32>,
    [height, width]: [usize; 2],
) -> Result<(), Box<dyn Error>> {
    let most = weights.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    let images = Array4::from_shape_fn((10, 3, height, width), |(digit, channel, y, x)| {
        let weight = weights[[y * width + x, digit]] / most.max(f32::MIN_POSITIVE);
        match channel {
            0 => 1.0 - (-weight).max(0.0),
            1 => 1.0 - weight.abs(),
            _ => 1.0 - weight.max(0.0),
        }
    });
    Ok(colour_grid(settings.results.join("softmax.png"), &images, 5)?)
}

/// Draws digits for which the network takes others, and prints which.
fn draw_mistakes<const H: usize, const W: usize>(
    settings: &Settings,
    images: &[Image<H, W>],
    answers: &[i64],
) -> Result<(), Box<dyn Error>> {
    let mistakes: Vec<_> =
        images.iter().zip(answers).filter(|(image, answer)| image.label != **answer).take(20).collect();
    if mistakes.is_empty() {
        return Ok(());
    }
    let pixels = Array3::from_shape_fn((mistakes.len(), H, W), |(k, y, x)| mistakes[k].0.pixels[y][x]);
    grid(settings.results.join("mistakes.png"), &pixels, 10)?;
    let said = mistakes.iter().map(|(image, answer)| format!("{} for {}", answer, image.label));
    println!("lenet says {}", said.collect::<Vec<_>>().join(", "));
    Ok(())
}

#[cfg(test)]
#[path = "tests/digits.rs"]
mod tests;
