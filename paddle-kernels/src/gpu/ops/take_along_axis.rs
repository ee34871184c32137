//! `take_along_axis` and its gradient.

use paddle_core::ops::{TakeAlongAxis, TakeAlongAxisGrad};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::gather::check;
use crate::gpu::form::{Float, Long, Unsigned, Variable, each, for_each, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// An element of a value as a place along an axis, and the element at another place of the same line.
fn of_line(
    index: Unsigned,
    axis: usize,
    from: &[Extent],
) -> (Unsigned, impl Fn(Unsigned, Extent) -> Unsigned) {
    let inner = scalar(&from[axis + 1..]);
    let run = index / inner;
    let block = run / scalar(&from[axis..=axis]);
    let (along, behind) = (run - block * scalar(&from[axis..=axis]), index - run * inner);
    (along, move |place, size| (block * scalar(&[size]) + place) * inner + behind)
}

impl Compile for TakeAlongAxis {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let axis = self.axis as usize;
        let [x_shape, shape] = [0, 1].map(|k| call.shape(k).to_vec());
        Ok(check(&call, x_shape[axis]).stage(Grid::Items(shape.clone()), || {
            let (x, numbers, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let number = numbers.load(index).long();
                let (_, in_line) = of_line(index, axis, &shape);
                when(number.is_index(scalar(&x_shape[axis..=axis])), || {
                    out.copy(index, &x, in_line(number.low, x_shape[axis]));
                });
            });
        }))
    }
}

impl Compile for TakeAlongAxisGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    /// The thread of an element adds up what was taken from it, in order.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let axis = self.0.axis as usize;
        let [x_shape, shape] = [0, 1].map(|k| call.shape(k).to_vec());
        Ok(check(&call, x_shape[axis]).stage(Grid::Items(x_shape.clone()), || {
            let (numbers, grad, out) = (call.input(1), call.input(2), call.output(0));
            each(out.elements(), |index| {
                let (own, in_line) = of_line(index, axis, &x_shape);
                let sum = Variable::new(Float::constant(0.0));
                for_each(Unsigned::of(0), scalar(&shape[axis..=axis]), Unsigned::of(1), |place| {
                    let other = in_line(place, shape[axis]);
                    when(numbers.load(other).long().is(Long::of_unsigned(own)), || {
                        sum.set(sum.get() + grad.float(other));
                    });
                });
                out.set(index, sum.get());
            });
        }))
    }
}
