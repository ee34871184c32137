//! `slice`, `strided_slice`, `pad`.

use paddle_core::ops::{Number, Pad, Slice, SliceGrad, Taken};

use crate::reference::call::Call;
use crate::reference::shape::moved;
use crate::reference::values::Values;

/// What is taken along each axis of `shape`: as much as `part` has.
fn taken(op: &Slice, shape: &[usize], part: &[usize]) -> Vec<Taken> {
    let mut axes: Vec<Taken> = shape.iter().map(|&size| Taken::all(size)).collect();
    for (axis, bounds) in op.bounds() {
        axes[axis] = bounds.of(shape[axis]);
        assert_eq!(axes[axis].count, part[axis], "the shape rule wants bounds that are inside");
    }
    axes
}

pub(super) fn forward(op: &Slice, call: &Call<'_>) -> Values {
    let (shape, out) = (call.shape(0), call.output_shape(0));
    let axes = taken(op, &shape, &out);
    let source = |(&at, axis): (&usize, &Taken)| (axis.first as isize + at as isize * axis.stride) as usize;
    let elements = moved(&shape, &out, |position| Some(position.iter().zip(&axes).map(source).collect()));
    call.read(0).at_or_zero(&elements)
}

pub(super) fn grad(op: &SliceGrad, call: &Call<'_>) -> Values {
    let (shape, part) = (call.shape(0), call.shape(1));
    let axes = taken(&op.0, &shape, &part);
    let elements = moved(&part, &shape, |position| {
        position.into_iter().zip(&axes).map(|(at, axis)| axis.find(at)).collect()
    });
    call.read(1).at_or_zero(&elements)
}

pub(super) fn pad(op: &Pad, call: &Call<'_>) -> Values {
    let (x, shape) = (call.read(0), call.shape(0));
    let inside = |(axis, at): (usize, usize)| {
        at.checked_sub(op.paddings[2 * axis] as usize).filter(|at| *at < shape[axis])
    };
    let elements = moved(&shape, &call.output_shape(0), |position| {
        position.into_iter().enumerate().map(inside).collect()
    });
    let around = Values::of_numbers(x.dtype(), std::iter::once(Number::Float(op.pad_value)));
    let last = x.len();
    let chosen: Vec<usize> = elements.into_iter().map(|element| element.unwrap_or(last)).collect();
    Values::join(&[x, around]).at(&chosen)
}
