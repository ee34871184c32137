//! `temporal`: the class of each step of signals, by a temporal convolutional network (Bai, Kolter and Koltun, "An Empirical
//! Evaluation of Generic Convolutional and Recurrent Networks for Sequence Modeling", 2018), without its normalised weights and
//! dropout.

use ndarray::Array3;
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Parameters, Trainer};

use crate::images::images;
use crate::initial::set_weights;
use crate::random::{field, integers};
use crate::workload::{POOL, Training, Workload};

/// The steps of a signal.
const LENGTH: usize = 256;
/// The number of the workload, from which its random numbers come.
const TEMPORAL: u64 = 14;

#[network]
mod temporal {
    const LENGTH: usize = 256;

    /// Of each step, three steps, of which it is the last.
    fn causal(x: _, filters: usize, dilation: usize) -> _ {
        let before = pad(x, [0, 0, 2 * dilation, 0]);
        conv1d(before, filters, 3, dilation = dilation, act = relu)
    }

    fn block(x: Tensor<f32, _, C, T>, filters: usize, dilation: usize) -> _ {
        let way = causal(x, filters, dilation, param = ".first");
        let way = causal(way, filters, dilation, param = ".second");
        let around = if C == filters { x } else { conv1d(x, filters, 1, param = ".around") };
        relu(way + around)
    }

    pub fn cost(x: Tensor<f32, _, 16, LENGTH>, y: Tensor<i64, _, LENGTH, 1>) -> Tensor<f32> {
        let mut h = x;
        for (i, dilation) in [1, 2, 4, 8].enumerate() {
            h = block(h, 64, dilation, param = "block{i}");
        }
        let logits = fc(transpose(h, [0, 2, 1]), 10, axis = -1, param = "class");
        mean(softmax_with_cross_entropy(logits, y))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = temporal::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, TEMPORAL)?;
    let batch = |p: usize| {
        let classes = integers(field(TEMPORAL, p as u64, 1), rows * LENGTH, 10);
        let y = Array3::from_shape_vec((rows, LENGTH, 1), classes).expect("as many numbers as steps");
        Ok(Batch::new(&net)?.with("x", &images(TEMPORAL, p, [rows, 16, LENGTH]))?.with("y", &y)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
