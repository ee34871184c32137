//! `grouped`: images, by residual blocks whose filters are in groups (Xie et al., "Aggregated Residual Transformations for Deep
//! Neural Networks", 2017).

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Error, Momentum, Parameters, Trainer};

use crate::images::labelled;
use crate::initial::set_weights;
use crate::workload::{Training, Workload};

/// The number of the workload, from which its random numbers come.
const GROUPED: u64 = 19;

#[network]
mod grouped {
    const GROUPS: usize = 8;

    fn convolution(
        x: _,
        filters: usize,
        size: usize,
        #[default = 1] stride: usize,
        #[default = 1] groups: usize,
        #[default = relu] act: Activation,
    ) -> _ {
        let conv =
            conv2d(x, filters, size, stride = stride, padding = size / 2, groups = groups, bias = false);
        batch_norm(conv, act = act)
    }

    fn block(x: Tensor<f32, _, C, H, W>, filters: usize, #[default = 1] stride: usize) -> _ {
        let way = convolution(x, filters / 2, 1, param = ".narrow");
        let way = convolution(way, filters / 2, 3, stride = stride, groups = GROUPS, param = ".grouped");
        let way = convolution(way, filters, 1, act = identity, param = ".wide");
        let around = if C == filters {
            x
        } else {
            convolution(x, filters, 1, stride = stride, act = identity, param = ".around")
        };
        relu(way + around)
    }

    pub fn cost(x: Tensor<f32, _, 3, 32, 32>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let mut h = convolution(x, 32, 3, param = "stem");
        h = block(h, 64, param = "block0");
        h = block(h, 64, param = "block1");
        h = block(h, 128, stride = 2, param = "block2");
        h = block(h, 128, param = "block3");
        let logits = fc(global_pool2d(h, kind = avg), 10, param = "head");
        mean(softmax_with_cross_entropy(logits, y))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = grouped::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, GROUPED)?;
    let pool = labelled(GROUPED, &net, [rows, 3, 32, 32])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}
