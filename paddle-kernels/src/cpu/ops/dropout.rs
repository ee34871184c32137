//! `dropout` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::{Dropout, DropoutGrad};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};
use crate::random::{Random, dropped_below};

/// The least number of elements for which one thread draws at a time.
const PIECE: usize = 1 << 12;

struct Forward<T> {
    stream: u64,
    /// An element is dropped if its word is below this bound.
    bound: u64,
    divisor: f64,
    /// Whether an operand has the numbers of the rows.
    numbered: bool,
    element: PhantomData<T>,
}

impl Compile for Dropout {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, rows) = (single.input(0)?, single.input(1).ok());
        let (out, mask) = (single.output(0)?, single.output(1)?);
        let (stream, bound) = (single.random_stream(), dropped_below(self.dropout_prob));
        let divisor = self.dropout_implementation.divisor(self.dropout_prob);
        let (dtype, numbered) = (x.1.dtype, rows.is_some());
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Forward::<T> { stream, bound, divisor, numbered, element: PhantomData })
        });
        Ok(match rows {
            Some(rows) => (single.signature([x, rows], [out, mask]), body),
            None => (single.signature([x], [out, mask]), body),
        })
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let random = Random { seed: operands.seed(), stream: self.stream };
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let numbers = if self.numbered { reads.get::<i64>(1) } else { &[0] };
        let (out, mask) = writes.two::<T, u8>();
        assert_eq!((x.len(), x.len()), (out.len(), mask.len()), "as many elements");
        // Without numbers of rows, all elements form one row.
        let width = x.len() / numbers.len().max(1);
        let piece = PIECE;
        pairs(&machine.team, (out, piece), (mask, piece), &|index, out, mask| {
            let mut done = 0;
            while done < mask.len() {
                let at = index * piece + done;
                let (row, column) = (at / width, at % width);
                let count = (width - column).min(mask.len() - done);
                let first = (numbers[row] as u64).wrapping_mul(width as u64).wrapping_add(column as u64);
                for (mask, word) in mask[done..done + count].iter_mut().zip(random.words(first)) {
                    *mask = u8::from(u64::from(word) >= self.bound);
                }
                done += count;
            }
            keep(machine.isa, self.divisor, &x[index * piece..][..out.len()], mask, out);
        });
        Ok(())
    }
}

dispatch! {
    fn keep<const FUSED: bool, T: Float>(isa, divisor: f64, x: &[T], mask: &[u8], out: &mut [T]) {
        let divisor = T::of(divisor);
        for ((out, x), mask) in out.iter_mut().zip(x).zip(mask) {
            *out = if *mask != 0 { *x / divisor } else { T::ZERO };
        }
    }
}

struct Backward<T> {
    divisor: f64,
    element: PhantomData<T>,
}

impl Compile for DropoutGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (mask, grad, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let divisor = self.dropout_implementation.divisor(self.dropout_prob);
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { divisor, element: PhantomData }));
        Ok((single.signature([mask, grad], [out]), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (mask, grad, out) = (reads.get::<u8>(0), reads.get::<T>(1), writes.one::<T>());
        assert_eq!((mask.len(), grad.len()), (out.len(), out.len()), "as many elements");
        pieces(&machine.team, out, PIECE, &|index, out| {
            let (mask, grad) = (&mask[index * PIECE..][..out.len()], &grad[index * PIECE..][..out.len()]);
            keep(machine.isa, self.divisor, grad, mask, out);
        });
        Ok(())
    }
}
