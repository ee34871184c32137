//! W5: three branches that share an embedding and a layer.

use ndarray::{Array1, Array2};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{POOL, Training, Workload};

const VOCABULARY: usize = 10_000;

#[network]
mod ranking {
    const VOCABULARY: usize = 10_000;

    fn semantic(word: Tensor<i64, _, 1>) -> Tensor<f32, _, 64> {
        fc(embedding(word, [VOCABULARY, 64], param = "embedding"), 64, act = tanh, param = "semantic")
    }

    /// Which of `a` and `b` is nearer to `q`.
    pub fn cost(
        q: Tensor<i64, _, 1>,
        a: Tensor<i64, _, 1>,
        b: Tensor<i64, _, 1>,
        label: Tensor<i64, _, 1>,
    ) -> Tensor<f32> {
        let (q, a, b) = (semantic(q), semantic(a), semantic(b));
        let similar = |x, y| sum(x * y, axis = 1, keep_dim = true);
        mean(softmax_with_cross_entropy(concat([similar(q, a), similar(q, b)], axis = 1), label))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = ranking::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    let table = symmetric(5000, VOCABULARY * 64).into_iter().map(|x| 0.1 * x).collect();
    let table = Array2::from_shape_vec((VOCABULARY, 64), table).expect("as many numbers as weights");
    parameters.set(ranking::params::embedding::w, &table)?;
    let w = Array2::from_shape_vec((64, 64), weights(5, 1, 64, 64)).expect("as many numbers as weights");
    parameters.set(ranking::params::semantic::w, &w)?;
    let batch = |p: usize| {
        let ids = |k: u64, end| Array1::from(integers(field(5, p as u64, k), rows, end));
        let [q, a, b] = [0, 1, 2].map(|k| ids(k, VOCABULARY as i64));
        Ok(Batch::new(&net)?.with("q", &q)?.with("a", &a)?.with("b", &b)?.with("label", &ids(3, 2))?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Sgd::new(0.5)), pool)))
}
