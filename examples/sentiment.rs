//! What a gloss is about, told by three networks that read texts of any length: a convolution over words, LSTMs in both
//! directions, and attention; beside a regression on the counts of the same words.
//!
//! ```text
//! cargo run --release --example sentiment -- --seed 2 --passes 3
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use paddle::attribute::network;
use paddle::data::glosses::{self, Gloss, Glosses};
use paddle::data::text::BagOfWords;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::cosine;
use paddle::{
    Adam, Device, Network, Options, Parameters, Spec, Trainable, Trainer, device, infer, infer_each,
};

#[path = "parts/text_svg.rs"]
mod text_svg;

use sentiment::{
    attention_class, attention_cost, convolution_class, convolution_cost, lstm_class, lstm_cost,
};

// ANCHOR: model
#[network]
mod sentiment {
    const VOCABULARY: usize;
    const CLASSES: usize;
    /// Of a word's vector, and of what is read of it. It is a multiple of `HEADS`.
    const WIDTH: usize;
    const HEADS: usize = 4;
    /// Words behind these have the place of the last one.
    const PLACES: usize = 32;

    fn words(text: Seq<i64>) -> Seq<Tensor<f32, WIDTH>> {
        dropout(embedding(text, [VOCABULARY, WIDTH], init = normal(0.0, 0.1)), 0.5)
    }

    /// Words that know where they stand.
    fn placed(text: Seq<i64>) -> Seq<Tensor<f32, WIDTH>> {
        let place = minimum(sequence_positions(text), PLACES - 1);
        words(text) + embedding(place, [PLACES, WIDTH], init = normal(0.0, 0.1))
    }

    fn judged(read: _) -> Tensor<f32, _, CLASSES> {
        fc(dropout(read, 0.5), CLASSES)
    }

    /// Windows of one to four words, and of each filter the window that suits it best: Kim (2014).
    fn convolution(text: Seq<i64>) -> Tensor<f32, _, CLASSES> {
        let x = placed(text);
        let seen = for size in [1, 2, 3, 4] {
            sequence_pool(sequence_conv(x, WIDTH, size, act = relu, param = ".window{size}"), max)
        };
        judged(concat(seen, axis = 1))
    }

    /// Two layers that read in both directions: Schuster and Paliwal (1997), Graves and Schmidhuber (2005).
    fn lstm(text: Seq<i64>) -> Tensor<f32, _, CLASSES> {
        let x = words(text);
        let below = dropout(bidirectional_lstm(x, WIDTH / 2), 0.5);
        let above = bidirectional_lstm(below, WIDTH / 2);
        let averages = [sequence_pool(above, average), sequence_pool(x, average)];
        judged(concat([sequence_pool(above, max), concat(averages, axis = 1)], axis = 1))
    }

    /// A layer in which each word looks at all words: Vaswani et al. (2017), normalised as Xiong et al. (2020) do it. Then heads
    /// decide how much each word counts: Lin et al. (2017). It gives the logits, and what each head says.
    fn attention(text: Seq<i64>) -> (Tensor<f32, _, CLASSES>, Seq<Tensor<f32, HEADS>>) {
        let x = placed(text);
        let asked = layer_norm(x);
        let seen = x + dropout(sequence_attention(asked, asked, asked, HEADS), 0.3);
        let wide = fc(layer_norm(seen), 2 * WIDTH, act = relu);
        let narrow = fc(wide, WIDTH);
        let read = layer_norm(seen + dropout(narrow, 0.3));
        let looks = sequence_softmax(fc(read, HEADS));
        let looked = for head in 0..HEADS {
            let value = fc(read, WIDTH / 2, param = ".value{head}");
            sequence_pool(looks[(.., head..head + 1)] * value, sum)
        };
        (judged(concat(looked, axis = 1)), looks)
    }

    fn cost(logits: Tensor<f32, _, CLASSES>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits, class))
    }

    pub fn convolution_cost(text: Seq<i64>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        cost(convolution(text), class)
    }

    pub fn convolution_class(text: Seq<i64>) -> Tensor<i64, _> {
        argmax(convolution(text), axis = 1)
    }

    pub fn lstm_cost(text: Seq<i64>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        cost(lstm(text), class)
    }

    pub fn lstm_class(text: Seq<i64>) -> Tensor<i64, _> {
        argmax(lstm(text), axis = 1)
    }

    pub fn attention_cost(text: Seq<i64>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        let (logits, _) = attention(text);
        cost(logits, class)
    }

    /// The class, and how much each word counts.
    pub fn attention_class(text: Seq<i64>) -> (Tensor<i64, _>, Seq<Tensor<f32>>) {
        let (logits, looks) = attention(text);
        (argmax(logits, axis = 1), mean(looks, axis = 1))
    }
}
// ANCHOR_END: model

/// Tells what glosses of WordNet are about: animals, feelings, motion, 44 things in all.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the glosses, and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all glosses are gone through.
    #[arg(long, default_value_t = 6)]
    passes: usize,
    /// How many glosses there are to learn from, at most.
    #[arg(long, default_value_t = 20_000)]
    glosses: usize,
    /// Where the picture is put.
    #[arg(long, default_value = "target/sentiment")]
    results: PathBuf,
}

/// The shares of held-out glosses that are told right.
struct Figures {
    convolution: f64,
    lstm: f64,
    attention: f64,
    bag_of_words: f64,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(Figures { convolution, lstm, attention, bag_of_words }) => println!(
            "sentiment: convolution={convolution:.4} lstm={lstm:.4} attention={attention:.4} bag_of_words={bag_of_words:.4}"
        ),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The width of the networks.
const WIDTH: usize = 128;

/// Trains the networks on glosses, and fits the regression to the same words.
fn run(settings: &Settings) -> Result<Figures, Box<dyn Error>> {
    let data = glosses::up_to(settings.glosses);
    let (vocabulary, classes) = (data.vocabulary.len(), data.classes.len());
    println!("{} glosses to learn from, {} held out", data.training.len(), data.held_out.len());
    fs::create_dir_all(&settings.results)?;
    let bag_of_words = counted(&data)?;
    let nets = (
        &convolution_cost::with(convolution_cost::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH })?,
        &convolution_class::with(convolution_class::Sizes {
            VOCABULARY: vocabulary,
            CLASSES: classes,
            WIDTH,
        })?,
    );
    let (convolution, _) = train("convolution", nets, &data, 4e-3, settings)?;
    let nets = (
        &lstm_cost::with(lstm_cost::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH })?,
        &lstm_class::with(lstm_class::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH })?,
    );
    let (lstm, _) = train("lstm", nets, &data, 1e-2, settings)?;
    let nets = (
        &attention_cost::with(attention_cost::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH })?,
        &attention_class::with(attention_class::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH })?,
    );
    let (attention, parameters) = train("attention", nets, &data, 4e-3, settings)?;
    draw(&settings.results.join("looks.svg"), &data, nets.1, &parameters)?;
    Ok(Figures { convolution, lstm, attention, bag_of_words })
}

// ANCHOR: counted
/// The accuracy of a regression on the counts of words, with the L2 that suits a tenth of the training glosses.
fn counted(data: &Glosses) -> Result<f64, Box<dyn Error>> {
    let texts = |glosses: &[Gloss]| -> Vec<_> {
        glosses.iter().map(|gloss| (gloss.words.clone(), gloss.class)).collect()
    };
    let (fitted, l2) = BagOfWords::fit_best(&texts(&data.training), &[0.1, 0.3, 1.0, 3.0, 10.0])?;
    let right = fitted.accuracy(&texts(&data.held_out));
    println!("a regression on the counts of words: {right:.4}, with the L2 of {l2} that suits them best");
    Ok(right)
}
// ANCHOR_END: counted

// ANCHOR: training
/// Trains a network. Returns the share of held-out glosses that it tells right, and its parameters.
fn train<Cost, Class>(
    name: &str,
    (cost, class): (&Network<Cost>, &Network<Class>),
    data: &Glosses,
    rate: f64,
    settings: &Settings,
) -> Result<(f64, Parameters<Device>), Box<dyn Error>>
where
    Cost: Trainable<Row: From<(Vec<i64>, i64)> + Clone>,
    Class: Spec<Row = Vec<i64>>,
{
    let rows: Vec<_> =
        data.training.iter().map(|gloss| Cost::Row::from((gloss.words.clone(), gloss.class))).collect();
    let (passes, seed) = (settings.passes, settings.seed);
    let mut parameters = Parameters::create_on(device()?, (cost, class), seed)?;
    let rate = cosine(rate, (passes * rows.len().div_ceil(64)) as u64);
    let mut trainer = Trainer::new(Adam::new(rate)).seed(seed);
    let reader = rows.iter().passes(passes).shuffle(rows.len()).seed(seed).batch(64);
    trainer.train(cost, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind() {
            println!("{name}, pass {pass}: cost {cost:.4}");
        }
        Ok(())
    })?;
    let mut classes = Vec::new();
    let texts = data.held_out.iter().map(|gloss| gloss.words.clone());
    infer_each(class, &parameters, texts.batch(256), |outputs| {
        classes.extend(outputs.at::<i64>(0)?.iter().copied());
        Ok(())
    })?;
    let right = classes.iter().zip(&data.held_out).filter(|(class, gloss)| **class == gloss.class);
    let right = right.count() as f64 / data.held_out.len() as f64;
    println!("{name}: {right:.4}");
    Ok((right, parameters))
}
// ANCHOR_END: training

/// Draws some held-out glosses, each word as dark as it counts for the class that is told.
fn draw<Class: Spec<Row = Vec<i64>>>(
    path: &Path,
    data: &Glosses,
    class: &Network<Class>,
    parameters: &Parameters<Device>,
) -> Result<(), Box<dyn Error>> {
    let some: Vec<_> = data
        .held_out
        .iter()
        .filter(|gloss| (5..13).contains(&gloss.words.len()))
        .step_by(300)
        .take(16)
        .collect();
    let outputs = infer(class, parameters, some.iter().map(|gloss| gloss.words.clone()).collect::<Vec<_>>())?;
    let told = outputs.at::<i64>(0)?;
    let mut looks = outputs.at::<f32>(1)?.iter().copied().collect::<Vec<_>>().into_iter();
    let name = |class: i64| data.classes[class as usize].clone();
    let lines = some.iter().zip(told).map(|(gloss, &told)| {
        let words = gloss.words.iter().filter_map(|&word| data.vocabulary.word(word));
        text_svg::Line {
            told: name(told),
            right: name(gloss.class),
            words: words.map(str::to_string).zip(looks.by_ref()).collect(),
        }
    });
    fs::write(path, text_svg::draw(&lines.collect::<Vec<_>>()))?;
    Ok(())
}

#[cfg(test)]
#[path = "tests/sentiment.rs"]
mod tests;
