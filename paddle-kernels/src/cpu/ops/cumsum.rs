//! `cumsum`.

use std::marker::PhantomData;

use paddle_core::ops::CumSum;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::Along;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_number};
use crate::cpu::number::Summed;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// The least number of elements that one thread sums at a time.
const PIECE: usize = 1 << 14;

struct Sums<T> {
    op: CumSum,
    along: Along,
    element: PhantomData<T>,
}

impl Compile for CumSum {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let Some(along) = Along::new(&x.1.shape, self.axis) else { return single.refuse("along no axis") };
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_number!(single, dtype, T => Box::new(Sums::<T> { op: *self, along, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Summed> Body for Sums<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = self.along.sizes(operands.sizes());
        let (count, width) = (sizes.along, sizes.behind);
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let whole = (count * width).max(1);
        let blocks = (PIECE / whole).max(1);
        pieces(&machine.team, out, blocks * whole, &|index, out| {
            let x = &x[index * blocks * whole..][..out.len()];
            for (x, out) in x.chunks_exact(whole).zip(out.chunks_exact_mut(whole)) {
                // Each row of the block is the sum of the previous row and the row's elements.
                for step in 0..count {
                    let row = |step: usize| if self.op.reverse { count - 1 - step } else { step } * width;
                    let (at, before) = (row(step), step.checked_sub(1).map(row));
                    for i in 0..width {
                        let sum = before.map_or(T::default(), |before| out[before + i]);
                        let term = match (self.op.exclusive, before) {
                            (false, _) => x[at + i],
                            (true, Some(before)) => x[before + i],
                            (true, None) => T::default(),
                        };
                        out[at + i] = if before.is_none() { term } else { sum.plus(term) };
                    }
                }
            }
        });
        Ok(())
    }
}
