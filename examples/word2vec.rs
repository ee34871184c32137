//! Vectors of words, learned from what WordNet's glosses say about them: words that WordNet relates are near each other, more often than by
//! the counts of neighbours.
//!
//! ```text
//! cargo run --release --example word2vec -- --seed 2 --passes 4
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Parser;
use ndarray::{Array2, Axis};
use paddle::attribute::network;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Network, Options, Parameters, Spec, Trainer, infer, infer_each};

use corpus::{Corpus, Entry};
use judge::{Score, judge, nearest, normalized};

#[path = "word2vec/corpus.rs"]
mod corpus;
#[path = "word2vec/counts.rs"]
mod counts;
#[path = "word2vec/judge.rs"]
mod judge;
#[path = "parts/text_svg.rs"]
mod text_svg;

// ANCHOR: model
#[network]
mod glosses {
    const WORDS: usize;
    const WIDTH: usize;
    /// How many words are drawn for each gloss.
    const DRAWN: usize = 20;
    /// What each of them counts beside a word that is there: all twenty as much as five.
    const OTHERS: f32 = 0.25;
    /// What a word counts by how far behind another it stands.
    const NEAR: [f32; 6] = [0.0, 1.0, 0.8, 0.6, 0.4, 0.2];

    /// The one table of all words. Whoever reads, and whoever answers, looks here.
    fn vector(word: _) -> _ {
        embedding(word, [WORDS, WIDTH], param = "words", init = normal(0.0, 0.003))
    }

    /// How likely a word is without any text, of the task that asks.
    fn bias(word: _) -> _ {
        embedding(word, [WORDS, 1], init = constant(0.0))
    }

    /// How long vectors are, of the task that asks.
    fn scale() -> _ {
        exp(parameter(1, init = constant(1.5)))
    }

    /// The cost of words that are there, and of words that are not: negative sampling, Mikolov et al. (2013).
    fn there(logit: _) -> _ {
        -logsigmoid(logit)
    }

    fn absent(logits: _) -> _ {
        -sum(logsigmoid(-logits), axis = 1, keep_dim = true)
    }

    /// How much each word of a gloss says, by what stands around it; together they are 1.
    fn weights(gloss: Seq<i64>) -> _ {
        let around = sequence_conv(vector(gloss), 48, 5, act = relu, param = "around");
        sequence_softmax(fc(around, 1, axis = -1, param = "says"))
    }

    fn meaning(gloss: Seq<i64>) -> _ {
        sequence_pool(dropout(vector(gloss), 0.2) * weights(gloss), sum)
    }

    /// From the gloss to its word.
    fn name(gloss: Seq<i64>, word: Tensor<i64, _>, drawn: Tensor<i64, _, DRAWN>) -> _ {
        let (meaning, scale) = (meaning(gloss), scale(param = ".scale"));
        let right =
            sum(meaning * vector(word), axis = 1, keep_dim = true) * scale + bias(word, param = ".bias");
        let wrong = einsum("bd,bkd->bk", meaning, vector(drawn)) * scale
            + reshape(bias(drawn, param = ".bias"), [DRAWN]);
        there(right) + absent(wrong)
    }

    /// From the word to all words of its gloss.
    fn explain(
        word: Tensor<i64, _>,
        gloss: Seq<i64>,
        matters: Seq<Tensor<f32, 1>>,
        drawn: Tensor<i64, _, DRAWN>,
    ) -> _ {
        let (own, scale) = (vector(word), scale(param = ".scale"));
        let fits = sum(vector(gloss) * sequence_expand(own, gloss), axis = 1, keep_dim = true) * scale;
        let right = there(fits + bias(gloss, param = ".bias")) * matters;
        let wrong =
            einsum("bd,bkd->bk", own, vector(drawn)) * scale + reshape(bias(drawn, param = ".bias"), [DRAWN]);
        sequence_pool(right, sum) + absent(wrong) * sequence_pool(matters, sum) * OTHERS
    }

    /// From each word of a gloss to the five behind it: the next one counts most.
    fn follow(gloss: Seq<i64>, matters: Seq<Tensor<f32, 1>>, drawn: Tensor<i64, _, DRAWN>) -> _ {
        let (own, scale) = (vector(gloss), scale(param = ".scale"));
        let behind = reshape(sequence_window(own, 6, start = 0), [6, WIDTH]);
        let weights = sequence_window(matters, 6, start = 0) * NEAR * matters;
        let biases = sequence_window(bias(gloss, param = ".bias"), 6, start = 0);
        let right = there(einsum("td,tkd->tk", own, behind) * scale + biases) * weights;
        let others = sequence_expand(vector(drawn), gloss);
        let biases = sequence_expand(reshape(bias(drawn, param = ".bias"), [DRAWN]), gloss);
        let wrong = absent(einsum("td,tkd->tk", own, others) * scale + biases);
        let all = sum(weights, axis = 1, keep_dim = true) * OTHERS;
        sequence_pool(sum(right, axis = 1, keep_dim = true) + wrong * all, sum)
    }

    pub fn cost(
        word: Tensor<i64, _>,
        gloss: Seq<i64>,
        matters: Seq<f32>,
        drawn: Tensor<i64, _, DRAWN>,
    ) -> Tensor<f32> {
        let matters = sequence_align(reshape(matters, [1]), gloss);
        let name = name(gloss, word, drawn, param = "name");
        let explain = explain(word, gloss, matters, drawn, param = "explain");
        let follow = follow(gloss, matters, drawn, param = "follow");
        mean(name + explain + follow)
    }

    /// The meaning of a gloss, and how long what each of its words adds to it is.
    pub fn read(gloss: Seq<i64>) -> (Tensor<f32, _, WIDTH>, Seq<Tensor<f32, 1>>) {
        let length = sqrt(sum(square(vector(gloss)), axis = 1, keep_dim = true));
        (meaning(gloss), weights(gloss) * length)
    }
}
// ANCHOR_END: model

/// Learns vectors of words from WordNet's glosses.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the glosses, and of the words that are drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all glosses are gone through.
    #[arg(long, default_value_t = 12)]
    passes: usize,
    /// How many glosses there are to learn from, at most.
    #[arg(long, default_value_t = usize::MAX)]
    glosses: usize,
    /// How many numbers a vector has.
    #[arg(long, default_value_t = 200)]
    width: usize,
    /// Where the picture is put.
    #[arg(long, default_value = "target/word2vec")]
    results: PathBuf,
}

/// How well vectors agree with WordNet's relations of words that were held out.
struct Figures {
    network: Score,
    /// Singular vectors of counts.
    counts: Score,
    /// Together with the mean of those of the words of the glosses.
    counts_and_glosses: Score,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Figures { network, counts, counts_and_glosses } = run(&Settings::parse())?;
    println!(
        "word2vec: nearest={:.4} relatedness={:.4} counts: nearest={:.4} relatedness={:.4} with_glosses: nearest={:.4} relatedness={:.4}",
        network.nearest,
        network.relatedness,
        counts.nearest,
        counts.relatedness,
        counts_and_glosses.nearest,
        counts_and_glosses.relatedness
    );
    Ok(())
}

fn run(settings: &Settings) -> Result<Figures, Box<dyn Error>> {
    std::fs::create_dir_all(&settings.results)?;
    let corpus = Corpus::of(settings.glosses);
    let [chosen_by, held_out] = corpus.parts();
    let (entries, words) = (corpus.entries.len(), corpus.words.len());
    println!("{entries} glosses, {words} words, {} of them with relations that are held out", held_out.len());

    let counted = counts::best(&corpus, settings.width, &chosen_by)?;
    let counts = judge(&counted, &corpus, &held_out);
    let counts_and_glosses = judge(&counts::with_glosses(&counted, &corpus), &corpus, &held_out);

    let vectors = learn(&corpus, settings)?;
    for word in ["dog", "poet", "violin", "run", "happy", "ancient"] {
        println!("{word}: {}", nearest(&vectors, &corpus, word, 8).join(", "));
    }
    let Score { nearest: near, relatedness } = judge(&vectors, &corpus, &chosen_by);
    println!("by the words to choose by: nearest {near:.4}, relatedness {relatedness:.4}");
    Ok(Figures { network: judge(&vectors, &corpus, &held_out), counts, counts_and_glosses })
}

// ANCHOR: training
/// Trains the network. The vector of a word is its own, and what is read in its glosses.
fn learn(corpus: &Corpus, settings: &Settings) -> Result<Array2<f32>, Box<dyn Error>> {
    let &Settings { seed, passes, width, .. } = settings;
    let words = corpus.words.len();
    let net = glosses::cost::with(glosses::cost::Sizes { WORDS: words, WIDTH: width })?;
    let read = glosses::read::with(glosses::read::Sizes { WORDS: words, WIDTH: width })?;
    let mut parameters = Parameters::create_with_seed((&net, &read), seed)?;

    let rate = cosine(5e-3, (passes * corpus.entries.len().div_ceil(64)) as u64);
    let mut trainer = Trainer::new(Adam::new(rate)).seed(seed);
    let reader = corpus.entries.iter().passes(passes).shuffle(corpus.entries.len()).seed(seed);
    let reader = reader.with_random(seed).map_data(|(entry, mut random)| {
        let matters: Vec<f32> = entry.gloss.iter().map(|&word| corpus.matters[word as usize]).collect();
        net.row(entry.word(), entry.gloss.clone(), matters, [0; 20].map(|_| corpus.drawn(&mut random)))
    });
    trainer.train(&net, &mut parameters, reader.batch(64), Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, .. } = event.kind() {
            println!("pass {pass}: cost {cost:.4}");
        }
        Ok(())
    })?;
    draw(&settings.results.join("says.svg"), &read, &parameters, corpus)?;

    let own = parameters.get::<f32>("words.w")?.into_dimensionality()?;
    Ok(normalized(own) + normalized(meanings(&read, &parameters, corpus, width)?))
}
// ANCHOR_END: training

/// For each word, the sum of what its glosses mean.
fn meanings(
    read: &Network<impl Spec<Row = Vec<i64>>>,
    parameters: &Parameters,
    corpus: &Corpus,
    width: usize,
) -> Result<Array2<f32>, Box<dyn Error>> {
    let mut sums = Array2::zeros((corpus.words.len(), width));
    let mut words = corpus.entries.iter().map(Entry::word);
    let texts = corpus.entries.iter().map(|entry| entry.gloss.clone());
    infer_each(read, parameters, texts.batch(256), |outputs| {
        for (meaning, word) in outputs.at::<f32>(0)?.outer_iter().zip(words.by_ref()) {
            let mut sum = sums.index_axis_mut(Axis(0), word as usize);
            sum += &meaning;
        }
        Ok(())
    })?;
    Ok(sums)
}

/// Draws some glosses, each word as dark as it adds to the meaning.
fn draw(
    path: &Path,
    read: &Network<impl Spec<Row = Vec<i64>>>,
    parameters: &Parameters,
    corpus: &Corpus,
) -> Result<(), Box<dyn Error>> {
    let some = corpus.entries.iter().filter(|entry| (5..13).contains(&entry.gloss.len()));
    let some: Vec<_> = some.step_by((corpus.entries.len() / 30).max(1)).take(16).collect();
    let outputs = infer(read, parameters, some.iter().map(|entry| entry.gloss.clone()).collect::<Vec<_>>())?;
    let mut says = outputs.at::<f32>(1)?.iter().copied().collect::<Vec<_>>().into_iter();
    let word = |word: &i64| corpus.words[*word as usize].clone();
    let lines = some.iter().map(|entry| text_svg::Line {
        told: entry.name.iter().map(word).collect::<Vec<_>>().join(" "),
        right: entry.name.iter().map(word).collect::<Vec<_>>().join(" "),
        words: entry.gloss.iter().map(word).zip(says.by_ref()).collect(),
    });
    Ok(std::fs::write(path, text_svg::draw(&lines.collect::<Vec<_>>()))?)
}

#[cfg(test)]
#[path = "tests/word2vec.rs"]
mod tests;
