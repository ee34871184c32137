//! Batches of images, or of volumes, with labels, and Xavier's weights of filters.

use ndarray::{Array1, ArrayD};
use paddle::{Batch, Error, Network, Spec};

use crate::random::{field, integers, symmetric};
use crate::workload::POOL;

/// The pool of a workload: images `x` of this shape, and labels `y` of ten classes.
pub(crate) fn labelled<S: Spec, const N: usize>(
    workload: u64,
    net: &Network<S>,
    shape: [usize; N],
) -> Result<Vec<Batch<S>>, Error> {
    let batch = |p: usize| {
        let y = Array1::from(integers(field(workload, p as u64, 1), shape[0], 10));
        Ok(Batch::new(net)?.with("x", &images(workload, p, shape))?.with("y", &y)?)
    };
    (0..POOL).map(batch).collect()
}

/// The images of one batch of the pool. A smaller number of images are the first ones.
pub(crate) fn images<const N: usize>(workload: u64, p: usize, shape: [usize; N]) -> ArrayD<f32> {
    let x = symmetric(field(workload, p as u64, 0), shape.iter().product());
    ArrayD::from_shape_vec(&shape[..], x).expect("as many numbers as pixels")
}

/// The weights of a layer of filters, `[outputs, inputs, ..]`, or of a matrix: number `k` of a workload.
pub(crate) fn filters(workload: u64, k: u64, shape: &[usize]) -> ArrayD<f32> {
    let window: usize = shape[2..].iter().product();
    let bound = (6.0 / ((shape[0] + shape[1]) * window) as f64).sqrt() as f32;
    let w = symmetric(1000 * workload + k, shape.iter().product()).into_iter().map(|x| bound * x);
    ArrayD::from_shape_vec(shape, w.collect()).expect("as many numbers as weights")
}
