//! Texts of two levels: a recurrent network along the words of each sentence, and one along the sentences.

use ndarray::Array1;
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{POOL, Training, Workload, matrix};

const VOCABULARY: usize = 5_000;
const WIDTH: usize = 64;

#[network]
mod documents {
    const VOCABULARY: usize = 5_000;
    const WIDTH: usize = 64;

    pub fn cost(text: Seq<Seq<i64>>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let words = embedding(text, [VOCABULARY, WIDTH], param = "embedding");
        let (mut h, mut c) = (zeros(WIDTH), zeros(WIDTH));
        for sentence in words {
            let (mut s, mut m) = (zeros(WIDTH), zeros(WIDTH));
            for word in sentence {
                let gates = fc([word, s], { 4 * WIDTH }, param = "words");
                let (i, f, g, o) = split(gates, [WIDTH, WIDTH, WIDTH, WIDTH]);
                m = sigmoid(f) * m + sigmoid(i) * tanh(g);
                s = sigmoid(o) * tanh(m);
            }
            let gates = fc([s, h], { 4 * WIDTH }, param = "sentences");
            let (i, f, g, o) = split(gates, [WIDTH, WIDTH, WIDTH, WIDTH]);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
        }
        mean(softmax_with_cross_entropy(fc(h, 5, param = "class"), label))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = documents::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    let table = symmetric(10_000, VOCABULARY * WIDTH).into_iter().map(|x| 0.1 * x).collect();
    parameters.set(documents::params::embedding::w, &matrix([VOCABULARY, WIDTH], table))?;
    let names = ["words.w0", "words.w1", "sentences.w0", "sentences.w1"];
    for (k, name) in (1..).zip(names) {
        parameters.set(name, &matrix([WIDTH, 4 * WIDTH], weights(10, k, WIDTH, 4 * WIDTH)))?;
    }
    parameters.set(documents::params::class::w, &matrix([WIDTH, 5], weights(10, 5, WIDTH, 5)))?;
    let batch = |p: usize| {
        let seed = |k| field(10, p as u64, k);
        // Texts of 3 to 12 sentences of 3 to 20 words.
        let ends = |lengths: Vec<i64>, shortest| {
            let mut ends = vec![0];
            lengths.iter().for_each(|&length| ends.push(ends[ends.len() - 1] + shortest + length as usize));
            ends
        };
        let texts = ends(integers(seed(0), rows, 10), 3);
        let sentences = ends(integers(seed(1), texts[rows], 18), 3);
        let words = Array1::from(integers(seed(2), sentences[texts[rows]], VOCABULARY as i64));
        let mut batch = Batch::new(&net)?.with("label", &Array1::from(integers(seed(3), rows, 5)))?;
        batch.set_nested_sequences("text", &words, &[&texts, &sentences])?;
        Ok(batch)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
