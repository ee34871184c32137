//! How English words are pronounced: a word is read letter by letter, and its sounds are written, with attention to what was read;
//! beside a table of what letters sound like between others.
//!
//! ```text
//! cargo run --release --example translate -- --seed 2 --passes 8
//! ```

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Parser;
use ndarray::ArrayViewD;
use paddle::attribute::network;
use paddle::data::pronunciations::{self, Pronunciation, SOUNDS};
use paddle::metrics::{EditDistance, Measure};
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Load, Options, Parameters, Trainer, infer};

#[path = "parts/grid_svg.rs"]
mod grid_svg;
#[path = "parts/letter_table.rs"]
mod letter_table;
#[path = "parts/speller.rs"]
mod speller;

use letter_table::LetterTable;

// ANCHOR: model
#[network]
mod translate {
    use crate::speller::speller::{looks, losses, read, search};

    /// `END`, which is behind a word's sounds and before the first; 26 letters; 39 sounds.
    const SYMBOLS: usize = 66;
    const END: usize = 0;
    const WIDTH: usize;
    const BEAM: usize = 4;
    const LONGEST: usize = 28;
    const DROP: f32 = 0.1;

    /// `before` is `END`, then the sounds: what stands before each of `sounds`, which end with `END`.
    pub fn cost(word: Seq<i64>, before: Seq<i64>, sounds: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, DROP, DROP, param = "read");
        mean(losses(before, sounds, mind, read, SYMBOLS, WIDTH, DROP, param = "writer"))
    }

    /// The sound that is most probable, one by one.
    pub fn greedy(word: Seq<i64>, start: Tensor<i64, _>) -> Tensor<i64, _, LONGEST> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, DROP, DROP, param = "read");
        search(start, mind, read, SYMBOLS, WIDTH, DROP, 1, LONGEST, END, param = "writer")
    }

    /// The most probable sounds, together, that a search with beams finds.
    pub fn beams(word: Seq<i64>, start: Tensor<i64, _>) -> Tensor<i64, _, LONGEST> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, DROP, DROP, param = "read");
        search(start, mind, read, SYMBOLS, WIDTH, DROP, BEAM, LONGEST, END, param = "writer")
    }

    /// How much each sound looks at each letter.
    pub fn attention_weights(word: Seq<i64>, before: Seq<i64>) -> Seq<Tensor<f32, LONGEST>> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, DROP, DROP, param = "read");
        looks(before, mind, read, SYMBOLS, WIDTH, DROP, LONGEST, param = "writer")
    }
}
// ANCHOR_END: model

/// Learns how English words are pronounced, and pronounces others.
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
    /// How many numbers there are for each letter and sound.
    #[arg(long, default_value_t = 96)]
    width: usize,
    /// A file that keeps the parameters: if it exists, nothing is learned again.
    #[arg(long)]
    parameters: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    let held_out: Vec<_> = pronunciations::whole_held_out().collect();
    let learned: Vec<_> = pronunciations::whole_training().take(settings.words).collect();
    let found = run(&settings, &learned, &held_out)?;
    for (word, sounds) in held_out.iter().zip(&found.beams).step_by(1_500) {
        println!("{} → {}", word.spelling, names(sounds).join(" "));
    }
    let table = LetterTable::fit(&learned);
    let by_table: Vec<_> = held_out.iter().map(|word| table.sounds(&word.spelling)).collect();
    let [greedy, beams, table] =
        [&found.greedy, &found.beams, &by_table].map(|found| rates(&held_out, found));
    fs::create_dir_all("target/translate")?;
    fs::write("target/translate/attention.svg", grid_svg::draw(&found.looks))?;
    println!(
        "translate: beam_words={:.4} beam_sounds={:.4} greedy_words={:.4} greedy_sounds={:.4} table_words={:.4} table_sounds={:.4}",
        beams[0], beams[1], greedy[0], greedy[1], table[0], table[1]
    );
    Ok(())
}

// ANCHOR: rates
/// The part of the words that are wrong, and how many edits there are for each sound. A word is right if the dictionary has these
/// sounds for it, first or further down; edits are those from the nearest.
fn rates(words: &[Pronunciation], found: &[Vec<i64>]) -> [f64; 2] {
    let (mut wrong, mut edits, mut sounds) = (0, 0, 0);
    for (word, found) in words.iter().zip(found) {
        let listed = || std::iter::once(&word.sounds).chain(&word.others);
        let nearest = listed().min_by_key(|right| distance(found, right)).expect("the first is there");
        let distance = distance(found, nearest);
        wrong += u64::from(distance > 0);
        edits += distance;
        sounds += nearest.len();
    }
    [wrong as f64 / words.len() as f64, edits as f64 / sounds as f64]
}
// ANCHOR_END: rates

/// The least number of sounds that are inserted, removed or replaced.
fn distance(found: &[i64], right: &[i64]) -> u64 {
    let mut distance = EditDistance::default();
    distance.add(([found].into_iter().collect(), [right].into_iter().collect())).expect("one of each");
    distance.edits()
}

fn letters(word: &str) -> Vec<i64> {
    word.bytes().map(|letter| i64::from(letter - b'`')).collect()
}

/// What is found for words that are held out.
struct Found {
    /// Sounds that are found one by one.
    greedy: Vec<Vec<i64>>,
    /// Sounds that are found by beams.
    beams: Vec<Vec<i64>>,
    /// Of some words the letters, the sounds, and how much each sound looks at each letter.
    looks: Vec<grid_svg::Table>,
}

/// The words of the picture.
const SHOWN: [&str; 4] = ["brought", "knapsack", "phagocyte", "discotheque"];

/// Trains on words, and pronounces others.
fn run(
    settings: &Settings,
    learned: &[Pronunciation],
    held_out: &[Pronunciation],
) -> Result<Found, Box<dyn Error>> {
    let &Settings { seed, passes, width, .. } = settings;
    let cost = translate::cost::with(translate::cost::Sizes { WIDTH: width })?;
    let greedy = translate::greedy::with(translate::greedy::Sizes { WIDTH: width })?;
    let beams = translate::beams::with(translate::beams::Sizes { WIDTH: width })?;
    let looks = translate::attention_weights::with(translate::attention_weights::Sizes { WIDTH: width })?;
    let mut parameters = Parameters::create_with_seed((&cost, &greedy, &beams, &looks), seed)?;
    let kept = settings.parameters.as_ref();
    if let Some(file) = kept.filter(|file| file.exists()) {
        parameters.load(file, Load::Strict)?;
    } else {
        // ANCHOR: training
        let row = |word: &Pronunciation| {
            let sounds = symbols(&word.sounds);
            cost.row(letters(&word.spelling), [&[0], &sounds[..]].concat(), [&sounds[..], &[0]].concat())
        };
        let learned: Vec<_> = learned.iter().map(row).collect();
        let rate = cosine(4e-3, (passes * learned.len().div_ceil(64)) as u64);
        let mut trainer = Trainer::new(Adam::new(rate)).seed(seed);
        let reader = learned.iter().passes(passes).shuffle(learned.len()).seed(seed).batch(64);
        trainer.train(&cost, &mut parameters, reader, Options::default().progress(), |_| Ok(()))?;
        // ANCHOR_END: training
        kept.map_or(Ok(()), |file| parameters.save(file))?;
    }

    let rows: Vec<_> = held_out.iter().map(|word| greedy.row(letters(&word.spelling), 0)).collect();
    let greedy = sounds(infer(&greedy, &parameters, rows)?.at::<i64>(0)?);
    let rows: Vec<_> = held_out.iter().map(|word| beams.row(letters(&word.spelling), 0)).collect();
    let beams = sounds(infer(&beams, &parameters, rows)?.at::<i64>(0)?);
    let shown = held_out.iter().zip(&beams).filter(|(word, _)| SHOWN.contains(&&word.spelling[..]));
    let table = |(word, found): (&Pronunciation, &Vec<i64>)| {
        let row = looks.row(letters(&word.spelling), [&[0], &symbols(found)[..]].concat());
        let looked = infer(&looks, &parameters, [row])?;
        let looked = looked.at::<f32>(0)?.outer_iter().map(|row| row.iter().copied().collect()).collect();
        Ok::<_, Box<dyn Error>>((word.spelling.clone(), names(found), looked))
    };
    let looks = shown.map(table).collect::<Result<_, _>>()?;
    Ok(Found { greedy, beams, looks })
}

/// The symbols of sounds.
fn symbols(sounds: &[i64]) -> Vec<i64> {
    sounds.iter().map(|sound| FIRST_SOUND + sound).collect()
}

/// The names of sounds.
fn names(sounds: &[i64]) -> Vec<&'static str> {
    sounds.iter().map(|&sound| SOUNDS.get(sound as usize).copied().unwrap_or("?")).collect()
}

/// The symbol of the first sound; letters have the numbers before it.
const FIRST_SOUND: i64 = 27;

/// The numbers of the sounds in each row. A letter is no sound: it gets -1, which is never right.
fn sounds(words: ArrayViewD<'_, i64>) -> Vec<Vec<i64>> {
    let number = |&symbol: &i64| (symbol > 0).then(|| (symbol - FIRST_SOUND).max(-1));
    words.outer_iter().map(|word| word.iter().filter_map(number).collect()).collect()
}

#[cfg(test)]
#[path = "tests/translate.rs"]
mod tests;
