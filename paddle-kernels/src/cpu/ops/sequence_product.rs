//! `sequence_product`, `sequence_weigh` and `sequence_spread`: products of tokens, pair by pair. Threads share the
//! tokens that they write, and the pairs.

use std::marker::PhantomData;

use paddle_core::ops::{SequenceProduct, SequenceSpread, SequenceWeigh};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{Shared, sequences, sequences_of_piece, share};

use blocks::{Shape, products, spread, sums};
use pairs::Pairs;

pub(super) mod blocks;
pub(super) mod pairs;

/// The number of tokens whose products or sums one thread computes at a time.
const TOKENS: usize = 64;

/// The operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Writes a number for each pair.
    Product,
    /// Writes a sum for each token of `X`.
    Weigh,
    /// Writes a sum for each token of `Y`.
    Spread,
}

struct Pairwise<T> {
    form: Form,
    /// The dimensions of a token.
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceProduct {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Form::Product)
    }
}

impl Compile for SequenceWeigh {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Form::Weigh)
    }
}

impl Compile for SequenceSpread {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Form::Spread)
    }
}

fn compile(single: &Single<'_>, form: Form) -> Result<Compiled, Unsupported> {
    let (first, second, index, out) =
        (single.input(0)?, single.input(1)?, single.input(2)?, single.output(0)?);
    // Behind the inputs come the offsets of `X`, of `Y` and of the pairs, in the order of the inputs.
    let [x, y, pairs] = match form {
        Form::Product => [3, 4, 5],
        Form::Weigh => [6, 4, 5],
        Form::Spread => [4, 6, 5],
    };
    let [x, y, pairs] = [single.input(x)?, single.input(y)?, single.input(pairs)?];
    let [_, dims @ ..] = &second.1.shape[..] else { return single.refuse("of a scalar") };
    let (dims, dtype) = (dims.to_vec(), second.1.dtype);
    let operands = [first, second, index, x, y, pairs];
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(Pairwise::<T> { form, dims, element: PhantomData }));
    Ok((single.signature(operands, [out]), body))
}

impl<T: Float> Body for Pairwise<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let dims = &self.dims[..];
        let (lead, last) = dims.split_at(dims.len() - 1);
        let (lead, width) = (product(lead, operands.sizes()), product(last, operands.sizes()));
        let (reads, writes) = operands.split();
        let (first, second, out) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let (index, x, y, ends) =
            (reads.get::<i64>(2), reads.get::<i64>(3), reads.get::<i64>(4), reads.get::<i64>(5));
        let pairs = Pairs { isa: machine.isa, x, y, ends, index };
        pairs.check()?;
        let (team, shape) = (&machine.team, Shape { lead, width });
        match self.form {
            Form::Product => sequences(team, out, ends, lead, TOKENS, &|token, ends, out| {
                products(&pairs, token..token + ends.len() - 1, shape, [first, second], out);
            }),
            Form::Weigh => {
                let out = (Shared::of_sequences(out, shape.size()), Shared::nothing(), Shared::nothing());
                share(team, ends, TOKENS, out, &|piece| {
                    let tokens = piece.first..piece.first + piece.offsets.len() - 1;
                    sums(&pairs, tokens, shape, [first, second], piece.a);
                });
            }
            Form::Spread => {
                let piece = sequences_of_piece(y, index.len() * lead * width);
                sequences(team, out, y, shape.size(), piece, &|row, of_piece, mut out| {
                    for (row, ends) in (row..).zip(of_piece.windows(2)) {
                        let tokens = x[row] as usize..x[row + 1] as usize;
                        let (of_row, rest) = out.split_at_mut((ends[1] - ends[0]) as usize * shape.size());
                        spread(&pairs, tokens, shape, [first, second], of_row);
                        out = rest;
                    }
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
