//! The plural of a noun, the past of a verb: a word is read letter by letter, and its form is written, with attention to what
//! was read; new ones by a beam search.
//!
//! ```text
//! cargo run --release --example inflect -- --seed 2 --passes 5
//! ```

use std::error::Error;

use clap::Parser;
use paddle::attribute::network;
use paddle::data::inflections::{self, Inflection};
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Options, Parameters, Trainer, device, infer};

#[path = "parts/speller.rs"]
mod speller;

#[network]
mod inflect {
    use crate::speller::speller::{losses, read, search};

    /// Letters from 1, two kinds of forms, and `END`, which is behind a form.
    const SYMBOLS: usize = 29;
    const END: usize = 0;
    const WIDTH: usize;
    const BEAM: usize = 4;
    const LONGEST: usize = 24;

    /// `before` is the kind, then the form without its end: what stands before each letter of it.
    pub fn cost(word: Seq<i64>, before: Seq<i64>, form: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, 0.2, 0.3);
        mean(losses(before, form, mind, read, SYMBOLS, WIDTH, 0.3, param = "writer"))
    }

    /// The most probable form that is found, and `END` wherever it has no letter.
    pub fn form(word: Seq<i64>, kind: Tensor<i64, _>) -> Tensor<i64, _, LONGEST> {
        let (read, mind) = read(word, SYMBOLS, WIDTH, 0.2, 0.3);
        search(kind, mind, read, SYMBOLS, WIDTH, 0.3, BEAM, LONGEST, END, param = "writer")
    }
}

/// Learns how English words are inflected, and inflects others.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the words, and of what is dropped.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all words are gone through.
    #[arg(long, default_value_t = 15)]
    passes: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let forms = run(&Settings::parse())?;
    let some = inflections::held_out().zip(&forms).step_by(80);
    let some = some.map(|(word, form)| format!("{} → {form}", word.lemma)).collect::<Vec<_>>();
    println!("{}", some.join(", "));
    let [listed, by_rule, all] = inflections::exact_match(&forms);
    println!("of the forms that are listed: {listed:.4}, of those that the rule makes: {by_rule:.4}");
    println!("inflect: exact_match={all:.4} rule_baseline={:.4}", inflections::rule_baseline());
    Ok(())
}

/// Trains on words, and returns the forms that are made of the others.
fn run(settings: &Settings) -> Result<Vec<String>, Box<dyn Error>> {
    let cost = inflect::cost::with(inflect::cost::Sizes { WIDTH: 96 })?;
    let form = inflect::form::with(inflect::form::Sizes { WIDTH: 96 })?;
    let letters = |word: &str| word.bytes().map(|letter| i64::from(letter - b'`')).collect::<Vec<_>>();
    let kind = |word: &Inflection| 27 + word.kind as i64;
    let learned = inflections::training().map(|word| {
        let form = letters(&word.form);
        cost.row(letters(&word.lemma), [&[kind(&word)], &form[..]].concat(), [&form[..], &[0]].concat())
    });
    let learned: Vec<_> = learned.collect();
    let mut parameters = Parameters::create_on(device()?, (&cost, &form), settings.seed)?;
    let rate = cosine(3e-3, (settings.passes * learned.len().div_ceil(32)) as u64);
    let mut trainer = Trainer::new(Adam::new(rate)).seed(settings.seed);
    let reader = learned.iter().passes(settings.passes).shuffle(learned.len()).seed(settings.seed);
    trainer.train(&cost, &mut parameters, reader.batch(32), Options::default().progress(), |_| Ok(()))?;

    let new = inflections::held_out().map(|word| form.row(letters(&word.lemma), kind(&word)));
    let outputs = infer(&form, &parameters, new.collect::<Vec<_>>())?;
    let letter = |&id: &i64| (id > 0).then(|| char::from(b'`' + id as u8));
    let found = outputs.at::<i64>(0)?;
    Ok(found.outer_iter().map(|form| form.iter().filter_map(letter).collect()).collect())
}

#[cfg(test)]
#[path = "tests/inflect.rs"]
mod tests;
