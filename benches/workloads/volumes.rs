//! `volumes`: short films, by a small network of convolutions in three dimensions (Tran et al., "Learning Spatiotemporal
//! Features with 3D Convolutional Networks", 2015).

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Error, Momentum, Parameters, Trainer};

use crate::images::labelled;
use crate::initial::set_weights;
use crate::workload::{Training, Workload};

/// The number of the workload, from which its random numbers come.
const VOLUMES: u64 = 18;

#[network]
mod volumes {
    fn convolution(x: _, filters: usize) -> _ {
        conv3d(x, filters, 3, padding = 1, act = relu)
    }

    pub fn cost(x: Tensor<f32, _, 1, 16, 32, 32>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        // The first pool leaves all images of a film.
        let mut h = pool3d(convolution(x, 16, param = "conv0"), [1, 2, 2]);
        h = pool3d(convolution(h, 32, param = "conv1"), 2);
        h = convolution(h, 64, param = "conv2");
        h = pool3d(convolution(h, 64, param = "conv3"), 2);
        let seen = fc(h, 128, act = relu, param = "seen");
        mean(softmax_with_cross_entropy(fc(seen, 10, param = "head"), y))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = volumes::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, VOLUMES)?;
    let pool = labelled(VOLUMES, &net, [rows, 1, 16, 32, 32])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}
