//! `gather`, `gather_nd`, `one_hot_v2`, `tile`, `pad`: elements from computed places.

use paddle_core::ops::{Gather, GatherNd, OneHot, Pad, Tile};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, Long, Register, Truth, Unsigned, each, fail, otherwise, scalar, when};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel, unsupported};
use crate::gpu::tensor::{Call, Element, Tensor};
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

/// A kernel that fails at the first index that is out of range.
pub(super) fn check(call: &Call<'_>, size: Extent) -> Kernel {
    let kernel = Kernel::new().stage(Grid::Items(call.shape(1).to_vec()), || {
        let numbers = call.input(1);
        each(numbers.elements(), |at| {
            when(!numbers.load(at).long().is_index(scalar(&[size])), || fail(at));
        });
    });
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
        Ok(check(&call, size).stage(Grid::Items(out_shape.clone()), || {
            let (x, numbers, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let (at, mut source) = place(axis, index, &out_shape, &x_shape, call.shape(1));
                let number = numbers.load(at).long();
                when(number.is_index(scalar(&[size])), || {
                    source[axis] = number.low;
                    out.copy(index, &x, element(&source, &x_shape));
                });
            });
        }))
    }
}

/// The size of the axis that an index of a list of positions goes along, for a value of this shape: positions have one index for
/// each of its first axes.
fn axes_of(shape: &[Extent], positions: &[Extent]) -> Result<usize, Unsupported> {
    match positions.last() {
        Some(&Extent::Fixed(length)) if length <= shape.len() => Ok(length),
        _ => unsupported("positions of an unknown length"),
    }
}

/// Positions (input 1) in a value (input 0).
pub(super) struct Positions {
    /// The axes of the value that they go along.
    pub(super) axes: Vec<Extent>,
    /// The other axes.
    pub(super) inner: Vec<Extent>,
    /// The axes of their list.
    pub(super) count: Vec<Extent>,
}

impl Positions {
    pub(super) fn new(call: &Call<'_>) -> Result<Self, Unsupported> {
        let (shape, positions) = (call.shape(0), call.shape(1));
        let (axes, inner) = shape.split_at(axes_of(shape, positions)?);
        let count = positions[..positions.len() - 1].to_vec();
        Ok(Positions { axes: axes.to_vec(), inner: inner.to_vec(), count })
    }

    /// The part of the value at a position, which has all elements along the other axes.
    pub(super) fn part(&self, numbers: &Tensor, at: Unsigned) -> Unsigned {
        let length = Unsigned::of(self.axes.len() as u32);
        (0..).zip(&self.axes).fold(Unsigned::of(0), |part, (k, &size)| {
            part * scalar(&[size]) + numbers.load(at * length + Unsigned::of(k)).long().low
        })
    }

    /// Whether a position is inside of the value.
    pub(super) fn is_inside(&self, numbers: &Tensor, at: Unsigned) -> Truth {
        let length = Unsigned::of(self.axes.len() as u32);
        (0..).zip(&self.axes).fold(Truth::of(true), |inside, (k, &size)| {
            inside & numbers.load(at * length + Unsigned::of(k)).long().is_index(scalar(&[size]))
        })
    }

    /// A kernel that fails at the first index that is out of range.
    pub(super) fn check(&self, call: &Call<'_>) -> Kernel {
        if self.axes.is_empty() {
            return Kernel::new();
        }
        let kernel = Kernel::new().stage(Grid::Items(call.shape(1).to_vec()), || {
            let (numbers, length) = (call.input(1), Unsigned::of(self.axes.len() as u32));
            each(numbers.elements(), |at| {
                let index = numbers.load(at).long();
                for (k, &size) in (0..).zip(&self.axes) {
                    when((at % length).is(Unsigned::of(k)) & !index.is_index(scalar(&[size])), || fail(at));
                }
            });
        });
        let axes = self.axes.clone();
        kernel.explain_number(call.input_number(1), move |index, at, sizes| {
            index_out_of_range(index, at, axes[at % axes.len()].get(sizes))
        })
    }
}

impl Compile for GatherNd {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let positions = Positions::new(&call)?;
        Ok(positions.check(&call).stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (x, numbers, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let width = scalar(&positions.inner);
                let at = index / width;
                when(positions.is_inside(&numbers, at), || {
                    out.copy(index, &x, positions.part(&numbers, at) * width + (index - at * width));
                });
            });
        }))
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
