//! `slice`.

use std::ops::Range;

use paddle_core::ops::{Slice, SliceGrad, slice_range};

use super::call::Call;
use super::shape::moved;
use super::values::Values;

/// What is taken along each axis of `shape`: as much as `part` has.
fn ranges(
    (axes, starts, ends): (&[i64], &[i64], &[i64]),
    shape: &[usize],
    part: &[usize],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = shape.iter().map(|&size| 0..size).collect();
    for ((&axis, &start), &end) in axes.iter().zip(starts).zip(ends) {
        let axis = axis as usize;
        ranges[axis] = slice_range(start, end, shape[axis]);
        assert_eq!(ranges[axis].len(), part[axis], "the shape rule wants bounds that are inside");
    }
    ranges
}

pub(super) fn forward(op: &Slice, call: &Call<'_>) -> Values {
    let (shape, out) = (call.shape(0), call.output_shape(0));
    let ranges = ranges((&op.axes, &op.starts, &op.ends), &shape, &out);
    let taken = moved(&shape, &out, |position| {
        Some(position.iter().zip(&ranges).map(|(at, range)| at + range.start).collect())
    });
    call.read(0).at_or_zero(&taken)
}

pub(super) fn grad(op: &SliceGrad, call: &Call<'_>) -> Values {
    let (shape, part) = (call.shape(0), call.shape(1));
    let ranges = ranges((&op.axes, &op.starts, &op.ends), &shape, &part);
    let taken = moved(&part, &shape, |position| {
        let inside = |(at, range): (usize, &Range<usize>)| range.contains(&at).then(|| at - range.start);
        position.into_iter().zip(&ranges).map(inside).collect()
    });
    call.read(1).at_or_zero(&taken)
}
