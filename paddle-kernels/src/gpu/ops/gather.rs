//! `gather`, `one_hot_v2`, `tile`, `pad`: elements from computed places.

use paddle_core::ops::{Gather, GatherGrad, OneHot, Pad, Tile};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{
    Float, Long, Register, Truth, Unsigned, Variable, each, fail, for_each, otherwise, scalar, when,
};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};
use crate::messages::{class_out_of_range, index_out_of_range};

/// The place among the indices that an element of the result belongs to, and its position in `x` without that along the axis.
fn place(
    axis: usize,
    index: Unsigned,
    out: &[Extent],
    x: &[Extent],
    numbers: &[Extent],
) -> (Unsigned, Vec<Unsigned>) {
    let at = position(index, out);
    // If both have rows, these are one axis of the result.
    let rows = x.len() + numbers.len() - 1 - out.len();
    let places = numbers.len() - rows;
    let of_number: Vec<Unsigned> = at[..rows].iter().chain(&at[axis..axis + places]).copied().collect();
    let mut source = at[..axis].to_vec();
    source.push(Unsigned::of(0));
    source.extend(&at[axis + places..]);
    (element(&of_number, numbers), source)
}

fn explained(kernel: Kernel, call: &Call<'_>, size: Extent) -> Kernel {
    kernel.explain_number(call.input_number(1), move |index, at, sizes| {
        index_out_of_range(index, at, size.get(sizes))
    })
}

impl Compile for Gather {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (axis, x_shape, out_shape) =
            (self.axis as usize, call.shape(0).to_vec(), call.out_shape(0).to_vec());
        let size = x_shape[axis];
        // Indices are checked also where a result has no elements.
        let kernel = check(&call, size).stage(Grid::Items(out_shape.clone()), || {
            let (x, numbers, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let (at, mut source) = place(axis, index, &out_shape, &x_shape, call.shape(1));
                let number = numbers.load(at).long();
                when(number.is_index(scalar(&[size])), || {
                    source[axis] = number.low;
                    out.copy(index, &x, element(&source, &x_shape));
                });
            });
        });
        Ok(explained(kernel, &call, size))
    }
}

fn check(call: &Call<'_>, size: Extent) -> Kernel {
    Kernel::new().stage(Grid::Items(call.shape(1).to_vec()), || {
        let numbers = call.input(1);
        each(numbers.elements(), |at| {
            when(!numbers.load(at).long().is_index(scalar(&[size])), || fail(at));
        });
    })
}

impl Compile for GatherGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    /// The thread of the first element that an element was taken to adds up the gradients of all, in order.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (axis, x_shape, grad_shape) =
            (self.0.axis as usize, call.shape(0).to_vec(), call.shape(2).to_vec());
        let size = x_shape[axis];
        let zeroed = check(&call, size).stage(Grid::Items(x_shape.clone()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.clear(index));
        });
        let kernel = zeroed.stage(Grid::Items(grad_shape.clone()), || {
            let (numbers, grad, out) = (call.input(1), call.input(2), call.output(0));
            let source = |index: Unsigned| {
                let (at, mut source) = place(axis, index, &grad_shape, &x_shape, call.shape(1));
                let number = numbers.load(at).long();
                source[axis] = number.low;
                (element(&source, &x_shape), number.is_index(scalar(&[size])))
            };
            each(grad.elements(), |index| {
                let (to, exists) = source(index);
                let is_first = Variable::new(exists);
                for_each(Unsigned::of(0), index, Unsigned::of(1), |other| {
                    when(source(other).0.is(to), || is_first.set(Truth::of(false)));
                });
                when(is_first.get(), || {
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(index, grad.elements(), Unsigned::of(1), |other| {
                        when(source(other).0.is(to), || sum.set(sum.get() + grad.float(other)));
                    });
                    out.set(to, sum.get());
                });
            });
        });
        Ok(explained(kernel, &call, size))
    }
}

impl Compile for OneHot {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        let depth = shape[shape.len() - 1];
        let kernel = Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (ids, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let classes = scalar(&[depth]);
                let row = index / classes;
                let id = ids.load(row).long();
                if !self.allow_out_of_range {
                    when(!id.is_index(classes), || fail(row));
                }
                let is_class = id.is(Long::of_unsigned(index - row * classes));
                let one = match out.dtype {
                    DType::F32 => Element::Float(Float::constant(1.0)),
                    DType::I64 => Element::Long(Long::of(1)),
                    DType::Bool => Element::Truth(Truth::of(true)),
                    _ => Element::Signed(Unsigned::of(1).as_signed()),
                };
                out.store(index, Element::choose(is_class, one, Element::zero(out.dtype)));
            });
        });
        match self.allow_out_of_range {
            true => Ok(kernel),
            false => Ok(kernel.explain_number(call.input_number(0), move |id, row, sizes| {
                class_out_of_range(id, row, depth.get(sizes))
            })),
        }
    }
}

impl Compile for Tile {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, of_out) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        Ok(Kernel::new().stage(Grid::Items(of_out.clone()), || {
            let (x, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let at = position(index, &of_out);
                let source: Vec<Unsigned> =
                    at.iter().zip(&shape).map(|(&at, &size)| at % scalar(&[size])).collect();
                out.copy(index, &x, element(&source, &shape));
            });
        }))
    }
}

impl Compile for Pad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[0] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, of_out) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        Ok(Kernel::new().stage(Grid::Items(of_out.clone()), || {
            let (x, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let mut inside = Truth::of(true);
                let mut source = Vec::new();
                for (axis, at) in position(index, &of_out).into_iter().enumerate() {
                    // In front of the first element it wraps around, and is too large.
                    let place = at - Unsigned::of(self.paddings[2 * axis] as u32);
                    inside = inside & place.less(scalar(&[shape[axis]]));
                    source.push(place);
                }
                let at = Unsigned::choose(inside, element(&source, &shape), Unsigned::of(0));
                when(inside, || out.copy(index, &x, at));
                otherwise(|| out.set(index, Float::constant(self.pad_value as f32)));
            });
        }))
    }
}
