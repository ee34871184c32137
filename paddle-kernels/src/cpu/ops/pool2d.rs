//! `pool2d`, its gradient, and maxima with their positions. Threads share the channels of all images, of which several are
//! computed side by side.

mod lanes;

use std::marker::PhantomData;

use paddle_core::ops::{MaxPool2dWithIndex, Pool2d, Pool2dGrad, PoolKind};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};

use self::lanes::{Largest, WINDOWS, larger};
use super::Compile;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};
use crate::cpu::transpose::{LANES, separate};

/// The least number of elements that one thread pools at a time.
const PIECE: usize = 1 << 12;

/// The number of channels that one thread pools at a time: a multiple of those that are computed side by side.
fn channels_at_once(inputs: usize) -> usize {
    LANES * PIECE.div_ceil(LANES * inputs.max(1))
}

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
        let at_once = channels_at_once(inputs);
        pieces(&machine.team, out, at_once * outputs, &|index, out| {
            for (block, out) in out.chunks_mut(LANES * outputs).enumerate() {
                let (first, channels) = (index * at_once + block * LANES, out.len() / outputs);
                forward(machine.isa, pool, &x[first * inputs..][..channels * inputs], out);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn forward<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], out: &mut [T]) {
        let [down, across] = pool.output;
        pool.columns(|columns| {
            for y in 0..down {
                let mut results = [[T::ZERO; LANES]; WINDOWS];
                match pool.op.pooling_type {
                    PoolKind::Max => pool.fold(x, y, columns, &mut results, |before, x, _| {
                        before.map_or(*x, |before| larger(before, x))
                    }),
                    PoolKind::Avg => {
                        pool.fold(x, y, columns, &mut results, |before, x, _| {
                            let mut sum = before.copied().unwrap_or([T::ZERO; LANES]);
                            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += *x);
                            sum
                        });
                        for (result, count) in results.iter_mut().zip(pool.counts::<T>(y, columns)) {
                            result.iter_mut().for_each(|sum| *sum /= count);
                        }
                    }
                }
                separate(&results[..columns.len], out, down * across, y * across + columns.first);
            }
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
        let at_once = channels_at_once(inputs);
        let piece = at_once * outputs;
        pairs(&machine.team, (out, piece), (mask, piece), &|index, out, mask| {
            let blocks = out.chunks_mut(LANES * outputs).zip(mask.chunks_mut(LANES * outputs));
            for (block, (out, mask)) in blocks.enumerate() {
                let (first, channels) = (index * at_once + block * LANES, out.len() / outputs);
                with_index(machine.isa, pool, &x[first * inputs..][..channels * inputs], out, mask);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn with_index<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], out: &mut [T], mask: &mut [i32]) {
        let results = pool.output[0] * pool.output[1];
        largest(pool, x, |first, largest| {
            let planes = out.chunks_exact_mut(results).zip(mask.chunks_exact_mut(results));
            for (lane, (out, mask)) in planes.enumerate() {
                for (largest, (out, mask)) in largest.iter().zip(out[first..].iter_mut().zip(&mut mask[first..])) {
                    (*out, *mask) = (largest.values[lane], largest.places[lane]);
                }
            }
        });
    }
}

/// Calls `work` with the largest elements of neighbouring windows, and the number of the first of these windows.
#[inline(always)]
fn largest<T: Float>(pool: Pool, x: &[T], mut work: impl FnMut(usize, &[Largest<T>])) {
    let [down, across] = pool.output;
    pool.columns(|columns| {
        for y in 0..down {
            let mut results = [Largest::<T>::NONE; WINDOWS];
            pool.fold(x, y, columns, &mut results, Largest::next);
            work(y * across + columns.first, &results[..columns.len]);
        }
    });
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
        let at_once = channels_at_once(inputs);
        pieces(&machine.team, out, at_once * inputs, &|index, out| {
            for (block, out) in out.chunks_mut(LANES * inputs).enumerate() {
                let (first, channels) = (index * at_once + block * LANES, out.len() / inputs);
                let x = match pool.op.pooling_type {
                    PoolKind::Max => &x[first * inputs..][..channels * inputs],
                    PoolKind::Avg => x,
                };
                backward(machine.isa, pool, x, &grad[first * outputs..][..channels * outputs], out);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn backward<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], grad: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        let [inputs, outputs] = [pool.input, pool.output].map(|[height, width]| height * width);
        match pool.op.pooling_type {
            PoolKind::Max => largest(pool, x, |first, largest| {
                let planes = out.chunks_exact_mut(inputs).zip(grad.chunks_exact(outputs));
                for (lane, (out, grad)) in planes.enumerate() {
                    for (largest, grad) in largest.iter().zip(&grad[first..]) {
                        // A window without elements has no largest one.
                        if let Ok(place) = usize::try_from(largest.places[lane]) {
                            out[place] += *grad;
                        }
                    }
                }
            }),
            PoolKind::Avg => pool.columns(|columns| pool.spread(grad, columns, out)),
        }
    }
}
