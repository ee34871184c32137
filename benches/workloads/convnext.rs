//! `convnext`: images, by two stages of the blocks of ConvNeXt (Liu et al., "A ConvNet for the 2020s", 2022), without
//! stochastic depth.

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Error, Parameters, Trainer};

use crate::images::labelled;
use crate::initial::set_weights;
use crate::workload::{Training, Workload};

/// The number of the workload, from which its random numbers come.
const CONVNEXT: u64 = 15;

#[network]
mod convnext {
    /// The channels of each pixel, normalised.
    fn pixel_norm(x: _) -> _ {
        transpose(layer_norm(transpose(x, [0, 2, 3, 1])), [0, 3, 1, 2])
    }

    fn block(x: Tensor<f32, _, C, H, W>) -> _ {
        let deep = conv2d(x, C, 7, padding = 3, groups = C, param = ".deep");
        let pixels = layer_norm(transpose(deep, [0, 2, 3, 1]), param = ".norm");
        let wide = fc(pixels, { 4 * C }, axis = -1, act = gelu, param = ".wide");
        let narrow = fc(wide, C, axis = -1, param = ".narrow");
        x + transpose(narrow * parameter(C, init = constant(0.1), param = ".scale"), [0, 3, 1, 2])
    }

    pub fn cost(x: Tensor<f32, _, 3, 64, 64>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let mut h = pixel_norm(conv2d(x, 48, 4, stride = 4, param = "stem"), param = "stem_norm");
        for i in 0..2 {
            h = block(h, param = "fine{i}");
        }
        h = conv2d(pixel_norm(h, param = "down_norm"), 96, 2, stride = 2, param = "down");
        for i in 0..2 {
            h = block(h, param = "coarse{i}");
        }
        let seen = layer_norm(mean(h, axis = [2, 3]), param = "norm");
        mean(softmax_with_cross_entropy(fc(seen, 10, param = "head"), y))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = convnext::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, CONVNEXT)?;
    let pool = labelled(CONVNEXT, &net, [rows, 3, 64, 64])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
