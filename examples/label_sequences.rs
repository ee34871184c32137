//! Where a word is stressed: each of its sounds gets a label, by what is heard before and behind it, and by the label of its
//! neighbour (a conditional random field); beside the same network without that.
//!
//! ```text
//! cargo run --release --example label_sequences -- --seed 2 --passes 4
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Parser;
use paddle::attribute::network;
use paddle::data::pronunciations::{self, Pronunciation, Stress};
use paddle::metrics::{EditDistance, Measure};
use paddle::reader::{DataSet, Item, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Options, Parameters, Trainer, infer_each};

#[path = "parts/grid_svg.rs"]
mod grid_svg;

// ANCHOR: model
#[network]
mod stress {
    const SOUNDS: usize = 39;
    const LABELS: usize = 7;
    const WIDTH: usize;

    /// What each label counts for each sound. Words have any number of sounds: nothing is padded.
    fn scores(word: _) -> _ {
        let sounds = dropout(embedding(word, [SOUNDS, WIDTH]), 0.1);
        let heard = dropout(bidirectional_lstm(sounds, WIDTH), 0.2);
        fc(dropout(bidirectional_lstm(heard, WIDTH), 0.2), LABELS, axis = -1)
    }

    /// Each label by itself.
    pub fn alone(word: Seq<i64>, labels: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(scores(word, param = "alone"), sequence_align(labels, word)))
    }

    pub fn alone_labels(word: Seq<i64>, right: Seq<i64>) -> (_, _) {
        let found = argmax(scores(word, param = "alone"), axis = 1);
        (found, right)
    }

    /// All labels of a word together, in which neighbours have a say. Lafferty, McCallum and Pereira (2001).
    pub fn field(word: Seq<i64>, labels: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        mean(linear_chain_crf(scores(word, param = "field"), labels, param = "neighbours"))
    }

    pub fn field_labels(word: Seq<i64>, right: Seq<i64>) -> (_, _) {
        let found = crf_decoding(scores(word, param = "field"), param = "neighbours");
        (found, right)
    }
}
// ANCHOR_END: model

/// Learns the stress of English words, and finds that of others.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the words, and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all words are gone through.
    #[arg(long, default_value_t = 6)]
    passes: usize,
    /// How many words are learned from.
    #[arg(long, default_value_t = usize::MAX)]
    words: usize,
    /// How many numbers there are for each sound.
    #[arg(long, default_value_t = 48)]
    width: usize,
    /// Where a picture of what the field learned is put.
    #[arg(long, default_value = "target/label_sequences")]
    results: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let [alone, field] = run(&Settings::parse())?;
    println!("label_sequences: words={field:.4} without_neighbours={alone:.4}");
    Ok(())
}

// ANCHOR: labels
/// The labels of a word. A label also says whether the primary stress has been: so of neighbours a field learns that each word has
/// just one, wherever it is.
fn labels(word: &Pronunciation) -> Vec<i64> {
    let mut has_been = 0;
    let label = |stress: &Option<Stress>| match stress {
        None => has_been,
        Some(Stress::None) => 2 + has_been,
        Some(Stress::Secondary) => 4 + has_been,
        Some(Stress::Primary) => {
            has_been = 1;
            6
        }
    };
    word.stress.iter().map(label).collect()
}
// ANCHOR_END: labels

/// Trains both networks on words, and returns for each the part of the others whose labels are all right.
fn run(settings: &Settings) -> Result<[f64; 2], Box<dyn Error>> {
    let &Settings { seed, passes, words, width, .. } = settings;
    std::fs::create_dir_all(&settings.results)?;
    let alone = stress::alone::with(stress::alone::Sizes { WIDTH: width })?;
    let alone_labels = stress::alone_labels::with(stress::alone_labels::Sizes { WIDTH: width })?;
    let field = stress::field::with(stress::field::Sizes { WIDTH: width })?;
    let field_labels = stress::field_labels::with(stress::field_labels::Sizes { WIDTH: width })?;
    let networks = (&alone, &alone_labels, &field, &field_labels);
    let mut parameters = Parameters::create_with_seed(networks, seed)?;

    // ANCHOR: training
    let labelled = |word: Pronunciation| (word.sounds.clone(), labels(&word));
    let learned: Vec<_> = pronunciations::training().take(words).map(labelled).collect();
    println!("{} words to learn from", learned.len());
    let rate = cosine(4e-3, (passes * learned.len().div_ceil(32)) as u64);
    let trainer = || Trainer::new(Adam::new(rate.clone())).seed(seed);
    let reader = || learned.iter().cloned().passes(passes).shuffle(learned.len()).seed(seed);
    let (of_alone, of_field) = (
        reader().map_data(|(word, labels)| alone.row(word, labels)),
        reader().map_data(|(word, labels)| field.row(word, labels)),
    );
    let options = Options::default().progress();
    trainer().train(&alone, &mut parameters, of_alone.batch(32), options.clone(), |_| Ok(()))?;
    trainer().train(&field, &mut parameters, of_field.batch(32), options, |_| Ok(()))?;

    // ANCHOR_END: training

    // ANCHOR: judged
    let new: Vec<_> = pronunciations::held_out().map(labelled).collect();
    println!("{} words held out", new.len());
    let (mut of_alone, mut of_field) = (EditDistance::default(), EditDistance::default());
    let rows = new.iter().cloned().map(|(word, right)| alone_labels.row(word, right)).map(Item::Data);
    infer_each(&alone_labels, &parameters, rows.batch(256), |outputs| {
        Ok(of_alone.add((outputs.sequences("found")?, outputs.sequences("right")?))?)
    })?;
    let rows = new.iter().cloned().map(|(word, right)| field_labels.row(word, right)).map(Item::Data);
    infer_each(&field_labels, &parameters, rows.batch(256), |outputs| {
        Ok(of_field.add((outputs.sequences("found")?, outputs.sequences("right")?))?)
    })?;
    // ANCHOR_END: judged
    draw_neighbours(&settings.results.join("neighbours.svg"), &parameters)?;
    Ok([of_alone, of_field].map(|distance| 1.0 - distance.wrong()))
}

/// The labels by a letter: consonant, vowel without stress, vowel with a secondary stress before the primary one, the primary one, and the
/// same behind it.
const MARKS: [(usize, &str); 7] = [(0, "c"), (2, "v"), (4, "s"), (6, "P"), (1, "C"), (3, "V"), (5, "S")];

/// Draws how much a label favours each label behind it, as the field has learned it: the normalised exponentials of a row of its table.
fn draw_neighbours(path: &Path, parameters: &Parameters) -> Result<(), Box<dyn Error>> {
    let table = parameters.get::<f32>("neighbours.w")?;
    // The first two rows are of the start and of the stop.
    let row = |label: usize| {
        let exponentials = MARKS.map(|(next, _)| table[[2 + label, next]].exp());
        exponentials.iter().map(|it| it / exponentials.iter().sum::<f32>()).collect()
    };
    let marks = MARKS.map(|(_, mark)| mark);
    let tables = [(marks.concat(), marks.to_vec(), MARKS.map(|(label, _)| row(label)).to_vec())];
    Ok(std::fs::write(path, grid_svg::draw(&tables))?)
}

#[cfg(test)]
#[path = "tests/label_sequences.rs"]
mod tests;
