//! Texts that are read for as long as each needs: adaptive computation time, by a `while` that rows leave one by one.
//!
//! ```text
//! cargo run --release --example adaptive -- --seed 2 --passes 3
//! ```

use std::error::Error;

use clap::Parser;
use paddle::attribute::network;
use paddle::data::glosses::{self, Gloss};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Options, Parameters, Trainer, device, infer, test};

#[network]
mod adaptive {
    const VOCABULARY: usize;
    const CLASSES: usize;
    const WIDTH: usize;
    /// How many words an iteration reads.
    const SPAN: usize = 3;

    /// The logits of classes, how many iterations are expected, and how many a text took, `most` at most.
    ///
    /// Graves (2016), "Adaptive Computation Time for Recurrent Neural Networks": after each iteration a text halts with a
    /// probability, and the last one gets what is left of it. What is read is the mean of the states over these.
    fn read(words: Seq<i64>, most: Tensor<i64, _>) -> (_, _, _) {
        let word = dropout(embedding(words, [VOCABULARY, WIDTH], init = normal(0.0, 0.1)), 0.5);
        let length = sequence_length(word);
        let (mut h, mut c, mut state) = (zeros(WIDTH), zeros(WIDTH), zeros(WIDTH));
        let (mut answer, mut left, mut expected) = (zeros(WIDTH), 1.0, 0.0);
        let (mut at, mut iterations) = (0, 0);
        while left > 0.0 {
            for x in sequence_slice(word, at, minimum(length - at, SPAN)) {
                let next = lstm_unit(x, h, c, WIDTH, param = ".lstm");
                (h, c) = next;
                state = maximum(state, h);
            }
            at = minimum(at + SPAN, length);
            iterations += 1;
            expected += left;
            let halts = sum(fc(state, 1, act = sigmoid, param = "halt"), axis = 1);
            let share = if halts < left - 0.01 && at < length && iterations < most { halts } else { left };
            answer += unsqueeze(share, 1) * state;
            left -= share;
        }
        (fc(dropout(answer, 0.5), CLASSES, param = "class"), expected, iterations)
    }

    pub fn cost(
        words: Seq<i64>,
        most: Tensor<i64, _>,
        class: Tensor<i64, _, 1>,
    ) -> (Tensor<f32>, Tensor<f32>) {
        let (logits, expected, _) = read(words, most);
        let accuracy = accuracy(softmax(logits), class);
        (mean(softmax_with_cross_entropy(logits, class)) + 0.01 * mean(expected), accuracy)
    }

    pub fn iterations(words: Seq<i64>, most: Tensor<i64, _>) -> Tensor<i64, _> {
        let (_, _, iterations) = read(words, most);
        iterations
    }
}

/// Tells what glosses of WordNet are about, reading of each as much as that takes.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the glosses, and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all glosses are gone through.
    #[arg(long, default_value_t = 5)]
    passes: usize,
    /// How many glosses there are to learn from, at most.
    #[arg(long, default_value_t = 20_000)]
    glosses: usize,
    /// How many iterations a gloss may take, at most.
    #[arg(long, default_value_t = 8)]
    most: i64,
}

/// What a trained network does with the glosses that it has not seen.
struct Judged {
    accuracy: f32,
    /// Of each gloss.
    iterations: Vec<i64>,
    /// On how many rows the iterations ran, all together, as the runtime counts them.
    rows: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    let Judged { accuracy, iterations, rows } = run(&settings, settings.most)?;
    let once = run(&settings, 1)?;
    let sum: i64 = iterations.iter().sum();
    println!("the iterations ran on {rows} rows; those of the glosses are {sum}");
    println!("with one iteration for each: test_accuracy={:.4}", once.accuracy);
    let (least, most) = (iterations.iter().min().unwrap_or(&0), iterations.iter().max().unwrap_or(&0));
    let mean = sum as f64 / iterations.len() as f64;
    println!("adaptive: test_accuracy={accuracy:.4} iterations={least}/{mean:.2}/{most}");
    Ok(())
}

/// Trains on glosses, with so many iterations for each at most, and judges the others.
fn run(settings: &Settings, most: i64) -> Result<Judged, Box<dyn Error>> {
    let data = glosses::up_to(settings.glosses);
    let (vocabulary, classes) = (data.vocabulary.len(), data.classes.len());
    let sizes = adaptive::cost::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH: 128 };
    let net = adaptive::cost::with(sizes)?;
    let rows = |glosses: &[Gloss]| -> Vec<_> {
        glosses.iter().map(|gloss| net.row(gloss.words.clone(), most, gloss.class)).collect()
    };
    let (training, held_out) = (rows(&data.training), rows(&data.held_out));
    let mut parameters = Parameters::create_on(device()?, &net, settings.seed)?;
    let mut trainer = Trainer::new(Adam::new(3e-3)).seed(settings.seed);
    let reader = training.iter().passes(settings.passes).shuffle(training.len()).seed(settings.seed);
    trainer.train(&net, &mut parameters, reader.batch(64), Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, metrics } = event.kind() {
            println!("at most {most} iterations, pass {pass}: cost {cost:.4}, accuracy {:.4}", metrics[0]);
        }
        Ok(())
    })?;
    let judged = test(&net, &parameters, held_out.iter().batch(256))?;
    let sizes = adaptive::iterations::Sizes { VOCABULARY: vocabulary, CLASSES: classes, WIDTH: 128 };
    let counting = adaptive::iterations::with(sizes)?;
    let glosses = data.held_out.iter().map(|gloss| counting.row(gloss.words.clone(), most));
    let counted = infer(&counting, &parameters, glosses.collect::<Vec<_>>())?;
    Ok(Judged {
        accuracy: judged.metric("accuracy").unwrap_or_default(),
        iterations: counted.at::<i64>(0)?.iter().copied().collect(),
        rows: counted.stats().products().last().map_or(0, |product| product.rows),
    })
}

#[cfg(test)]
#[path = "tests/adaptive.rs"]
mod tests;
