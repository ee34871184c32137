//! A network of depthwise-separable convolutions (Howard et al., "MobileNets", 2017), in training and for one image at a
//! time.

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Momentum, Parameters, Trainer};

use crate::images::{images, labelled};
use crate::initial::set_weights;
use crate::workload::{Inference, POOL, Training, Workload};

/// The number of the workload, from which its random numbers come.
const SEPARABLE: u64 = 10;

#[network]
mod separable {
    fn block(x: Tensor<f32, _, C, H, W>, filters: usize, #[default = 1] stride: usize) -> _ {
        let deep = conv2d(x, C, 3, stride = stride, padding = 1, groups = C, bias = false, param = ".deep");
        let deep = batch_norm(deep, act = relu, param = ".deep_norm");
        let wide = conv2d(deep, filters, 1, bias = false, param = ".wide");
        batch_norm(wide, act = relu, param = ".wide_norm")
    }

    fn logits(x: Tensor<f32, _, 3, 64, 64>) -> Tensor<f32, _, 10> {
        let stem = conv2d(x, 16, 3, stride = 2, padding = 1, bias = false, param = "stem");
        let mut h = batch_norm(stem, act = relu, param = "stem_norm");
        h = block(h, 32, param = "block0");
        h = block(h, 64, stride = 2, param = "block1");
        h = block(h, 64, param = "block2");
        h = block(h, 128, stride = 2, param = "block3");
        h = block(h, 128, param = "block4");
        h = block(h, 128, param = "block5");
        fc(global_pool2d(h, kind = avg), 10, param = "head")
    }

    pub fn cost(x: Tensor<f32, _, 3, 64, 64>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits(x), y))
    }

    pub fn probabilities(x: Tensor<f32, _, 3, 64, 64>) -> _ {
        softmax(logits(x))
    }
}

/// Training on 16 images at a time.
pub(crate) fn training<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = separable::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, SEPARABLE)?;
    let pool = labelled(SEPARABLE, &net, [rows, 3, 64, 64])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}

/// Inference of one image.
pub(crate) fn inference<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = separable::probabilities();
    let parameters = Parameters::create_on(backend, &net, 0)?;
    let batch = |p: usize| Ok(Batch::new(&net)?.with("x", &images(SEPARABLE, p, [rows, 3, 64, 64]))?);
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Inference::new(net, parameters, pool)))
}
