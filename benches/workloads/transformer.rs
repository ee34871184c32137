//! `encoder` and `decoder`: transformers on texts of 5 to 60 words, without padding. One tells classes of texts apart, the
//! other one foretells each word from those before it.

use ndarray::{Array1, Array2};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::initial::set_matrices;
use crate::random::{field, integers};
use crate::workload::{POOL, Training, Workload, matrix};

/// The least and the most words of a text.
const LENGTHS: [usize; 2] = [5, 60];
const WORDS: i64 = 1000;
const CLASSES: i64 = 4;
/// The numbers of the workloads, from which their random numbers come.
const ENCODER: u64 = 10;
const DECODER: u64 = 11;

#[network]
mod transformer {
    const LENGTH: usize = 60;
    const SIZE: usize = 128;
    const HEADS: usize = 4;
    const WORDS: usize = 1000;

    fn layers(words: Seq<i64>, causal: bool) -> Seq<Tensor<f32, SIZE>> {
        let word = embedding(words, [WORDS, SIZE], param = "word");
        let mut x = word + embedding(sequence_positions(words), [LENGTH, SIZE], param = "place");
        for i in [0, 1] {
            let known = layer_norm(x, param = "known{i}");
            x = x + sequence_attention(known, known, known, HEADS, causal = causal, param = "attention{i}");
            let wide = fc(layer_norm(x, param = "seen{i}"), { 4 * SIZE }, act = gelu, param = "wide{i}");
            x = x + fc(wide, SIZE, param = "narrow{i}");
        }
        layer_norm(x, param = "norm")
    }

    pub fn encoder(words: Seq<i64>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let text = sequence_pool(layers(words, false), average);
        mean(softmax_with_cross_entropy(fc(text, 4, param = "class"), label))
    }

    pub fn decoder(words: Seq<i64>, next: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let logits = fc(layers(words, true), WORDS, param = "next");
        mean(softmax_with_cross_entropy(logits, sequence_align(next, words)))
    }
}

pub(crate) fn encoder<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = transformer::encoder();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_matrices(&mut parameters, ENCODER)?;
    let batch = |p: u64| {
        let (offsets, words) = (offsets(ENCODER, p, rows), texts(ENCODER, p, rows));
        let label = Array1::from(integers(field(ENCODER, p, 2), rows, CLASSES));
        let mut batch = Batch::new(&net)?.with("label", &label)?;
        batch.set_sequences("words", &words.column(0), &offsets)?;
        Ok(batch)
    };
    let pool = (0..POOL as u64).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}

pub(crate) fn decoder<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = transformer::decoder();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_matrices(&mut parameters, DECODER)?;
    let batch = |p: u64| {
        let (offsets, texts) = (offsets(DECODER, p, rows), texts(DECODER, p, rows));
        let mut batch = Batch::new(&net)?;
        batch.set_sequences("words", &texts.column(0), &offsets)?;
        batch.set_sequences("next", &texts.slice(ndarray::s![.., 1..]), &offsets)?;
        Ok(batch)
    };
    let pool = (0..POOL as u64).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}

/// The places where the texts of a batch begin, and the end of the last.
fn offsets(workload: u64, batch: u64, rows: usize) -> Vec<usize> {
    let [least, most] = LENGTHS;
    let lengths = integers(field(workload, batch, 0), rows, (most - least + 1) as i64);
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets[offsets.len() - 1] + least + length as usize);
    }
    offsets
}

/// The words of all texts of a batch, each beside the one that follows it.
fn texts(workload: u64, batch: u64, rows: usize) -> Array2<i64> {
    let count = rows * LENGTHS[1];
    let words = integers(field(workload, batch, 1), count + 1, WORDS);
    let pairs =
        words.windows(2).take(*offsets(workload, batch, rows).last().expect("an end")).flatten().copied();
    let pairs: Vec<i64> = pairs.collect();
    matrix([pairs.len() / 2, 2], pairs)
}
