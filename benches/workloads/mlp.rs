//! W1 and W8a: a multilayer perceptron with two hidden layers, in training and for one row at a time.

use ndarray::{Array1, Array2};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{Inference, POOL, Training, Workload, matrix};

const LAYERS: [(&str, usize, usize); 3] = [("hidden", 784, 256), ("deep", 256, 128), ("logits", 128, 10)];

#[network]
mod mlp {
    fn logits(x: Tensor<f32, _, 784>) -> Tensor<f32, _, 10> {
        let hidden = fc(x, 256, act = relu, param = "hidden");
        let deep = fc(hidden, 128, act = relu, param = "deep");
        fc(deep, 10, param = "logits")
    }

    pub fn cost(x: Tensor<f32, _, 784>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits(x), y))
    }

    pub fn probabilities(x: Tensor<f32, _, 784>) -> Tensor<f32, _, 10> {
        softmax(logits(x))
    }
}

/// Sets the weights to those of the workload.
fn initialise<B: Backend>(parameters: &mut Parameters<B>) -> Result<(), Error> {
    for (k, (name, fan_in, fan_out)) in LAYERS.into_iter().enumerate() {
        let w = matrix([fan_in, fan_out], weights(1, k as u64, fan_in, fan_out));
        parameters.set(&format!("{name}.w"), &w)?;
    }
    Ok(())
}

/// The images of a batch.
fn images(p: usize, rows: usize) -> Array2<f32> {
    matrix([rows, 784], symmetric(field(1, p as u64, 0), rows * 784))
}

/// Training: W1.
pub(crate) fn training<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = mlp::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    initialise(&mut parameters)?;
    let batch = |p: usize| {
        let y = Array1::from(integers(field(1, p as u64, 1), rows, 10));
        Ok(Batch::new(&net)?.with("x", &images(p, rows))?.with("y", &y)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Sgd::new(0.1)), pool)))
}

/// Inference: W8a.
pub(crate) fn inference<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = mlp::probabilities();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    initialise(&mut parameters)?;
    let batch = |p: usize| Ok(Batch::new(&net)?.with("x", &images(p, rows))?);
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Inference::new(net, parameters, pool)))
}
