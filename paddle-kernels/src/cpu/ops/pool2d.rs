//! `pool2d`, its gradient, and maxima with their positions. Threads share the channels of all images.

mod windows;

use std::marker::PhantomData;

use paddle_core::ops::{MaxPool2dWithIndex, Pool2d, Pool2dGrad, PoolKind};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};

use self::windows::RUN;
use super::Compile;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};

/// The least number of elements that one thread pools at a time.
const PIECE: usize = 1 << 12;

/// Pooling of one channel in a launch.
#[derive(Clone, Copy)]
struct Pool {
    op: Pool2d,
    /// Height and width of the images.
    input: [usize; 2],
    /// Height and width of the result.
    output: [usize; 2],
}

/// The sizes of the images, and those of the result.
#[derive(Clone, Copy)]
struct Shape {
    op: Pool2d,
    input: [Extent; 2],
    output: [Extent; 2],
}

impl Shape {
    fn new(single: &Single<'_>, op: Pool2d, layouts: [&OperandType; 2]) -> Result<Shape, Unsupported> {
        match layouts.map(|layout| &layout.shape[..]) {
            [&[_, _, h, w], &[_, _, oh, ow]] => Ok(Shape { op, input: [h, w], output: [oh, ow] }),
            _ => single.refuse("of values that are not images"),
        }
    }

    fn pool(&self, sizes: &[usize]) -> Pool {
        let get = |extents: [Extent; 2]| extents.map(|extent| extent.get(sizes));
        Pool { op: self.op, input: get(self.input), output: get(self.output) }
    }
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Pool2d {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let shape = Shape::new(single, *self, [&x.1, &out.1])?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let pool = self.shape.pool(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let [inputs, outputs] = [pool.input, pool.output].map(|[height, width]| height * width);
        assert_eq!(x.len() * outputs, out.len() * inputs, "as many channels");
        let planes = PIECE.div_ceil(inputs.max(1));
        pieces(&machine.team, out, planes * outputs, &|index, out| {
            let x = &x[index * planes * inputs..];
            for (x, out) in x.chunks_exact(inputs.max(1)).zip(out.chunks_exact_mut(outputs)) {
                forward(machine.isa, pool, x, out);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn forward<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], out: &mut [T]) {
        pool.runs(|first, count, windows| {
            windows.pool(pool.op.pooling_type, x, &mut out[first..first + count]);
        });
    }
}

struct WithIndex<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for MaxPool2dWithIndex {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out, mask) = (single.input(0)?, single.output(0)?, single.output(1)?);
        let shape = Shape::new(single, self.pool(), [&x.1, &out.1])?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(WithIndex::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out, mask]), body))
    }
}

impl<T: Float> Body for WithIndex<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let pool = self.shape.pool(operands.sizes());
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let (out, mask) = writes.two::<T, i32>();
        let [inputs, outputs] = [pool.input, pool.output].map(|[height, width]| height * width);
        assert_eq!(x.len() * outputs, out.len() * inputs, "as many channels");
        let planes = PIECE.div_ceil(inputs.max(1));
        let piece = planes * outputs;
        pairs(&machine.team, (out, piece), (mask, piece), &|index, out, mask| {
            let x = x[index * planes * inputs..].chunks_exact(inputs.max(1));
            for ((x, out), mask) in x.zip(out.chunks_exact_mut(outputs)).zip(mask.chunks_exact_mut(outputs)) {
                with_index(machine.isa, pool, x, out, mask);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn with_index<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], out: &mut [T], mask: &mut [i32]) {
        pool.runs(|first, count, windows| {
            let range = first..first + count;
            windows.locate(x, &mut out[range.clone()], &mut mask[range]);
        });
    }
}

struct Backward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Pool2dGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, grad, out) = (single.input(0)?, single.input(2)?, single.output(0)?);
        let shape = Shape::new(single, self.0, [&out.1, &grad.1])?;
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { shape, element: PhantomData }));
        Ok(match self.0.pooling_type {
            PoolKind::Max => (single.signature([grad, x], [out]), body),
            PoolKind::Avg => (single.signature([grad], [out]), body),
        })
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let pool = self.shape.pool(operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        // The gradient of an average does not read the images.
        let x = if pool.op.pooling_type == PoolKind::Max { reads.get::<T>(1) } else { grad };
        let [inputs, outputs] = [pool.input, pool.output].map(|[height, width]| height * width);
        assert_eq!(out.len() * outputs, grad.len() * inputs, "as many channels");
        let planes = PIECE.div_ceil(inputs.max(1));
        pieces(&machine.team, out, planes * inputs, &|index, out| {
            for (plane, out) in out.chunks_exact_mut(inputs).enumerate() {
                let plane = index * planes + plane;
                let x =
                    if pool.op.pooling_type == PoolKind::Max { &x[plane * inputs..][..inputs] } else { x };
                backward(machine.isa, pool, x, &grad[plane * outputs..][..outputs], out);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn backward<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], grad: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        let (mut values, mut places) = ([T::ZERO; RUN], [0; RUN]);
        pool.runs(|first, count, windows| {
            let (values, grad) = (&mut values[..count], &grad[first..first + count]);
            match pool.op.pooling_type {
                PoolKind::Max => {
                    let places = &mut places[..count];
                    windows.locate(x, values, places);
                    for (place, grad) in places.iter().zip(grad).filter(|(place, _)| **place >= 0) {
                        out[*place as usize] += *grad;
                    }
                }
                PoolKind::Avg => {
                    values.copy_from_slice(grad);
                    windows.spread(values, out);
                }
            }
        });
    }
}
