//! `batch_norm` and its gradient: a workgroup for each channel.

use paddle_core::ops::{BatchNorm, BatchNormGrad, Real};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::fold;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Register, Unsigned, for_each, lane, scalar, when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// The elements of a channel.
struct Channel<'a> {
    shape: &'a [Extent],
    number: Unsigned,
}

impl Channel<'_> {
    /// The number of elements.
    fn elements(&self) -> Unsigned {
        let others: Vec<Extent> = [&self.shape[..1], &self.shape[2..]].concat();
        scalar(&others)
    }

    /// The index of an element.
    fn at(&self, element: Unsigned) -> Unsigned {
        let inner = scalar(&self.shape[2..]);
        let row = element / inner;
        (row * scalar(&self.shape[1..2]) + self.number) * inner + (element - row * inner)
    }

    /// The sum over all elements.
    fn sum(&self, shared: &SharedElements, value: impl Fn(Unsigned) -> Float) -> Float {
        fold(self.elements(), 0.0, |element| value(self.at(element)), |x, y| x + y, shared)
    }

    /// The number of elements as a divisor.
    fn divisor(&self) -> Float {
        let count = self.elements();
        Unsigned::choose(count.is(Unsigned::of(0)), Unsigned::of(1), count).to_float()
    }

    /// Runs the body for each element, by all threads.
    fn each(&self, write: impl FnOnce(Unsigned)) {
        for_each(lane(), self.elements(), Unsigned::of(LANES), |element| write(self.at(element)));
    }
}

fn each_channel(shape: &[Extent], write: impl FnOnce(Channel<'_>)) {
    for_each(workgroup(), scalar(&shape[1..2]), workgroups(), |number| write(Channel { shape, number }));
}

impl Compile for BatchNorm {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Groups(vec![shape[1]]), || {
            let [x, scale, bias, moving_mean, moving_variance] = [0, 1, 2, 3, 4].map(|k| call.input(k));
            let [y, saved_mean, saved_inverse] = [0, 1, 2].map(|k| call.output(k));
            let shared = SharedElements::new(DType::F32);
            each_channel(&shape, |channel| {
                let at = channel.number;
                let (mean, variance) = match self.is_test {
                    true => (moving_mean.float(at), moving_variance.float(at)),
                    false => {
                        let mean = channel.sum(&shared, |index| x.float(index)) / channel.divisor();
                        let squares = channel.sum(&shared, |index| {
                            let distance = x.float(index) - mean;
                            distance * distance
                        });
                        (mean, squares / channel.divisor())
                    }
                };
                let inverse = (variance + Float::of(self.epsilon)).rsqrt();
                let (factor, term) = (scale.float(at), bias.float(at));
                channel.each(|index| y.set(index, (x.float(index) - mean) * inverse * factor + term));
                when(lane().is(Unsigned::of(0)), || {
                    saved_mean.set(at, mean);
                    saved_inverse.set(at, inverse);
                    if !self.keeps_statistics() {
                        let (stays, goes) = (Float::of(self.momentum), Float::of(1.0 - self.momentum));
                        // Over no rows, statistics stay.
                        when(channel.elements().is_not(Unsigned::of(0)), || {
                            moving_mean.set(at, stays * moving_mean.float(at) + goes * mean);
                            moving_variance.set(at, stays * moving_variance.float(at) + goes * variance);
                        });
                    }
                });
            });
        }))
    }
}

impl Compile for BatchNormGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Groups(vec![shape[1]]), || {
            let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|k| call.input(k));
            let [of_x, of_scale, of_bias] = [0, 1, 2].map(|k| call.output(k));
            let shared = SharedElements::new(DType::F32);
            each_channel(&shape, |channel| {
                let at = channel.number;
                let (mean, inverse, factor) = (mean.float(at), inverse.float(at), scale.float(at));
                let normal = |index: Unsigned| (x.float(index) - mean) * inverse;
                let sum = channel.sum(&shared, |index| grad.float(index));
                let products = channel.sum(&shared, |index| grad.float(index) * normal(index));
                let count = channel.divisor();
                channel.each(|index| {
                    let own = grad.float(index);
                    let rest = match self.is_test {
                        true => own,
                        false => own - (sum / count + normal(index) * (products / count)),
                    };
                    of_x.set(index, rest * factor * inverse);
                });
                when(lane().is(Unsigned::of(0)), || {
                    of_scale.set(at, products);
                    of_bias.set(at, sum);
                });
            });
        }))
    }
}
