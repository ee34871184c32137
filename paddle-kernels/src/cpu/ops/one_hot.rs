//! `one_hot_v2`.

use std::marker::PhantomData;

use paddle_core::ops::{Number, OneHot};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_number};
use crate::cpu::number::Summed;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::class_out_of_range;

/// Elements that one thread writes at a time.
const PIECE: usize = 1 << 14;

struct OnePerRow<T> {
    depth: Extent,
    allow_out_of_range: bool,
    element: PhantomData<T>,
}

impl Compile for OneHot {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (ids, out) = (single.input(0)?, single.output(0)?);
        let Some(&depth) = out.1.shape.last() else { return single.refuse("of a scalar") };
        let (dtype, allow_out_of_range) = (out.1.dtype, self.allow_out_of_range);
        let body: Box<dyn Body> = with_number!(single, dtype, T => {
            Box::new(OnePerRow::<T> { depth, allow_out_of_range, element: PhantomData })
        });
        Ok((single.signature([ids], [out]), body))
    }
}

impl<T: Summed> Body for OnePerRow<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let depth = self.depth.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (ids, out) = (reads.get::<i64>(0), writes.one::<T>());
        if !self.allow_out_of_range
            && let Some(at) = first_outside(ids, depth, None)
        {
            return Err(class_out_of_range(ids[at], at, depth));
        }
        let (width, one) = (depth.max(1), T::constant(Number::Int(1)));
        let rows = (PIECE / width).max(1);
        pieces(&machine.team, out, rows * width, &|index, out| {
            out.fill(T::default());
            for (out, &id) in out.chunks_exact_mut(width).zip(&ids[index * rows..]) {
                if let Some(hot) = usize::try_from(id).ok().and_then(|id| out.get_mut(id)) {
                    *hot = one;
                }
            }
        });
        Ok(())
    }
}
