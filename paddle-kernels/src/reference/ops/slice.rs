//! `slice`, `strided_slice`, `pad`.

use paddle_core::ops::{Number, Pad, Slice, SliceGrad, Taken};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::moved;
use crate::reference::values::Values;

/// The elements that are taken along each axis of `shape`; their numbers are those of `part`.
fn taken(op: &Slice, shape: &[usize], part: &[usize]) -> Vec<Taken> {
    let mut axes: Vec<Taken> = shape.iter().map(|&size| Taken::all(size)).collect();
    for (axis, bounds) in op.bounds() {
        axes[axis] = bounds.of(shape[axis]);
        assert_eq!(axes[axis].count, part[axis], "the shape rule wants bounds that are inside");
    }
    axes
}

impl Evaluate for Slice {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (shape, out) = (call.shape(0), call.output_shape(0));
        let axes = taken(self, &shape, &out);
        let source =
            |(&at, axis): (&usize, &Taken)| (axis.first as isize + at as isize * axis.stride) as usize;
        let elements = moved(&shape, &out, |position| Some(position.iter().zip(&axes).map(source).collect()));
        Ok(vec![call.read(0).at_or_zero(&elements)])
    }
}

impl Evaluate for SliceGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (shape, part) = (call.shape(0), call.shape(1));
        let axes = taken(&self.0, &shape, &part);
        let elements = moved(&part, &shape, |position| {
            position.into_iter().zip(&axes).map(|(at, axis)| axis.find(at)).collect()
        });
        Ok(vec![call.read(1).at_or_zero(&elements)])
    }
}

impl Evaluate for Pad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape) = (call.read(0), call.shape(0));
        let inside = |(axis, at): (usize, usize)| {
            at.checked_sub(self.paddings[2 * axis] as usize).filter(|at| *at < shape[axis])
        };
        let elements = moved(&shape, &call.output_shape(0), |position| {
            position.into_iter().enumerate().map(inside).collect()
        });
        let around = Values::of_numbers(x.dtype(), std::iter::once(Number::Float(self.pad_value)));
        let last = x.len();
        let chosen: Vec<usize> = elements.into_iter().map(|element| element.unwrap_or(last)).collect();
        Ok(vec![Values::join(&[x, around]).at(&chosen)])
    }
}
