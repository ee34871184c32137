//! W2: LeNet, for images of handwritten digits.

use paddle::core::plan::Backend;
use paddle::{Adam, Error, Parameters, Trainer, network};

use crate::images::{filters, labelled};
use crate::random::weights;
use crate::workload::{Training, Workload, matrix};

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = network!(|x: Tensor<f32, _, 1, 28, 28>, y: Tensor<i64, _, 1>| {
        let first = pool2d(conv2d(x, 20, 5, act = relu, param = "first"), 2);
        let second = pool2d(conv2d(first, 50, 5, act = relu, param = "second"), 2);
        let hidden = fc(second, 500, act = relu, param = "hidden");
        mean(softmax_with_cross_entropy(fc(hidden, 10, param = "logits"), y))
    });
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    parameters.set("first.w", &filters(2, 0, &[20, 1, 5, 5]))?;
    parameters.set("second.w", &filters(2, 1, &[50, 20, 5, 5]))?;
    parameters.set("hidden.w", &matrix([800, 500], weights(2, 2, 800, 500)))?;
    parameters.set("logits.w", &matrix([500, 10], weights(2, 3, 500, 10)))?;
    let pool = labelled(2, &net, [rows, 1, 28, 28])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
