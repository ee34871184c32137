//! `sequence_gather` and its gradient. Threads share the sequences.

use std::marker::PhantomData;

use paddle_core::ops::{SequenceGather, SequenceGatherGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_float};
use crate::cpu::number::{Element, Float};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};
use crate::messages::no_such_token;

struct Gather<T> {
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceGather {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, index, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let (dims, dtype) = (dims.to_vec(), x.1.dtype);
        let operands = [x, index, single.input(2)?, single.input(3)?];
        let body: Box<dyn Body> =
            with_element!(dtype, T => Box::new(Gather::<T> { dims, element: PhantomData }));
        Ok((single.signature(operands, [out]), body))
    }
}

/// Checks that each position is that of a token.
fn check(index: &[i64], own: &[i64], others: &[i64]) -> Result<(), KernelError> {
    for (row, (own, others)) in own.windows(2).zip(others.windows(2)).enumerate() {
        let length = own[1] - own[0];
        let wrong = |position: &&i64| !(0..length).contains(*position);
        if let Some(&position) = index[others[0] as usize..others[1] as usize].iter().find(wrong) {
            return Err(no_such_token(position, row, length));
        }
    }
    Ok(())
}

impl<T: Element> Body for Gather<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, index, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let (own, others) = (reads.get::<i64>(2), reads.get::<i64>(3));
        assert_eq!(own.len(), others.len(), "sequences of the same rows");
        check(index, own, others)?;
        let piece = sequences_of_piece(others, out.len());
        sequences(&machine.team, out, others, width, piece, &|first, others, out| {
            let mut tokens = out.chunks_exact_mut(width.max(1));
            for (row, ends) in others.windows(2).enumerate() {
                let x = &x[own[first + row] as usize * width..];
                for (&position, to) in index[ends[0] as usize..ends[1] as usize].iter().zip(&mut tokens) {
                    to.copy_from_slice(&x[position as usize * width..][..width]);
                }
            }
        });
        Ok(())
    }
}

struct Grad<T>(Gather<T>);

impl Compile for SequenceGatherGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (index, grad, out) = (single.input(1)?, single.input(2)?, single.output(0)?);
        let operands = [grad, index, single.input(3)?, single.input(4)?];
        let [_, dims @ ..] = &out.1.shape[..] else { return single.refuse("of a scalar") };
        let dims = dims.to_vec();
        let body: Box<dyn Body> =
            with_float!(single, out.1.dtype, T => Box::new(Grad(Gather::<T> { dims, element: PhantomData })));
        Ok((single.signature(operands, [out]), body))
    }
}

impl<T: Float> Body for Grad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.0.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, index, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let (own, others) = (reads.get::<i64>(2), reads.get::<i64>(3));
        assert_eq!(own.len(), others.len(), "sequences of the same rows");
        check(index, own, others)?;
        let piece = sequences_of_piece(own, out.len() + grad.len());
        sequences(&machine.team, out, own, width, piece, &|first, own, out| {
            out.fill(T::ZERO);
            let taken = others[first..].windows(2);
            for (ends, tokens) in own.windows(2).zip(taken) {
                let out = &mut out[(ends[0] - own[0]) as usize * width..];
                let range = tokens[0] as usize..tokens[1] as usize;
                let grads = grad[range.start * width..range.end * width].chunks_exact(width.max(1));
                for (&position, grad) in index[range].iter().zip(grads) {
                    let to = &mut out[position as usize * width..][..width];
                    to.iter_mut().zip(grad).for_each(|(sum, grad)| *sum += *grad);
                }
            }
        });
        Ok(())
    }
}
