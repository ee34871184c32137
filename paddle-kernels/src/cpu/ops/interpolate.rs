//! Interpolation of images, and its gradient. Threads share the channels of all images.

use std::marker::PhantomData;

use paddle_core::ops::{Between, Interpolate, InterpolateGrad, InterpolateKind};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// The least number of elements that one thread computes at a time.
const PIECE: usize = 1 << 12;

/// The sizes of images, and those of the result.
#[derive(Clone)]
struct Shape {
    op: Interpolate,
    input: [Extent; 2],
    output: [Extent; 2],
}

impl Shape {
    fn new(single: &Single<'_>, op: &Interpolate, layouts: [&OperandType; 2]) -> Result<Shape, Unsupported> {
        match layouts.map(|layout| &layout.shape[..]) {
            [&[_, _, h, w], &[_, _, oh, ow]] => Ok(Shape { op: op.clone(), input: [h, w], output: [oh, ow] }),
            _ => single.refuse("of values that are not images"),
        }
    }

    /// Height and width of the images and of the result.
    fn sizes(&self, sizes: &[usize]) -> [[usize; 2]; 2] {
        [self.input, self.output].map(|extents| extents.map(|extent| extent.get(sizes)))
    }
}

/// The weights of the first and of the second element.
fn weights<T: Float>(between: Between) -> [T; 2] {
    let second = f64::from(between.weight);
    [T::of(1.0 - second), T::of(second)]
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Interpolate {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let shape = Shape::new(single, self, [&x.1, &out.1])?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [input, output] = self.shape.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let [inputs, outputs] = [input, output].map(|[height, width]| height * width);
        assert_eq!(x.len() * outputs, out.len() * inputs, "as many channels");
        let planes = PIECE.div_ceil(outputs.max(1));
        pieces(&machine.team, out, planes * outputs, &|index, out| {
            let x = &x[index * planes * inputs..];
            for (x, out) in x.chunks_exact(inputs.max(1)).zip(out.chunks_exact_mut(outputs.max(1))) {
                forward(&self.shape.op, [input, output], x, out);
            }
        });
        Ok(())
    }
}

fn forward<T: Float>(op: &Interpolate, [input, output]: [[usize; 2]; 2], x: &[T], out: &mut [T]) {
    let [down, across] = op.along(input, output);
    for (y, out) in out.chunks_exact_mut(output[1]).enumerate() {
        let rows = down.between(y);
        let line = |row: usize| &x[row * input[1]..][..input[1]];
        let (above, below) = (line(rows.first), line(rows.second));
        if op.kind == InterpolateKind::Nearest {
            for (at, out) in out.iter_mut().enumerate() {
                *out = above[across.between(at).first];
            }
            continue;
        }
        let [of_above, of_below] = weights::<T>(rows);
        for (at, out) in out.iter_mut().enumerate() {
            let columns = across.between(at);
            let [left, right] = weights::<T>(columns);
            let along = |line: &[T]| mixed([left, right], [line[columns.first], line[columns.second]]);
            *out = mixed([of_above, of_below], [along(above), along(below)]);
        }
    }
}

/// A weighted sum of two elements. An element of weight 0 may be infinite.
fn mixed<T: Float>([first, second]: [T; 2], [x, y]: [T; 2]) -> T {
    if second == T::ZERO { x } else { first * x + second * y }
}

struct Backward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for InterpolateGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (grad, out) = (single.input(1)?, single.output(0)?);
        let shape = Shape::new(single, &self.0, [&out.1, &grad.1])?;
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { shape, element: PhantomData }));
        Ok((single.signature([grad], [out]), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [input, output] = self.shape.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        let [inputs, outputs] = [input, output].map(|[height, width]| height * width);
        assert_eq!(out.len() * outputs, grad.len() * inputs, "as many channels");
        let planes = PIECE.div_ceil(outputs.max(1));
        pieces(&machine.team, out, planes * inputs, &|index, out| {
            let grad = &grad[index * planes * outputs..];
            for (out, grad) in out.chunks_exact_mut(inputs.max(1)).zip(grad.chunks_exact(outputs.max(1))) {
                backward(&self.shape.op, [input, output], grad, out);
            }
        });
        Ok(())
    }
}

fn backward<T: Float>(op: &Interpolate, [input, output]: [[usize; 2]; 2], grad: &[T], out: &mut [T]) {
    out.fill(T::ZERO);
    let [down, across] = op.along(input, output);
    for (y, grad) in grad.chunks_exact(output[1]).enumerate() {
        let rows = down.between(y);
        for (row, of_row) in [rows.first, rows.second].into_iter().zip(weights::<T>(rows)) {
            if of_row == T::ZERO {
                continue;
            }
            let line = &mut out[row * input[1]..][..input[1]];
            for (at, &grad) in grad.iter().enumerate() {
                let columns = across.between(at);
                let [left, right] = weights::<T>(columns);
                line[columns.first] += of_row * left * grad;
                if right != T::ZERO {
                    line[columns.second] += of_row * right * grad;
                }
            }
        }
    }
}
