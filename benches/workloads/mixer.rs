//! `mixer`: images, by layers that mix patches, and layers that mix channels (Tolstikhin et al., "MLP-Mixer", 2021).

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Error, Parameters, Trainer};

use crate::images::labelled;
use crate::initial::set_weights;
use crate::workload::{Training, Workload};

/// The number of the workload, from which its random numbers come.
const MIXER: u64 = 16;

#[network]
mod mixer {
    /// Two layers along the last axis.
    fn mixed(x: Tensor<f32, _, A, D>, size: usize) -> _ {
        let wide = fc(x, size, axis = -1, act = gelu, param = ".wide");
        fc(wide, D, axis = -1, param = ".narrow")
    }

    fn block(x: _) -> _ {
        let patches = transpose(layer_norm(x, param = ".patches_norm"), [0, 2, 1]);
        let x = x + transpose(mixed(patches, 64, param = ".patches"), [0, 2, 1]);
        x + mixed(layer_norm(x, param = ".channels_norm"), 512, param = ".channels")
    }

    pub fn cost(x: Tensor<f32, _, 3, 32, 32>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let stem = conv2d(x, 128, 4, stride = 4, param = "stem");
        let mut h = transpose(flatten(stem, start_axis = 2), [0, 2, 1]);
        for i in 0..2 {
            h = block(h, param = "block{i}");
        }
        let seen = mean(layer_norm(h, param = "norm"), axis = 1);
        mean(softmax_with_cross_entropy(fc(seen, 10, param = "head"), y))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = mixer::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, MIXER)?;
    let pool = labelled(MIXER, &net, [rows, 3, 32, 32])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Adam::new(1e-3)), pool)))
}
