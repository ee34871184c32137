//! What a small picture shows: a VGG and a ResNet, whose layers are written once and repeated by the compiler, beside a linear
//! model of the pixels; each trained on the pictures as they are, and on pictures that are flipped, turned and moved.
//!
//! ```text
//! cargo run --release --example image_classification                # emoji and clip art, embedded
//! cargo run --release --example image_classification -- cifar       # from a folder with CIFAR-10's binary files
//! cargo run --release --example image_classification -- --seed 2 --passes 10
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use ndarray::{Array2, Array4, s};
use paddle::attribute::network;
use paddle::data::{LogisticRegression, Picture, augment, cifar, pictures};
use paddle::event::EventKind;
use paddle::plot::colour_grid;
use paddle::reader::{DataSet, Random, Reader};
use paddle::updater::schedule::cosine;
use paddle::{AdamW, Network, Options, Parameters, Spec, Trainable, Trainer, device, infer_each};

// ANCHOR: model
#[network]
mod classifier {
    /// A convolution, normalised.
    fn layer(x: _, width: usize, #[default = 3] size: usize, #[default = 1] stride: usize) -> _ {
        let filtered =
            conv2d(x, width, size, stride = stride, padding = same, bias = false, param = ".filters");
        batch_norm(filtered, param = ".norm")
    }

    /// Simonyan and Zisserman (2015): two layers, then the image is halved, three times.
    fn vgg(image: Tensor<f32, _, 3, H, W>) -> Tensor<f32, _, 10> {
        let mut x = image;
        for (stage, width) in [16, 32, 64].enumerate() {
            for depth in 0..2 {
                x = relu(layer(x, width, param = ".stage{stage}.layer{depth}"));
            }
            x = pool2d(x, 2, kind = max);
        }
        let hidden = relu(batch_norm(fc(dropout(x, 0.3), 128)));
        fc(dropout(hidden, 0.3), 10)
    }

    /// He, Zhang, Ren and Sun (2016): two layers, which learn what to add to what they see.
    fn block(x: _, width: usize, stride: usize) -> _ {
        let first = relu(layer(x, width, stride = stride, param = ".first"));
        let second = layer(first, width, param = ".second");
        // Where the block changes the shape, so does the way around it.
        let around =
            if stride == 1 { x } else { layer(x, width, size = 1, stride = stride, param = ".around") };
        relu(second + around)
    }

    /// Three stages of two blocks. The first block of each stage halves the image.
    fn resnet(image: Tensor<f32, _, 3, H, W>) -> Tensor<f32, _, 10> {
        let mut x = relu(layer(image, 24, param = ".eyes"));
        for (stage, width) in [24, 48, 96].enumerate() {
            x = block(x, width, 2, param = ".stage{stage}.block0");
            x = block(x, width, 1, param = ".stage{stage}.block1");
        }
        fc(dropout(global_pool2d(x, kind = avg), 0.2), 10)
    }

    fn cost(logits: Tensor<f32, _, 10>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits, label))
    }

    pub fn vgg_cost(image: Tensor<f32, _, 3, 32, 32>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        cost(vgg(image), label)
    }

    pub fn vgg_class(image: Tensor<f32, _, 3, 32, 32>) -> Tensor<i64, _> {
        argmax(vgg(image), axis = 1)
    }

    pub fn resnet_cost(image: Tensor<f32, _, 3, 32, 32>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        cost(resnet(image), label)
    }

    pub fn resnet_class(image: Tensor<f32, _, 3, 32, 32>) -> Tensor<i64, _> {
        argmax(resnet(image), axis = 1)
    }
}
// ANCHOR_END: model

/// Learns what small pictures show.
#[derive(Parser)]
struct Settings {
    /// A folder with CIFAR-10's binary files; the embedded pictures are taken without one.
    folder: Option<PathBuf>,
    /// Of the parameters at first, of the order of the pictures, of how they are changed and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all pictures are gone through.
    #[arg(long, default_value_t = 40)]
    passes: usize,
    /// How many pictures there are to learn from, at most.
    #[arg(long, default_value_t = usize::MAX)]
    pictures: usize,
    /// Where pictures of the results are put.
    #[arg(long, default_value = "target/image_classification")]
    results: PathBuf,
}

/// The pixels of a picture, as a row of the networks has them.
type Pixels = [[[f32; 32]; 32]; 3];

/// Pictures of ten classes: to learn from, to choose settings by, held out.
struct Data {
    classes: [&'static str; 10],
    learned: Vec<Picture>,
    chosen_by: Vec<Picture>,
    held_out: Vec<Picture>,
}

/// The shares of held-out pictures that are told right: by the linear model, and by the networks without and with augmentation.
struct Figures {
    linear: f64,
    vgg: [f64; 2],
    resnet: [f64; 2],
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(Figures { linear, vgg: [vgg_plain, vgg], resnet: [resnet_plain, resnet] }) => println!(
            "image_classification: vgg={vgg:.4} resnet={resnet:.4} without_augmentation: vgg={vgg_plain:.4} \
             resnet={resnet_plain:.4} linear_baseline={linear:.4}"
        ),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

// ANCHOR: data
fn data(folder: Option<&Path>) -> Result<Data, Box<dyn Error>> {
    Ok(match folder {
        None => {
            let (learned, chosen_by, held_out) = pictures::parts();
            Data { classes: pictures::CLASSES, learned, chosen_by, held_out }
        }
        Some(folder) => {
            let (mut learned, held_out) = cifar::read(folder)?;
            let chosen_by = learned.split_off(learned.len() - learned.len() / 10);
            Data { classes: cifar::CLASSES, learned, chosen_by, held_out }
        }
    })
}
// ANCHOR_END: data

fn run(settings: &Settings) -> Result<Figures, Box<dyn Error>> {
    let mut data = data(settings.folder.as_deref())?;
    data.learned.truncate(settings.pictures);
    data.chosen_by.truncate(settings.pictures);
    std::fs::create_dir_all(&settings.results)?;
    let counts = (data.learned.len(), data.chosen_by.len(), data.held_out.len());
    println!("{} pictures to learn from, {} to choose by, {} held out", counts.0, counts.1, counts.2);
    let linear = linear(&data)?;
    println!("a linear model of the pixels: {linear:.4}");
    let (vgg, resnet) = (
        (&classifier::vgg_cost(), &classifier::vgg_class()),
        (&classifier::resnet_cost(), &classifier::resnet_class()),
    );
    Ok(Figures {
        linear,
        vgg: [train("vgg_plain", vgg, &data, same, settings)?, train("vgg", vgg, &data, changed, settings)?],
        resnet: [
            train("resnet_plain", resnet, &data, same, settings)?,
            train("resnet", resnet, &data, changed, settings)?,
        ],
    })
}

// ANCHOR: linear
/// The accuracy of a logistic regression on pixels, with the L2 that suits the pictures to choose by.
fn linear(data: &Data) -> Result<f64, Box<dyn Error>> {
    let rows = |pictures: &[Picture]| -> (Array2<f64>, Vec<i64>) {
        let pixel = |(row, k): (usize, usize)| pictures[row].pixels.as_flattened().as_flattened()[k].into();
        let labels = pictures.iter().map(|picture| picture.label).collect();
        (Array2::from_shape_fn((pictures.len(), 3 * 32 * 32), pixel), labels)
    };
    let [learned, chosen_by, held_out] =
        [&data.learned, &data.chosen_by, &data.held_out].map(|part| rows(part));
    let (fitted, l2) = LogisticRegression::fit_best(
        (learned.0.view(), &learned.1),
        (chosen_by.0.view(), &chosen_by.1),
        &[30.0, 100.0, 300.0, 1000.0],
    )?;
    println!("the L2 that suits the pictures to choose by best is {l2}");
    Ok(fitted.accuracy(held_out.0.view(), &held_out.1))
}
// ANCHOR_END: linear

// ANCHOR: augment
fn same((picture, _): (&Picture, Random)) -> (Pixels, i64) {
    (picture.pixels, picture.label)
}

/// A picture as it might have been, too. Outside of it all is white.
fn changed((picture, mut random): (&Picture, Random)) -> (Pixels, i64) {
    let mut pixels = picture.pixels;
    if random.chance(0.5) {
        augment::flip(&mut pixels);
    }
    augment::rotate(&mut pixels, 6.0 * random.normal(), 1.0);
    augment::shift(&mut pixels, random.between(-2, 2), random.between(-2, 2), 1.0);
    (pixels, picture.label)
}
// ANCHOR_END: augment

// ANCHOR: training
/// Trains a network, draws its curve and some of its answers, and returns the share of held-out pictures that it tells right.
fn train<Cost, Class>(
    name: &str,
    (cost, class): (&Network<Cost>, &Network<Class>),
    data: &Data,
    change: fn((&Picture, Random)) -> (Pixels, i64),
    settings: &Settings,
) -> Result<f64, Box<dyn Error>>
where
    Cost: Trainable<Row: From<(Pixels, i64)>>,
    Class: Spec<Row = Pixels>,
{
    let pictures: Vec<_> = data.learned.iter().chain(&data.chosen_by).collect();
    let (passes, seed) = (settings.passes, settings.seed);
    let mut parameters = Parameters::create_on(device()?, (cost, class), seed)?;
    let rate = cosine(3e-3, (passes * pictures.len().div_ceil(64)) as u64);
    let mut trainer = Trainer::new(AdamW::new(rate)).seed(seed);
    let reader = pictures.iter().copied().passes(passes).shuffle(pictures.len()).seed(seed);
    let reader = reader.with_random(seed).map_data(|sample| Cost::Row::from(change(sample))).batch(64);
    let options = Options::default().curve(settings.results.join(format!("{name}.svg")));
    trainer.train(cost, &mut parameters, reader, options, |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind()
            && (pass + 1) % 10 == 0
        {
            println!("{name}, pass {pass}: cost {cost:.4}");
        }
        Ok(())
    })?;
    // ANCHOR_END: training
    let mut answers = Vec::new();
    infer_each(
        class,
        &parameters,
        data.held_out.iter().map(|picture| picture.pixels).batch(256),
        |outputs| {
            answers.extend(outputs.at::<i64>(0)?.iter().copied());
            Ok(())
        },
    )?;
    draw(&settings.results.join(format!("{name}.png")), data, &answers)?;
    tell(data, &answers);
    let right = answers.iter().zip(&data.held_out).filter(|(answer, picture)| **answer == picture.label);
    let right = right.count() as f64 / answers.len().max(1) as f64;
    println!("{name}: {right:.4}");
    Ok(right)
}

// ANCHOR: draw
/// Draws some held-out pictures, in a green frame where the answer is right, and a red one where it is wrong.
fn draw(path: &Path, data: &Data, answers: &[i64]) -> Result<(), Box<dyn Error>> {
    let some: Vec<_> =
        data.held_out.iter().zip(answers).step_by((answers.len() / 72).max(1)).take(72).collect();
    let mut framed = Array4::zeros((some.len(), 3, 38, 38));
    for (k, (picture, answer)) in some.into_iter().enumerate() {
        let frame = if picture.label == *answer { [0.1, 0.7, 0.2] } else { [0.9, 0.1, 0.1] };
        for (channel, (colour, pixels)) in frame.into_iter().zip(&picture.pixels).enumerate() {
            framed.slice_mut(s![k, channel, .., ..]).fill(colour);
            for ((y, x), to) in framed.slice_mut(s![k, channel, 3..35, 3..35]).indexed_iter_mut() {
                *to = pixels[y][x];
            }
        }
    }
    colour_grid(path, &framed, 12)?;
    Ok(())
}
// ANCHOR_END: draw

/// Prints the mistakes that are made most often.
fn tell(data: &Data, answers: &[i64]) {
    let mut mistakes = vec![(0, 0, 0); 100];
    for (picture, &answer) in
        data.held_out.iter().zip(answers).filter(|(picture, answer)| picture.label != **answer)
    {
        let at = &mut mistakes[10 * picture.label as usize + answer as usize];
        *at = (at.0 + 1, picture.label as usize, answer as usize);
    }
    mistakes.sort_by_key(|mistake| std::cmp::Reverse(mistake.0));
    let most = mistakes.iter().take(3).map(|&(count, label, answer)| {
        format!("{count} of {} for {}", data.classes[label], data.classes[answer])
    });
    println!("  mistaken most often: {}", most.collect::<Vec<_>>().join(", "));
}

#[cfg(test)]
#[path = "tests/image_classification.rs"]
mod tests;
