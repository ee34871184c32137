//! `translation`: a text from another one, by two networks of gated recurrent units (Cho et al., "Learning Phrase
//! Representations using RNN Encoder-Decoder for Statistical Machine Translation", 2014), on sequences of 5 to 30 words.

use ndarray::Array1;
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::initial::set_weights;
use crate::random::{field, integers};
use crate::workload::{POOL, Training, Workload, matrix};

const WORDS: i64 = 1000;
/// The fewest and the most words of a text.
const LENGTHS: [usize; 2] = [5, 30];
/// The number of the workload, from which its random numbers come.
const TRANSLATION: u64 = 21;

#[network]
mod translation {
    const WORDS: usize = 1000;
    const SIZE: usize = 128;

    /// What cuDNN and PyTorch call a gated recurrent unit.
    fn unit(x: _, h: _) -> _ {
        gru_unit(x, h, SIZE, origin_mode = true, reset_after = true)
    }

    /// `said` is each word before that of `next`.
    pub fn cost(text: Seq<i64>, said: Seq<i64>, next: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let mut h = zeros(SIZE);
        for word in embedding(text, [WORDS, SIZE], param = "text") {
            h = unit(word, h, param = "reader");
        }
        let losses = for (word, next) in (embedding(said, [WORDS, SIZE], param = "said"), next) {
            h = unit(word, h, param = "writer");
            softmax_with_cross_entropy(fc(h, WORDS, param = "next"), next)
        };
        mean(losses)
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = translation::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, TRANSLATION)?;
    let batch = |p: u64| {
        let mut batch = Batch::new(&net)?;
        let (ends, words) = texts(p, 0, rows);
        batch.set_sequences("text", &words.slice(ndarray::s![..ends[rows]]), &ends)?;
        let (ends, words) = texts(p, 2, rows);
        batch.set_sequences("said", &words.slice(ndarray::s![..ends[rows]]), &ends)?;
        let next = words.slice(ndarray::s![1..=ends[rows]]).to_vec();
        batch.set_sequences("next", &matrix([next.len(), 1], next), &ends)?;
        Ok(batch)
    };
    let pool = (0..POOL as u64).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}

/// Where the texts of a batch begin, and where the last one ends; and their words, one behind the other, with at least one
/// more. They are made of the batch's fields `first` and `first + 1`.
fn texts(batch: u64, first: u64, rows: usize) -> (Vec<usize>, Array1<i64>) {
    let [least, most] = LENGTHS;
    let lengths = integers(field(TRANSLATION, batch, first), rows, (most - least + 1) as i64);
    let mut ends = vec![0];
    lengths.iter().for_each(|&length| ends.push(ends[ends.len() - 1] + least + length as usize));
    (ends, Array1::from(integers(field(TRANSLATION, batch, first + 1), rows * most + 1, WORDS)))
}
