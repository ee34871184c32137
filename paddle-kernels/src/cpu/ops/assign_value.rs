//! `assign_value`, `range`: numbers from the program.

use std::marker::PhantomData;

use paddle_core::ops::{AssignValue, Number, Range};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_number};
use crate::cpu::number::{Constant, Element};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// Elements that one thread writes at a time.
const PIECE: usize = 1 << 14;

struct Values<T>(Vec<T>);

impl Compile for AssignValue {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let out = single.output(0)?;
        let body: Box<dyn Body> = with_element!(out.1.dtype, T => {
            Box::new(Values::<T>(self.values.iter().map(|&value| T::constant(value)).collect()))
        });
        Ok((single.signature([], [out]), body))
    }
}

impl<T: Element> Body for Values<T> {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        writes.one::<T>().copy_from_slice(&self.0);
        Ok(())
    }
}

struct Numbers<T> {
    start: Number,
    step: Number,
    element: PhantomData<T>,
}

impl Compile for Range {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (out, start, step) = (single.output(0)?, self.start, self.step);
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_number!(single, dtype, T => Box::new(Numbers::<T> { start, step, element: PhantomData }));
        Ok((single.signature([], [out]), body))
    }
}

impl<T: Constant> Body for Numbers<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        pieces(&machine.team, writes.one::<T>(), PIECE, &|index, out| {
            for (at, out) in ((index * PIECE) as i64..).zip(out) {
                *out = T::constant(match (self.start, self.step) {
                    (Number::Int(start), Number::Int(step)) => {
                        Number::Int(start.wrapping_add(at.wrapping_mul(step)))
                    }
                    (start, step) => Number::Float(start.as_f64() + at as f64 * step.as_f64()),
                });
            }
        });
        Ok(())
    }
}
