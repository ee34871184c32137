//! `unet`: the kind of each pixel, by a U-Net (Ronneberger, Fischer and Brox, "U-Net", 2015) of three levels.

use ndarray::{Array3, Array4, s};
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Momentum, Parameters, Trainer};

use crate::initial::set_weights;
use crate::random::{field, integers, symmetric};
use crate::workload::{POOL, Training, Workload};

/// Height and width of an image.
const SIZE: usize = 64;
/// The number of the workload, from which its random numbers come.
const UNET: u64 = 12;

#[network]
mod unet {
    fn twice(x: _, filters: usize) -> _ {
        let first = conv2d(x, filters, 3, padding = 1, bias = false, param = ".first");
        let first = batch_norm(first, act = relu, param = ".first_norm");
        let second = conv2d(first, filters, 3, padding = 1, bias = false, param = ".second");
        batch_norm(second, act = relu, param = ".second_norm")
    }

    /// Twice as large, beside what the encoder had at that size.
    fn larger(x: _, skip: _, filters: usize) -> _ {
        let up = conv2d_transpose(x, filters, 2, stride = 2, param = ".up");
        twice(concat([skip, up]), filters, param = ".twice")
    }

    pub fn cost(image: Tensor<f32, _, 3, 64, 64>, kind: Tensor<i64, _, 64, 64>) -> Tensor<f32> {
        let fine = twice(image, 16, param = "fine");
        let middle = twice(pool2d(fine, 2), 32, param = "middle");
        let coarse = twice(pool2d(middle, 2), 64, param = "coarse");
        let middle = larger(coarse, middle, 32, param = "to_middle");
        let fine = larger(middle, fine, 16, param = "to_fine");
        mean(softmax_with_cross_entropy(conv2d(fine, 3, 1, param = "kind"), kind, axis = 1))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = unet::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    set_weights(&mut parameters, UNET)?;
    let batch = |p: u64| {
        let (image, kind) = images(p, rows);
        Ok(Batch::new(&net)?.with("image", &image)?.with("kind", &kind)?)
    };
    let pool = (0..POOL as u64).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Momentum::new(0.01).momentum(0.9)), pool)))
}

/// The images of a batch, and the kinds of their pixels. Each image is noise with two rectangles: one is brighter in the
/// second channel and of kind 1, the other one, which covers it, in the third channel and of kind 2.
fn images(batch: u64, rows: usize) -> (Array4<f32>, Array3<i64>) {
    let noise = symmetric(field(UNET, batch, 0), rows * 3 * SIZE * SIZE);
    let mut image = Array4::from_shape_vec((rows, 3, SIZE, SIZE), noise).expect("as many numbers as pixels");
    let mut kinds = Array3::zeros((rows, SIZE, SIZE));
    // Top, left, height and width.
    let corners = integers(field(UNET, batch, 1), rows * 2 * 4, SIZE as i64 / 2);
    for (at, rectangle) in corners.chunks_exact(4).enumerate() {
        let (row, kind) = (at / 2, at % 2 + 1);
        let [top, left, height, width] = [0, 1, 2, 3].map(|k| rectangle[k] as usize);
        let (bottom, right) = (top + height + 1, left + width + 1);
        kinds.slice_mut(s![row, top..bottom, left..right]).fill(kind as i64);
        image.slice_mut(s![row, kind, top..bottom, left..right]).mapv_inplace(|x| x + 1.0);
    }
    (image, kinds)
}
