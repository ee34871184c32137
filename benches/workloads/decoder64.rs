//! `decoder64`: the transformer of `decoder` on texts of one length, which are tensors and no sequences. So it is compared with
//! systems that pad texts where they have nothing to pad.

use ndarray::{Array3, s};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::initial::set_matrices;
use crate::random::{field, integers};
use crate::workload::{POOL, Training, Workload};

const LENGTH: usize = 64;
const WORDS: i64 = 256;
/// The number of the workload, from which its random numbers come.
const DECODER64: u64 = 13;

#[network]
mod transformer {
    const LENGTH: usize = 64;
    const SIZE: usize = 128;
    const HEADS: usize = 4;
    const WORDS: usize = 256;

    pub fn cost(words: Tensor<i64, _, LENGTH>, next: Tensor<i64, _, LENGTH, 1>) -> Tensor<f32> {
        let places = embedding(arange(LENGTH), [LENGTH, SIZE], param = "place");
        let mut x = embedding(words, [WORDS, SIZE], param = "word") + places;
        for i in [0, 1] {
            let known = layer_norm(x, param = "known{i}");
            x = x + multi_head_attention(known, known, known, HEADS, causal = true, param = "attention{i}");
            let seen = layer_norm(x, param = "seen{i}");
            let wide = fc(seen, { 4 * SIZE }, axis = -1, act = gelu, param = "wide{i}");
            x = x + fc(wide, SIZE, axis = -1, param = "narrow{i}");
        }
        let logits = fc(layer_norm(x, param = "norm"), WORDS, axis = -1, param = "next");
        mean(softmax_with_cross_entropy(logits, next))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = transformer::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_matrices(&mut parameters, DECODER64)?;
    let batch = |p: u64| {
        let texts = texts(p, rows);
        let words = texts.slice(s![.., ..LENGTH, 0]);
        Ok(Batch::new(&net)?.with("words", &words)?.with("next", &texts.slice(s![.., 1.., ..]))?)
    };
    let pool = (0..POOL as u64).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}

/// The texts of a batch, each with the word that follows it.
fn texts(batch: u64, rows: usize) -> Array3<i64> {
    let words = integers(field(DECODER64, batch, 0), rows * (LENGTH + 1), WORDS);
    Array3::from_shape_vec((rows, LENGTH + 1, 1), words).expect("as many numbers as words")
}
