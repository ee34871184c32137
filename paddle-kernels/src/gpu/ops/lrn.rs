//! `lrn` and its gradient: a thread for each element.

use paddle_core::ops::{Lrn, LrnGrad, Real};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{Float, Unsigned, Variable, each, for_each, scalar};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// The sum of a number of each element that is at the place of an element in the channels around its own.
fn around(op: &Lrn, shape: &[Extent], index: Unsigned, term: impl Fn(Unsigned) -> Float) -> Float {
    let (axis, half, u) = (op.data_format.channels(), Unsigned::of((op.n / 2) as u32), Unsigned::of);
    let (inner, channels) = (scalar(&shape[axis + 1..]), scalar(&shape[axis..=axis]));
    let channel = index / inner % channels;
    let start = index - channel * inner;
    let first = channel - half.least(channel);
    let end = channel + half.least(channels - u(1) - channel) + u(1);
    let sum = Variable::new(Float::constant(0.0));
    for_each(first, end, u(1), |other| sum.set(sum.get() + term(start + other * inner)));
    sum.get()
}

impl Compile for Lrn {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, out, mid) = (call.input(0), call.output(0), call.output(1));
            each(out.elements(), |index| {
                let squares = around(self, &shape, index, |at| x.float(at) * x.float(at));
                let sum = Float::of(self.k) + Float::of(self.alpha) * squares;
                out.set(index, x.float(index) * sum.pow(Float::of(-self.beta)));
                mid.set(index, sum);
            });
        }))
    }
}

impl Compile for LrnGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (LrnGrad(op), shape) = (self, call.shape(0).to_vec());
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let [x, out, mid, grad] = [0, 1, 2, 3].map(|k| call.input(k));
            let of_x = call.output(0);
            each(of_x.elements(), |index| {
                let sum = around(op, &shape, index, |at| grad.float(at) * out.float(at) / mid.float(at));
                let own = grad.float(index) * mid.float(index).pow(Float::of(-op.beta));
                of_x.set(index, own - Float::of(2.0 * op.alpha * op.beta) * x.float(index) * sum);
            });
        }))
    }
}
