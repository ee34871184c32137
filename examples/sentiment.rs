//! What a gloss is about, told by an LSTM that is written in the language: word by word, each text at its own length.
//!
//! ```text
//! cargo run --release --example sentiment -- --seed 2 --passes 3
//! ```

use std::error::Error;

use clap::Parser;
use paddle::attribute::network;
use paddle::data::glosses::{self, Gloss};
use paddle::data::text::BagOfWords;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Options, Parameters, Trainer, device, test};

#[network]
mod sentiment {
    const VOCABULARY: usize;
    const CLASSES: usize;
    const WIDTH: usize;

    /// A long short-term memory: Hochreiter and Schmidhuber (1997), Gers, Schmidhuber and Cummins (2000).
    fn lstm(words: Seq<i64>) -> Seq<Tensor<f32, WIDTH>> {
        let x = dropout(embedding(words, [VOCABULARY, WIDTH], init = normal(0.0, 0.1)), 0.5);
        let (mut h, mut c) = (zeros(WIDTH), zeros(WIDTH));
        for x in x {
            let (i, f, o, g) = split(fc([x, h], { 4 * WIDTH }, param = "gates"), 4);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
            h
        }
    }

    pub fn cost(words: Seq<i64>, class: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let text = dropout(sequence_pool(lstm(words), max), 0.5);
        let logits = fc(text, CLASSES);
        let accuracy = accuracy(softmax(logits), class);
        (mean(softmax_with_cross_entropy(logits, class)), accuracy)
    }
}

/// Tells what glosses of WordNet are about: animals, feelings, motion, 44 things in all.
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
}

fn main() -> Result<(), Box<dyn Error>> {
    let [learned, counted] = run(&Settings::parse())?;
    println!("sentiment: test_accuracy={learned:.4} bag_of_words_accuracy={counted:.4}");
    Ok(())
}

/// Trains on glosses. Of the others, how many are told apart: by the network, and by a regression on the counts of their words.
fn run(settings: &Settings) -> Result<[f64; 2], Box<dyn Error>> {
    let data = glosses::up_to(settings.glosses);
    println!("{} glosses to learn from, {} to be judged", data.training.len(), data.held_out.len());
    let sizes =
        sentiment::cost::Sizes { VOCABULARY: data.vocabulary.len(), CLASSES: data.classes.len(), WIDTH: 128 };
    let net = sentiment::cost::with(sizes)?;
    let rows = |glosses: &[Gloss]| -> Vec<_> {
        glosses.iter().map(|gloss| net.row(gloss.words.clone(), gloss.class)).collect()
    };
    let (training, held_out) = (rows(&data.training), rows(&data.held_out));
    let mut parameters = Parameters::create_on(device()?, &net, settings.seed)?;
    let mut trainer = Trainer::new(Adam::new(3e-3)).seed(settings.seed);
    let reader = training.iter().passes(settings.passes).shuffle(training.len()).seed(settings.seed);
    trainer.train(&net, &mut parameters, reader.batch(64), Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, metrics } = event.kind() {
            println!("pass {pass}: cost {cost:.4}, accuracy {:.4}", metrics[0]);
        }
        Ok(())
    })?;
    let judged = test(&net, &parameters, held_out.iter().batch(256))?;

    let texts = |glosses: &[Gloss]| -> Vec<_> {
        glosses.iter().map(|gloss| (gloss.words.clone(), gloss.class)).collect()
    };
    let (counted, l2) = BagOfWords::fit_best(&texts(&data.training), &[0.1, 0.3, 1.0, 3.0, 10.0])?;
    println!("a regression on the counts of words, with the L2 of {l2} that suits them best");
    Ok([judged.metric("accuracy").unwrap_or_default().into(), counted.accuracy(&texts(&data.held_out))])
}

#[cfg(test)]
#[path = "tests/sentiment.rs"]
mod tests;
