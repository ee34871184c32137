//! W1: a multilayer perceptron with two hidden layers.

use ndarray::{Array1, Array2};
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer, network};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{POOL, Training, Workload};

const BATCH: usize = 64;
const LAYERS: [(&str, usize, usize); 3] = [("hidden", 784, 256), ("deep", 256, 128), ("logits", 128, 10)];

pub(crate) fn workload<B: Backend + Clone + 'static>(backend: B) -> Result<Box<dyn Workload>, Error> {
    let net = network!(|x: Tensor<f32, _, 784>, y: Tensor<i64, _, 1>| {
        let hidden = fc(x, 256, act = relu);
        let deep = fc(hidden, 128, act = relu);
        let logits = fc(deep, 10);
        mean(softmax_with_cross_entropy(logits, y))
    });
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    for (k, (name, fan_in, fan_out)) in LAYERS.into_iter().enumerate() {
        let w = Array2::from_shape_vec((fan_in, fan_out), weights(1, k as u64, fan_in, fan_out));
        parameters.set(&format!("{name}.w"), &w.expect("as many numbers as weights"))?;
    }
    let batch = |p: usize| {
        let x = symmetric(field(1, p as u64, 0), BATCH * 784);
        let x = Array2::from_shape_vec((BATCH, 784), x).expect("as many numbers as pixels");
        let y = Array1::from(integers(field(1, p as u64, 1), BATCH, 10));
        Ok(Batch::new(&net)?.with("x", &x)?.with("y", &y)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Sgd::new(0.1)), pool)))
}
