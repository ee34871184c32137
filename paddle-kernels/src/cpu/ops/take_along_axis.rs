//! `take_along_axis` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::{TakeAlongAxis, TakeAlongAxisGrad};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::{Along, Sizes};
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_float};
use crate::cpu::number::{Element, Float};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::index_out_of_range;

/// Elements that one thread takes at a time.
const PIECE: usize = 1 << 14;

struct Take<T> {
    along: Along,
    element: PhantomData<T>,
}

/// Checks that every index is that of an element.
fn check(index: &[i64], size: usize) -> Result<(), KernelError> {
    match first_outside(index, size, None) {
        Some(at) => Err(index_out_of_range(index[at], at, size)),
        None => Ok(()),
    }
}

/// The number of indices along the axis.
fn places(index: &[i64], of: Sizes) -> usize {
    index.len() / (of.before * of.behind).max(1)
}

impl Compile for TakeAlongAxis {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, index, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let Some(along) = Along::new(&x.1.shape, self.axis) else { return single.refuse("along no axis") };
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Take::<T> { along, element: PhantomData }));
        Ok((single.signature([x, index], [out]), body))
    }
}

impl<T: Element> Body for Take<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let of = self.along.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, index, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        check(index, of.along)?;
        let block = (places(index, of) * of.behind).max(1);
        pieces(&machine.team, out, PIECE, &|piece, out| {
            for (at, out) in (piece * PIECE..).zip(out) {
                let row = at / block * of.along + index[at] as usize;
                *out = x[row * of.behind + at % of.behind];
            }
        });
        Ok(())
    }
}

struct Put<T> {
    along: Along,
    element: PhantomData<T>,
}

impl Compile for TakeAlongAxisGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (index, grad, out) = (single.input(1)?, single.input(2)?, single.output(0)?);
        let Some(along) = Along::new(&out.1.shape, self.0.axis) else {
            return single.refuse("along no axis");
        };
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Put::<T> { along, element: PhantomData }));
        Ok((single.signature([index, grad], [out]), body))
    }
}

impl<T: Float> Body for Put<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let of = self.along.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let (index, grad, out) = (reads.get::<i64>(0), reads.get::<T>(1), writes.one::<T>());
        check(index, of.along)?;
        let (from, to) = (places(index, of) * of.behind, (of.along * of.behind).max(1));
        let blocks = (PIECE / to).max(1);
        pieces(&machine.team, out, blocks * to, &|piece, out| {
            out.fill(T::ZERO);
            for (block, out) in (piece * blocks..).zip(out.chunks_exact_mut(to)) {
                let taken = block * from..(block + 1) * from;
                for (i, (index, grad)) in index[taken.clone()].iter().zip(&grad[taken]).enumerate() {
                    out[*index as usize * of.behind + i % of.behind] += *grad;
                }
            }
        });
        Ok(())
    }
}
