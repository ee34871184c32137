//! `sequence_concat` and its gradient. Threads share the sequences.

use std::marker::PhantomData;

use paddle_core::ops::{SequenceConcat, SequenceConcatGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_float};
use crate::cpu::number::{Element, Float};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{Shared, sequences, sequences_of_piece, share};
use crate::messages::made_lengths;

struct Concat<T> {
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceConcat {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, y, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let (dims, dtype) = (dims.to_vec(), x.1.dtype);
        let operands = [x, y, single.input(3)?, single.input(4)?, single.input(5)?];
        let body: Box<dyn Body> =
            with_element!(dtype, T => Box::new(Concat::<T> { dims, element: PhantomData }));
        Ok((single.signature(operands, [out]), body))
    }
}

/// Checks that the joined sequences are as long as both parts together.
fn check(x: &[i64], y: &[i64], both: &[i64]) -> Result<(), KernelError> {
    assert!(x.len() == y.len() && x.len() == both.len(), "sequences of the same rows");
    let sum = |row: usize| x[row + 1] - x[row] + y[row + 1] - y[row];
    made_lengths(both, sum, "the tokens of")
}

fn elements(offsets: &[i64], row: usize, width: usize) -> std::ops::Range<usize> {
    offsets[row] as usize * width..offsets[row + 1] as usize * width
}

impl<T: Element> Body for Concat<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, y, out) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let [of_x, of_y, both] = [2, 3, 4].map(|k| reads.get::<i64>(k));
        check(of_x, of_y, both)?;
        let piece = sequences_of_piece(both, out.len());
        sequences(&machine.team, out, both, width, piece, &|first, both, mut out| {
            for row in first..first + both.len() - 1 {
                for part in [&x[elements(of_x, row, width)], &y[elements(of_y, row, width)]] {
                    let (to, rest) = out.split_at_mut(part.len());
                    to.copy_from_slice(part);
                    out = rest;
                }
            }
        });
        Ok(())
    }
}

struct Grad<T>(Concat<T>);

impl Compile for SequenceConcatGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (grad, x, y) = (single.input(2)?, single.output(0)?, single.output(1)?);
        let operands = [grad, single.input(3)?, single.input(4)?, single.input(5)?];
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let dims = dims.to_vec();
        let body: Box<dyn Body> =
            with_float!(single, x.1.dtype, T => Box::new(Grad(Concat::<T> { dims, element: PhantomData })));
        Ok((single.signature(operands, [x, y]), body))
    }
}

impl<T: Float> Body for Grad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.0.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, (x, y)) = (reads.get::<T>(0), writes.two::<T, T>());
        let [of_x, of_y, both] = [1, 2, 3].map(|k| reads.get::<i64>(k));
        check(of_x, of_y, both)?;
        for (out, of_out, is_behind) in [(x, of_x, false), (y, of_y, true)] {
            let piece = sequences_of_piece(of_out, out.len());
            let parts = (Shared::of_tokens(out, width), Shared::nothing(), Shared::nothing());
            share(&machine.team, of_out, piece, parts, &|piece| {
                let mut out = piece.a;
                for row in piece.first..piece.first + piece.offsets.len() - 1 {
                    let grad = &grad[elements(both, row, width)];
                    let (to, rest) = out.split_at_mut(elements(of_out, row, width).len());
                    let first = if is_behind { grad.len() - to.len() } else { 0 };
                    to.copy_from_slice(&grad[first..][..to.len()]);
                    out = rest;
                }
            });
        }
        Ok(())
    }
}
