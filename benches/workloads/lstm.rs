//! W3: a text classifier by an LSTM that is written in the language, on sequences of 10 to 100 words.

use ndarray::{Array1, Array2};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{POOL, Training, Workload, matrix};

const VOCABULARY: usize = 10_000;
/// The most words of a text.
const LONGEST: usize = 100;

#[network]
mod lstm {
    const VOCABULARY: usize = 10_000;
    const HIDDEN: usize = 128;

    pub fn cost(words: Seq<i64>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let (mut h, mut c) = (zeros(HIDDEN), zeros(HIDDEN));
        for word in words {
            let x = embedding(word, [VOCABULARY, HIDDEN], param = "embedding");
            let gates = fc([x, h], { 4 * HIDDEN }, param = "gates");
            let (i, f, g, o) = split(gates, [HIDDEN, HIDDEN, HIDDEN, HIDDEN]);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
        }
        mean(softmax_with_cross_entropy(fc(h, 2, param = "class"), label))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = lstm::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    let table = symmetric(3000, VOCABULARY * 128).into_iter().map(|x| 0.1 * x).collect();
    parameters.set(lstm::params::embedding::w, &matrix([VOCABULARY, 128], table))?;
    parameters.set(lstm::params::gates::w0, &matrix([128, 512], weights(3, 1, 128, 512)))?;
    parameters.set(lstm::params::gates::w1, &matrix([128, 512], weights(3, 2, 128, 512)))?;
    parameters.set(lstm::params::class::w, &matrix([128, 2], weights(3, 3, 128, 2)))?;
    let batch = |p: usize| {
        let seed = |k| field(3, p as u64, k);
        let lengths: Vec<usize> = integers(seed(0), rows, 91).into_iter().map(|n| 10 + n as usize).collect();
        let words: Array2<i64> =
            matrix([rows, LONGEST], integers(seed(1), rows * LONGEST, VOCABULARY as i64));
        let tokens = words.rows().into_iter().zip(&lengths);
        let tokens: Array1<i64> =
            tokens.flat_map(|(row, &length)| row.to_vec().into_iter().take(length)).collect();
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let mut batch = Batch::new(&net)?.with("label", &Array1::from(integers(seed(2), rows, 2)))?;
        batch.set_sequences("words", &tokens, &offsets)?;
        Ok(batch)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
