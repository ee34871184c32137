//! `recommender`: whether somebody clicks, from eight tables and from numbers, by the products of all pairs of features (Naumov
//! et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems", 2019).

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer};

use crate::images::images;
use crate::initial::set_weights;
use crate::random::{field, integers};
use crate::workload::{POOL, Training, Workload, matrix};

const ENTRIES: i64 = 10_000;
const TABLES: usize = 8;
/// The number of the workload, from which its random numbers come.
const RECOMMENDER: u64 = 20;

#[network]
mod recommender {
    const ENTRIES: usize = 10_000;
    const TABLES: usize = 8;
    const SIZE: usize = 64;

    fn perceptron(x: _, sizes: [usize; 3]) -> _ {
        let mut h = x;
        for (i, size) in sizes.enumerate() {
            h = fc(h, size, act = relu, param = ".layer{i}");
        }
        h
    }

    pub fn cost(
        ids: Tensor<i64, _, TABLES>,
        numbers: Tensor<f32, _, 13>,
        clicked: Tensor<f32, _, 1>,
    ) -> Tensor<f32> {
        let dense = perceptron(numbers, [512, 256, SIZE], param = "bottom");
        let found = for i in 0..TABLES {
            embedding(ids[(.., i)], [ENTRIES, SIZE], param = "table{i}")
        };
        let features = concat([unsqueeze(dense, 1), stack(found)]);
        let products = matmul(features, features, transpose_y = true);
        let pairs = for i in 1..=TABLES {
            products[(.., i, ..i)]
        };
        let seen = perceptron(concat([dense, concat(pairs)]), [512, 256, 128], param = "top");
        mean(sigmoid_cross_entropy_with_logits(fc(seen, 1, param = "click"), clicked))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = recommender::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, RECOMMENDER)?;
    let batch = |p: usize| {
        let seed = |k| field(RECOMMENDER, p as u64, k);
        let ids = matrix([rows, TABLES], integers(seed(1), rows * TABLES, ENTRIES));
        let clicked = matrix([rows, 1], integers(seed(2), rows, 2)).mapv(|clicked| clicked as f32);
        let batch = Batch::new(&net)?.with("ids", &ids)?;
        Ok(batch.with("numbers", &images(RECOMMENDER, p, [rows, 13]))?.with("clicked", &clicked)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Sgd::new(0.1)), pool)))
}
