//! What texts mean, learned from which of them are about related things: the glosses of WordNet.
//!
//! ```text
//! cargo run --release --example ranking -- --seed 2 --passes 5
//! cargo run --release --features kubernetes --example ranking -- --cluster kubernetes:ranking,trainers=4 --dry-run
//! ```

use std::error::Error;

use clap::Parser;
use fastrand::Rng;
use ndarray::Ix2;
use paddle::attribute::network;
#[cfg(feature = "cluster")]
use paddle::cluster::{Cluster, dist_train};
use paddle::data::text::{TfIdf, Vocabulary};
use paddle::data::{is_held_out, wordnet};
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Ended, Options, Parameters, Trainer, device, infer};

#[network]
mod ranking {
    const VOCABULARY: usize;
    const WIDTH: usize;

    /// One branch. Every call shares the parameters that it names.
    fn semantic(words: Seq<i64>) -> Tensor<f32, _, WIDTH> {
        let word = embedding(words, [VOCABULARY, WIDTH], param = "embedding");
        l2_normalize(fc(sequence_pool(word, average), WIDTH, param = "semantic"))
    }

    /// `a` is to be nearer to `q` than `b` is.
    pub fn cost(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let (a, q, b) = (semantic(a), semantic(q), semantic(b));
        let (near, far) = (sum(a * q, axis = 1), sum(b * q, axis = 1));
        mean(rank_loss(1.0, 10.0 * near, 10.0 * far))
    }

    pub fn vector(words: Seq<i64>) -> Tensor<f32, _, WIDTH> {
        semantic(words)
    }
}

/// Learns which glosses are about related things.
#[derive(Parser)]
struct Settings {
    /// Of the parameters at first, of the order of the pairs, and of what they are compared with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all pairs are gone through.
    #[arg(long, default_value_t = 3)]
    passes: usize,
    /// How many pairs there are to learn from, at most.
    #[arg(long, default_value_t = usize::MAX)]
    pairs: usize,
    /// Trains on a cluster: `local:4` is one of four trainers, which are processes on this machine; `all-reduce:4` has four ranks, which are equals.
    #[cfg(feature = "cluster")]
    #[arg(long)]
    cluster: Option<Cluster>,
    /// Prints what a cluster of Kubernetes would be told, and starts nothing.
    #[cfg(feature = "kubernetes")]
    #[arg(long, requires = "cluster")]
    dry_run: bool,
    /// The number of shards of a batch, which trainers share. The result depends on it, but not on the cluster.
    #[arg(long, default_value_t = 1)]
    shards: usize,
}

impl Settings {
    #[cfg(feature = "cluster")]
    fn cluster(&self) -> Option<Cluster> {
        let cluster = self.cluster.clone();
        #[cfg(feature = "kubernetes")]
        if self.dry_run {
            return cluster.map(Cluster::dry_run);
        }
        cluster
    }

    #[cfg(not(feature = "cluster"))]
    fn cluster(&self) -> Option<std::convert::Infallible> {
        None
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some([learned, counted]) = run(&Settings::parse())? {
        println!("ranking: pair_accuracy={learned:.4} tfidf_pair_accuracy={counted:.4}");
    }
    Ok(())
}

/// Trains on pairs of related glosses. Of the others, how many are nearer than a random gloss is: as learned, and by the
/// words that they share. `None` if it was not trained to its end here, but left on a cluster.
fn run(settings: &Settings) -> Result<Option<[f64; 2]>, Box<dyn Error>> {
    let synsets = wordnet::synsets();
    // A fifth is in no pair that is trained on.
    let is_new: Vec<_> = synsets.iter().map(|synset| is_held_out(&synset.gloss, 5)).collect();
    let pairs = (0..synsets.len()).flat_map(|q| synsets[q].related.iter().map(move |&a| (q, a)));
    let (testing, mut training): (Vec<_>, Vec<_>) = pairs.partition(|&(q, a)| is_new[q] || is_new[a]);
    Rng::with_seed(0).shuffle(&mut training);
    training.truncate(settings.pairs);
    println!("{} pairs to learn from, {} to be judged", training.len(), testing.len());

    let old = synsets.iter().zip(&is_new).filter(|(_, is_new)| !**is_new);
    let vocabulary = Vocabulary::of(old.map(|(synset, _)| &synset.gloss));
    let words: Vec<_> = synsets.iter().map(|synset| vocabulary.ids(&synset.gloss)).collect();
    let net = ranking::cost::with(ranking::cost::Sizes { VOCABULARY: vocabulary.len(), WIDTH: 128 })?;
    let vector = ranking::vector::with(ranking::vector::Sizes { VOCABULARY: vocabulary.len(), WIDTH: 128 })?;
    let mut parameters = Parameters::create_on(device()?, &net, settings.seed)?;

    // A random gloss of the same part of speech.
    let fits = |q: usize, b: usize| b != q && synsets[b].part_of_speech == synsets[q].part_of_speech;
    let random = |rng: &mut Rng, q| {
        std::iter::repeat_with(|| rng.usize(..synsets.len())).find(|&b| fits(q, b)).expect("many are like it")
    };
    let mut rng = Rng::with_seed(settings.seed);
    let row = |&(q, a): &(usize, usize)| {
        let b = std::iter::repeat_with(|| random(&mut rng, q)).find(|&b| !is_new[b]).expect("most are old");
        net.row(words[a].clone(), words[q].clone(), words[b].clone())
    };
    let reader = training.iter().passes(settings.passes).shuffle(training.len()).seed(settings.seed);
    let options = Options::default().shards(settings.shards).progress();
    let (mut trainer, reader) = (Trainer::new(Adam::new(2e-3)), reader.map_data(row).batch(128));
    let ended = match settings.cluster() {
        #[cfg(feature = "cluster")]
        Some(cluster) => dist_train(&net, &mut parameters, trainer, reader, cluster.options(options))?,
        _ => trainer.train(&net, &mut parameters, reader, options, |_| Ok(()))?,
    };
    if ended != Ended::Finished {
        return Ok(None);
    }

    let vectors = infer(&vector, &parameters, &words)?.at::<f32>(0)?.into_dimensionality::<Ix2>()?.to_owned();
    for word in ["dog", "violin", "anger", "swim", "cheap"] {
        let at = synsets.iter().position(|synset| synset.word == word).expect("it is a common word");
        let nearness = vectors.dot(&vectors.row(at));
        let mut order: Vec<_> = (0..synsets.len()).collect();
        order.sort_by(|&i, &j| nearness[j].total_cmp(&nearness[i]));
        let names: Vec<_> = order[1..6].iter().map(|&i| &synsets[i].word[..]).collect();
        println!("nearest to {word}: {}", names.join(", "));
    }

    let mut rng = Rng::with_seed(0);
    let triples: Vec<_> = testing.iter().map(|&(q, a)| (q, a, random(&mut rng, q))).collect();
    let accuracy = |nearness: &dyn Fn(usize, usize) -> f64| {
        // 2 where `a` is nearer to `q` than `b` is, 1 in ties.
        let halves = |&(q, a, b): &_| f64::from(nearness(q, a).total_cmp(&nearness(q, b)) as i8 + 1);
        triples.iter().map(halves).sum::<f64>() / (2 * triples.len()) as f64
    };
    let weights: Vec<_> = synsets.iter().map(|synset| TfIdf::new(&vocabulary, &synset.gloss)).collect();
    let learned = accuracy(&|q, a| vectors.row(q).dot(&vectors.row(a)).into());
    Ok(Some([learned, accuracy(&|q, a| weights[q].cosine(&weights[a]))]))
}

#[cfg(test)]
#[path = "tests/ranking.rs"]
mod tests;
