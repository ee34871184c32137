//! `sequence_attend` and its gradient. Threads share the heads of sequences: one thread computes a head of a sequence as a whole,
//! so that all its sums are in the order of the tokens.
#![allow(unsafe_code, reason = "threads write different heads of the same tokens")]

use std::marker::PhantomData;

use paddle_core::ops;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::sequence_product::blocks::Shape;
use super::sequence_product::pairs::Pairs;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::shared::Shared;

use super::attention::{PartMut, Tiles};
use head::{Head, attend, differentiate};

mod head;

/// So many sequences keep a team busy by themselves.
const MANY_ROWS: usize = 16;

struct Attend<T> {
    /// The dimensions of a token of `Q`, and those of a value.
    dims: [Vec<Extent>; 2],
    element: PhantomData<T>,
}

struct AttendGrad<T>(Attend<T>);

impl Compile for ops::SequenceAttend {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let [q, k, v, index, x, y, pairs] = inputs(single)?;
        let (dims, dtype) = (dims(single)?, q.1.dtype);
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Attend::<T> { dims, element: PhantomData }));
        let reads = [index, x, y, pairs, q, k, v];
        Ok((single.signature(reads, [single.output(0)?, single.output(1)?]), body))
    }
}

impl Compile for ops::SequenceAttendGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let [q, k, v, index, out, sums, grad, x, y, pairs] = inputs(single)?;
        let (dims, dtype) = (dims(single)?, q.1.dtype);
        let body: Box<dyn Body> = with_float!(
            single, dtype, T => Box::new(AttendGrad::<T>(Attend { dims, element: PhantomData }))
        );
        let reads = [index, x, y, pairs, q, k, v, out, sums, grad];
        Ok((single.signature(reads, [single.output(0)?, single.output(1)?, single.output(2)?]), body))
    }
}

/// The inputs, and the offsets behind them.
fn inputs<const N: usize>(single: &Single<'_>) -> Result<[crate::cpu::operands::Slot; N], Unsupported> {
    let inputs = (0..N).map(|k| single.input(k)).collect::<Result<Vec<_>, _>>()?;
    inputs.try_into().or_else(|_| single.refuse("of another number of operands"))
}

/// The dimensions of a token of `Q`, and those of a value.
fn dims(single: &Single<'_>) -> Result<[Vec<Extent>; 2], Unsupported> {
    let of = |k| match &single.input(k)?.1.shape[..] {
        [_, dims @ .., last] => Ok([dims, &[*last]].concat()),
        _ => single.refuse("of a scalar"),
    };
    Ok([of(0)?, of(2)?])
}

impl<T: Float> Attend<T> {
    /// The sizes of a token of `Q`, and of a value.
    fn shapes(&self, sizes: &[usize]) -> [Shape; 2] {
        let shape = |dims: &Vec<Extent>| {
            let (lead, last) = dims.split_at(dims.len() - 1);
            Shape { lead: product(lead, sizes), width: product(last, sizes) }
        };
        [shape(&self.dims[0]), shape(&self.dims[1])]
    }

    /// Calls `work` with each head of each sequence.
    fn heads(
        &self,
        machine: &Machine,
        operands: &Operands<'_>,
        pairs: &Pairs<'_>,
        [q, k, v]: [&[T]; 3],
        work: &(dyn Fn(&Head<'_, T>, &mut Tiles<T>) + Sync),
    ) -> Result<(), KernelError> {
        pairs.check()?;
        let [keys, values] = self.shapes(operands.sizes());
        let (rows, heads) = (pairs.x.len() - 1, keys.lead);
        // A thread takes all heads of a sequence, unless there are few sequences.
        let at_once = if rows < MANY_ROWS { 1 } else { heads };
        machine.team.run((rows * heads).div_ceil(at_once.max(1)), &|unit| {
            let mut tiles = Tiles::new();
            for unit in unit * at_once..(unit + 1) * at_once {
                let (row, at) = (unit / heads, unit % heads);
                work(&Head { pairs, row, at, keys, values, q, k, v }, &mut tiles);
            }
        });
        Ok(())
    }
}

impl<T: Float> Body for Attend<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [_, values] = self.shapes(operands.sizes());
        let (reads, writes) = operands.split();
        let [index, x, y, ends] = [0, 1, 2, 3].map(|k| reads.get::<i64>(k));
        let pairs = Pairs { isa: machine.isa, x, y, ends, index };
        let inputs = [4, 5, 6].map(|k| reads.get::<T>(k));
        let (out, sums) = writes.two::<T, T>();
        let tokens = pairs.ends.len() - 1;
        assert!(out.len() == tokens * values.size() && sums.len() == tokens * values.lead);
        let (out, sums) = (Shared(out.as_mut_ptr()), Shared(sums.as_mut_ptr()));
        self.heads(machine, &operands, &pairs, inputs, &|head, tiles| {
            // SAFETY: each head of a token is computed by one thread, and both results have a place for each.
            unsafe {
                let out = PartMut::new(&out, values.part(0, head.at), values.size(), values.width);
                attend(head, tiles, out, PartMut::new(&sums, head.at, values.lead, 1));
            }
        })
    }
}

impl<T: Float> Body for AttendGrad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [keys, values] = self.0.shapes(operands.sizes());
        let (reads, writes) = operands.split();
        let [index, x, y, ends] = [0, 1, 2, 3].map(|k| reads.get::<i64>(k));
        let pairs = Pairs { isa: machine.isa, x, y, ends, index };
        let [q, k, v, out, sums, grad] = [4, 5, 6, 7, 8, 9].map(|k| reads.get::<T>(k));
        let [of_q, of_k, of_v] = writes.all::<T, 3>();
        assert!(of_q.len() == q.len() && of_k.len() == k.len() && of_v.len() == v.len());
        let [of_q, of_k, of_v] = [of_q, of_k, of_v].map(|of| Shared(of.as_mut_ptr()));
        self.0.heads(machine, &operands, &pairs, [q, k, v], &|head, tiles| {
            let asked = pairs.y[head.row] as usize;
            let grads = [(&of_q, keys, 0), (&of_k, keys, asked), (&of_v, values, asked)];
            // SAFETY: each head of a sequence is computed by one thread, and no token is in two sequences.
            unsafe {
                let grads = grads.map(|(of, shape, first)| {
                    PartMut::new(of, shape.part(first, head.at), shape.size(), shape.width)
                });
                differentiate(head, tiles, [out, grad], sums, grads);
            }
        })
    }
}

#[cfg(test)]
mod tests;
