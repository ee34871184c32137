//! W7 and W8b: a residual network of 20 layers for small images, in training and for one image at a time.

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Momentum, Parameters, Trainer};

use crate::images::{filters, images, labelled};
use crate::random::weights;
use crate::workload::{Inference, POOL, Training, Workload, matrix};

const STAGES: [usize; 3] = [16, 32, 64];
const BLOCKS: usize = 3;

#[network]
mod resnet {
    fn convolution(
        x: _,
        filters: usize,
        #[default = 1] stride: usize,
        #[default = relu] act: Activation,
    ) -> _ {
        batch_norm(conv2d(x, filters, 3, stride = stride, padding = 1, bias = false), act = act)
    }

    fn keep(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
        let way = convolution(x, C, param = "first");
        let way = convolution(way, C, act = identity, param = "second");
        relu(way + x)
    }

    fn halve(x: _, filters: usize) -> _ {
        let way = convolution(x, filters, stride = 2, param = "first");
        let way = convolution(way, filters, act = identity, param = "second");
        let around = batch_norm(conv2d(x, filters, 1, stride = 2, bias = false, param = ".around"));
        relu(way + around)
    }

    fn logits(x: Tensor<f32, _, 3, 32, 32>) -> Tensor<f32, _, 10> {
        let mut h = convolution(x, 16, param = "stem");
        for at in 0..3 {
            h = keep(h, param = "stage0.block{at}");
        }
        for (stage, filters) in [(1, 32), (2, 64)] {
            h = halve(h, filters, param = "stage{stage}.block0");
            for at in 1..3 {
                h = keep(h, param = "stage{stage}.block{at}");
            }
        }
        fc(global_pool2d(h, kind = avg), 10, param = "head")
    }

    pub fn cost(x: Tensor<f32, _, 3, 32, 32>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits(x), y))
    }

    pub fn probabilities(x: Tensor<f32, _, 3, 32, 32>) -> _ {
        softmax(logits(x))
    }
}

/// Sets the weights to those of the workload.
fn initialise<B: Backend>(parameters: &mut Parameters<B>) -> Result<(), Error> {
    let mut k = 0;
    let mut set = |parameters: &mut Parameters<B>, name: String, shape: [usize; 4]| -> Result<(), Error> {
        parameters.set(&name, &filters(7, k, &shape))?;
        k += 1;
        Ok(())
    };
    set(parameters, "logits.stem.conv2d.w".to_string(), [16, 3, 3, 3])?;
    let mut inputs = 16;
    for (stage, outputs) in STAGES.into_iter().enumerate() {
        for block in 0..BLOCKS {
            let name = format!("logits.stage{stage}.block{block}");
            set(parameters, format!("{name}.first.conv2d.w"), [outputs, inputs, 3, 3])?;
            set(parameters, format!("{name}.second.conv2d.w"), [outputs, outputs, 3, 3])?;
            if inputs != outputs {
                set(parameters, format!("{name}.around.w"), [outputs, inputs, 1, 1])?;
            }
            inputs = outputs;
        }
    }
    parameters.set("head.w", &matrix([64, 10], weights(7, k, 64, 10)))
}

/// Training: W7.
pub(crate) fn training<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = resnet::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    initialise(&mut parameters)?;
    let pool = labelled(7, &net, [rows, 3, 32, 32])?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}

/// Inference: W8b.
pub(crate) fn inference<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = resnet::probabilities();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    initialise(&mut parameters)?;
    let batch = |p: usize| Ok(Batch::new(&net)?.with("x", &images(7, p, [rows, 3, 32, 32]))?);
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Inference::new(net, parameters, pool)))
}
