//! `pool2d`, its gradient, and maxima with their positions: `neighbours` where the channels of all operands are neighbours in
//! memory, `tiles` for maxima where windows cut planes, and `blocks` with copies of lines otherwise.

mod blocks;
mod columns;
mod index;
mod neighbours;
mod tiles;

use std::marker::PhantomData;

use paddle_core::ops::{Pool2d, Pool2dGrad, PoolKind};
use paddle_core::plan::{KernelError, OperandType, Takes, Unsupported};

use self::blocks::{Pass, Pooling};
use self::columns::Pool;
use super::Compile;
use crate::cpu::images::{Images, ImagesType};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::transpose::LANES;

/// The least number of elements that one thread pools at a time.
const PIECE: usize = 1 << 12;

/// The number of channels that one thread pools at a time: a multiple of those that are computed side by side.
fn channels_at_once(inputs: usize) -> usize {
    LANES * PIECE.div_ceil(LANES * inputs.max(1))
}

/// The images, and the results.
#[derive(Clone, Copy)]
struct Shape {
    op: Pool2d,
    input: ImagesType,
    output: ImagesType,
}

impl Shape {
    fn new(single: &Single<'_>, op: Pool2d, types: [&OperandType; 2]) -> Result<Shape, Unsupported> {
        match types.map(ImagesType::new) {
            [Some(input), Some(output)] => Ok(Shape { op, input, output }),
            _ => single.refuse("of values that are not images"),
        }
    }

    fn get(&self, sizes: &[usize]) -> (Pool, [Images; 2]) {
        let images = [self.input, self.output].map(|ty| ty.get(sizes));
        let [input, output] = images.map(|images| images.size);
        (Pool { op: self.op, input, output }, images)
    }
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Pool2d {
    fn prefers_channels_last(&self) -> bool {
        !tiles::may_be_tiles(self)
    }

    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Each
    }

    fn finishes(&self) -> bool {
        true
    }

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
        let (pool, [images, results]) = self.shape.get(operands.sizes());
        let finish = operands.finish();
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        check([images, results], [x.len(), out.len()]);
        let pass = Pass::Forward { x: x.as_ptr(), out: out.as_mut_ptr() };
        if !(Pooling { pool, images, results, pass }).run(machine.isa, &machine.team, finish) {
            finish.all(&machine.team, out);
        }
        Ok(())
    }
}

/// Panics unless operands have the elements of images and results.
fn check([images, results]: [Images; 2], found: [usize; 2]) {
    let alike = (images.count, images.channels) == (results.count, results.channels);
    assert!(alike && [images.len(), results.len()] == found, "the shapes that were compiled");
}

struct Backward<T> {
    shape: Shape,
    x_images: ImagesType,
    element: PhantomData<T>,
}

impl Compile for Pool2dGrad {
    fn prefers_channels_last(&self) -> bool {
        !tiles::may_be_tiles(&self.0)
    }

    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Each
    }

    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, grad, out) = (single.input(0)?, single.input(2)?, single.output(0)?);
        let shape = Shape::new(single, self.0, [&out.1, &grad.1])?;
        let dtype = out.1.dtype;
        let Some(x_images) = ImagesType::new(&x.1) else {
            return single.refuse("of values that are not images");
        };
        let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(Backward::<T> { shape, x_images, element: PhantomData }));
        Ok(match self.0.pooling_type {
            PoolKind::Max => (single.signature([grad, x], [out]), body),
            PoolKind::Avg => (single.signature([grad], [out]), body),
        })
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (pool, [images, results]) = self.shape.get(operands.sizes());
        let finish = operands.finish();
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        // The gradient of an average does not read the images.
        let x = if pool.op.pooling_type == PoolKind::Max { reads.get::<T>(1) } else { &*out };
        assert_eq!(x.len(), out.len(), "as many elements");
        check([images, results], [out.len(), grad.len()]);
        let (x, x_images) = (x.as_ptr(), self.x_images.get(operands.sizes()));
        let pass = Pass::Backward { x, x_images, grad: grad.as_ptr(), out: out.as_mut_ptr() };
        if !(Pooling { pool, images, results, pass }).run(machine.isa, &machine.team, finish) {
            finish.all(&machine.team, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
