//! `softmax`: a workgroup for each row.

use paddle_core::ops::{Real, Softmax, SoftmaxGrad};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{Float, LANES, Unsigned, Variable, for_each, lane, scalar, workgroup, workgroups};
use crate::gpu::index::broadcast;
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// The rows of a value, and the elements of one.
pub(super) fn rows(shape: &[Extent]) -> (Vec<Extent>, Extent) {
    let (last, rows) = shape.split_last().expect("the shape rule wants a dimension");
    (rows.to_vec(), *last)
}

/// Runs the body for each row, by all threads of a workgroup, with the index of its first element.
pub(super) fn each_row(shape: &[Extent], write: impl FnOnce(Unsigned, Unsigned)) {
    let (rows, length) = rows(shape);
    for_each(workgroup(), scalar(&rows), workgroups(), |row| write(row, row * scalar(&[length])));
}

/// Folds the elements of a row, by all threads of a workgroup: every thread gets the result.
pub(super) fn fold(
    length: Unsigned,
    none: f32,
    value: impl Fn(Unsigned) -> Float,
    with: impl Fn(Float, Float) -> Float,
    shared: &SharedElements,
) -> Float {
    let sum = Variable::new(Float::constant(none));
    for_each(lane(), length, Unsigned::of(LANES), |at| sum.set(with(sum.get(), value(at))));
    shared.fold(Element::Float(sum.get()), |x, y| Element::Float(with(x.float(), y.float()))).float()
}

/// The largest element of a row, and the sum of the powers of the differences to it.
pub(super) fn largest_and_sum(
    length: Unsigned,
    value: impl Fn(Unsigned) -> Float,
    shared: &SharedElements,
) -> (Float, Float) {
    let largest = fold(length, f32::NEG_INFINITY, &value, |x, y| y.max(x), shared);
    let sum = fold(length, 0.0, |at| (value(at) - largest).exp(), |x, y| x + y, shared);
    (largest, sum)
}

impl Compile for Softmax {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Groups(rows(&shape).0), || {
            let (x, out, shared) = (call.input(0), call.output(0), SharedElements::new(DType::F32));
            each_row(&shape, |_, first| {
                let length = scalar(&[rows(&shape).1]);
                let (largest, sum) = largest_and_sum(length, |at| x.float(first + at), &shared);
                for_each(lane(), length, Unsigned::of(LANES), |at| {
                    out.set(first + at, (x.float(first + at) - largest).exp() / sum);
                });
            });
        }))
    }
}

impl Compile for SoftmaxGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Groups(rows(&shape).0), || {
            let (out, grad, to) = (call.input(0), call.input(1), call.output(0));
            let shared = SharedElements::new(DType::F32);
            each_row(&shape, |_, first| {
                let length = scalar(&[rows(&shape).1]);
                let pair = |at: Unsigned| {
                    let index = first + at;
                    let of = |k: usize| broadcast(index, call.shape(k), &shape);
                    (out.float(of(0)), grad.float(of(1)))
                };
                let product = |at: Unsigned| {
                    let (out, grad) = pair(at);
                    out * grad
                };
                let dot = fold(length, 0.0, product, |x, y| x + y, &shared);
                for_each(lane(), length, Unsigned::of(LANES), |at| {
                    let (out, grad) = pair(at);
                    to.set(first + at, out * (grad - dot));
                });
            });
        }))
    }
}
