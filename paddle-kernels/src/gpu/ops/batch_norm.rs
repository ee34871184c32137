//! `batch_norm` and its gradient. Workgroups share the elements of a channel; what they find is joined, and then each element is
//! computed by a thread.

use paddle_core::ops::{BatchNorm, BatchNormGrad, Real};
use paddle_core::plan::{Extent, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::fold;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Register, Unsigned, each, for_each, lane, scalar, when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};

/// The workgroups among which all channels are shared, about.
const WORKGROUPS: usize = 1024;

/// How the elements of channels are shared, and what is kept of each share: two numbers.
struct Shares<'a> {
    call: Call<'a>,
    shape: Vec<Extent>,
    /// The shares of a channel.
    count: u32,
}

impl<'a> Shares<'a> {
    fn new(call: Call<'a>) -> Self {
        let shape = call.shape(0).to_vec();
        let channels = match shape[1] {
            Extent::Fixed(size) => size.max(1),
            Extent::Bound(_) => WORKGROUPS,
        };
        Shares { call, shape, count: (WORKGROUPS / channels).clamp(1, LANES as usize) as u32 }
    }

    /// Shares of channels.
    fn all(&self) -> Vec<Extent> {
        vec![self.shape[1], Extent::Fixed(self.count as usize)]
    }

    /// The number of elements of a channel.
    fn elements(&self) -> Unsigned {
        let others: Vec<Extent> = [&self.shape[..1], &self.shape[2..]].concat();
        scalar(&others)
    }

    /// The elements of a share: the first one, and the one behind the last.
    fn span(&self, share: Unsigned) -> (Unsigned, Unsigned) {
        let (all, count) = (self.elements(), Unsigned::of(self.count));
        let size = (all + count - Unsigned::of(1)) / count;
        let first = (share * size).least(all);
        (first, (first + size).least(all))
    }

    /// The index of an element of a channel.
    fn at(&self, channel: Unsigned, element: Unsigned) -> Unsigned {
        let inner = scalar(&self.shape[2..]);
        let row = element / inner;
        (row * scalar(&self.shape[1..2]) + channel) * inner + (element - row * inner)
    }

    /// The channel of an element.
    fn channel(&self, index: Unsigned) -> Unsigned {
        index / scalar(&self.shape[2..]) % scalar(&self.shape[1..2])
    }

    /// What is kept, while a form is written.
    fn kept(&self) -> Tensor {
        let shape = [self.all(), vec![Extent::Fixed(2)]].concat();
        let ty = OperandType::new(DType::F32, shape);
        Tensor::new(self.call.scratch_number(0), &ty)
    }

    /// Adds the stage in which a workgroup finds two numbers for each share: `find` gets the channel, the number of elements of the
    /// share, and what gives the index of one of them.
    fn find(
        &self,
        kernel: Kernel,
        find: impl FnOnce(Unsigned, Unsigned, &dyn Fn(Unsigned) -> Unsigned, &SharedElements) -> [Float; 2],
    ) -> Kernel {
        let words = [self.all(), vec![Extent::Fixed(2)]].concat();
        kernel.scratch(words).stage(Grid::Groups(self.all()), || {
            let (kept, shared) = (self.kept(), SharedElements::new(DType::F32));
            for_each(workgroup(), scalar(&self.all()), workgroups(), |number| {
                let channel = number / Unsigned::of(self.count);
                let (first, end) = self.span(number - channel * Unsigned::of(self.count));
                let index = |element: Unsigned| self.at(channel, first + element);
                let found = find(channel, end - first, &index, &shared);
                when(lane().is(Unsigned::of(0)), || {
                    for (k, found) in (0..2).zip(found) {
                        kept.set(number * Unsigned::of(2) + Unsigned::of(k), found);
                    }
                });
            });
        })
    }

    /// Adds the stage in which a workgroup joins the shares of a channel.
    fn join(&self, kernel: Kernel, join: impl FnOnce(Unsigned, &Joined<'_>)) -> Kernel {
        kernel.stage(Grid::Groups(vec![self.shape[1]]), || {
            let (kept, shared) = (self.kept(), SharedElements::new(DType::F32));
            for_each(workgroup(), scalar(&self.shape[1..2]), workgroups(), |channel| {
                join(channel, &Joined { shares: self, kept: &kept, channel, shared: &shared });
            });
        })
    }

    /// The number of elements of a channel as a divisor.
    fn divisor(&self) -> Float {
        let count = self.elements();
        Unsigned::choose(count.is(Unsigned::of(0)), Unsigned::of(1), count).to_float()
    }

    /// Adds the stage that computes each element: `write` gets its index and its channel.
    fn each(&self, kernel: Kernel, write: impl FnOnce(Unsigned, Unsigned)) -> Kernel {
        kernel.stage(Grid::Items(self.shape.clone()), || {
            each(scalar(&self.shape), |index| write(index, self.channel(index)));
        })
    }
}

/// The shares of a channel.
struct Joined<'a> {
    shares: &'a Shares<'a>,
    kept: &'a Tensor,
    channel: Unsigned,
    shared: &'a SharedElements,
}

impl Joined<'_> {
    /// The sum of what is computed of each share: of the number of its elements, and what was kept of it.
    fn sum(&self, of: impl Fn(Float, [Float; 2]) -> Float) -> Float {
        let (u, count) = (Unsigned::of, self.shares.count);
        let value = |share: Unsigned| {
            let (first, end) = self.shares.span(share);
            let at = (self.channel * u(count) + share) * u(2);
            of((end - first).to_float(), [self.kept.float(at), self.kept.float(at + u(1))])
        };
        fold(u(count), 0.0, value, |x, y| x + y, self.shared)
    }
}

fn if_first(write: impl FnOnce()) {
    when(lane().is(Unsigned::of(0)), write);
}

impl Compile for BatchNorm {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shares = Shares::new(call);
        let inverse = |variance: Float| (variance + Float::of(self.epsilon)).rsqrt();
        let mut kernel = Kernel::new();
        if self.is_test {
            kernel = kernel.stage(Grid::Items(vec![shares.shape[1]]), || {
                let (moving_mean, moving_variance) = (call.input(3), call.input(4));
                let (saved_mean, saved_inverse) = (call.output(1), call.output(2));
                each(saved_mean.elements(), |channel| {
                    saved_mean.set(channel, moving_mean.float(channel));
                    saved_inverse.set(channel, inverse(moving_variance.float(channel)));
                });
            });
        } else {
            // The mean of a share, and the sum of the squares of distances to it; they are joined as by Chan, Golub and LeVeque,
            // "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
            kernel = shares.find(kernel, |_, count, index, shared| {
                let x = call.input(0);
                let divisor = Unsigned::choose(count.is(Unsigned::of(0)), Unsigned::of(1), count).to_float();
                let sum = fold(count, 0.0, |at| x.float(index(at)), |x, y| x + y, shared);
                let mean = sum / divisor;
                let square = |at| {
                    let distance = x.float(index(at)) - mean;
                    distance * distance
                };
                [mean, fold(count, 0.0, square, |x, y| x + y, shared)]
            });
            kernel = shares.join(kernel, |channel, joined| {
                let (moving_mean, moving_variance) = (call.input(3), call.input(4));
                let (saved_mean, saved_inverse) = (call.output(1), call.output(2));
                let mean = joined.sum(|count, [mean, _]| count * mean) / shares.divisor();
                let squares = joined.sum(|count, [own, squares]| {
                    let distance = own - mean;
                    squares + count * distance * distance
                });
                let variance = squares / shares.divisor();
                if_first(|| {
                    saved_mean.set(channel, mean);
                    saved_inverse.set(channel, inverse(variance));
                    if !self.keeps_statistics() {
                        let (stays, goes) = (Float::of(self.momentum), Float::of(1.0 - self.momentum));
                        // Over no rows, statistics stay.
                        when(shares.elements().is_not(Unsigned::of(0)), || {
                            moving_mean.set(channel, stays * moving_mean.float(channel) + goes * mean);
                            let moving = stays * moving_variance.float(channel) + goes * variance;
                            moving_variance.set(channel, moving);
                        });
                    }
                });
            });
        }
        Ok(shares.each(kernel, |index, channel| {
            let [x, scale, bias] = [0, 1, 2].map(|k| call.input(k));
            let [y, mean, inverse] = [0, 1, 2].map(|k| call.output(k));
            let normal = (x.float(index) - mean.float(channel)) * inverse.float(channel);
            y.set(index, normal * scale.float(channel) + bias.float(channel));
        }))
    }
}

impl Compile for BatchNormGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shares = Shares::new(call);
        let kernel = shares.find(Kernel::new(), |channel, count, index, shared| {
            let [x, mean, inverse, grad] = [0, 2, 3, 4].map(|k| call.input(k));
            let (mean, inverse) = (mean.float(channel), inverse.float(channel));
            let product = |at| {
                let index = index(at);
                grad.float(index) * ((x.float(index) - mean) * inverse)
            };
            let sum = fold(count, 0.0, |at| grad.float(index(at)), |x, y| x + y, shared);
            [sum, fold(count, 0.0, product, |x, y| x + y, shared)]
        });
        let kernel = shares.join(kernel, |channel, joined| {
            let (of_scale, of_bias) = (call.output(1), call.output(2));
            let sum = joined.sum(|_, [sum, _]| sum);
            let products = joined.sum(|_, [_, products]| products);
            if_first(|| {
                of_scale.set(channel, products);
                of_bias.set(channel, sum);
            });
        });
        Ok(shares.each(kernel, |index, channel| {
            let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|k| call.input(k));
            let [of_x, of_scale, of_bias] = [0, 1, 2].map(|k| call.output(k));
            let inverse = inverse.float(channel);
            let own = grad.float(index);
            let rest = match self.is_test {
                true => own,
                false => {
                    let count = shares.divisor();
                    let normal = (x.float(index) - mean.float(channel)) * inverse;
                    own - (of_bias.float(channel) / count + normal * (of_scale.float(channel) / count))
                }
            };
            of_x.set(index, rest * scale.float(channel) * inverse);
        }))
    }
}
