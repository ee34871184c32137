//! `efficient` and `efficient1`: a small network of the blocks of EfficientNet (Tan and Le, "EfficientNet", 2019; the blocks
//! are those of Sandler et al., "MobileNetV2", 2018, with Hu et al., "Squeeze-and-Excitation Networks", 2018), in training and
//! for one image at a time.

use ndarray::Array1;
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Momentum, Parameters, Trainer};

use crate::images::{images, labelled};
use crate::initial::set_weights;
use crate::workload::{Inference, POOL, Training, Workload};

/// The number of the workload, from which its random numbers come.
const EFFICIENT: u64 = 17;
/// In inference, the variance that batch norm has seen. It keeps values from fading from layer to layer.
const VARIANCE: f32 = 0.1;

#[network]
mod efficient {
    fn convolution(
        x: _,
        filters: usize,
        size: usize,
        #[default = 1] stride: usize,
        #[default = 1] groups: usize,
        #[default = swish] act: Activation,
    ) -> _ {
        let conv =
            conv2d(x, filters, size, stride = stride, padding = size / 2, groups = groups, bias = false);
        batch_norm(conv, act = act)
    }

    /// Each channel, as much as all channels together say.
    fn excited(x: Tensor<f32, _, C, H, W>, size: usize) -> _ {
        let squeezed = fc(global_pool2d(x, kind = avg), size, act = swish);
        x * reshape(fc(squeezed, C, act = sigmoid, param = ".excite"), [C, 1, 1])
    }

    fn block(x: Tensor<f32, _, C, H, W>, filters: usize, size: usize, #[default = 1] stride: usize) -> _ {
        let wide = convolution(x, { 6 * C }, 1, param = ".wide");
        let deep = convolution(wide, { 6 * C }, size, stride = stride, groups = { 6 * C }, param = ".deep");
        let narrow = excited(deep, { C / 4 }, param = ".excited");
        let narrow = convolution(narrow, filters, 1, act = identity, param = ".narrow");
        if C == filters { x + narrow } else { narrow }
    }

    fn logits(x: Tensor<f32, _, 3, 64, 64>) -> Tensor<f32, _, 10> {
        let mut h = convolution(x, 16, 3, stride = 2, param = "stem");
        h = block(h, 24, 3, stride = 2, param = "block0");
        h = block(h, 24, 3, param = "block1");
        h = block(h, 40, 5, stride = 2, param = "block2");
        h = block(h, 40, 5, param = "block3");
        h = convolution(h, 160, 1, param = "last");
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
    let net = efficient::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, EFFICIENT)?;
    let pool = labelled(EFFICIENT, &net, [rows, 3, 64, 64])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}

/// Inference of one image.
pub(crate) fn inference<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = efficient::probabilities();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, EFFICIENT)?;
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    for name in names.iter().filter(|name| name.ends_with(".variance")) {
        let channels = parameters.get::<f32>(name.as_str())?.len();
        parameters.set(name.as_str(), &Array1::from_elem(channels, VARIANCE))?;
    }
    let batch = |p: usize| Ok(Batch::new(&net)?.with("x", &images(EFFICIENT, p, [rows, 3, 64, 64]))?);
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Inference::new(net, parameters, pool)))
}
