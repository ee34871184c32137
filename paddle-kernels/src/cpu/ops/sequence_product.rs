//! `sequence_product`, `sequence_weigh` and `sequence_spread`: products of tokens, pair by pair. Threads share the
//! tokens that they write.

use std::marker::PhantomData;

use paddle_core::ops::{SequenceProduct, SequenceSpread, SequenceWeigh};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{Shared, sequences, sequences_of_piece, share};
use crate::cpu::sum::dot;
use crate::messages::no_such_token;

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

/// The pairs of tokens.
struct Pairs<'a> {
    /// The offsets of the sequences of `X` and of `Y`.
    x: &'a [i64],
    y: &'a [i64],
    /// The offsets of the pairs of each token of `X`.
    ends: &'a [i64],
    /// The positions of tokens of `Y`.
    index: &'a [i64],
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

impl Pairs<'_> {
    /// Checks that each position is that of a token.
    fn check(&self) -> Result<(), KernelError> {
        for (row, (x, y)) in self.x.windows(2).zip(self.y.windows(2)).enumerate() {
            let length = y[1] - y[0];
            let of_row = self.ends[x[0] as usize] as usize..self.ends[x[1] as usize] as usize;
            if let Some(&at) = self.index[of_row].iter().find(|at| !(0..length).contains(*at)) {
                return Err(no_such_token(at, row, length));
            }
        }
        Ok(())
    }

    /// The row of a token of `X`.
    fn row_of(&self, token: usize) -> usize {
        self.x.partition_point(|&start| start <= token as i64) - 1
    }
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
        let pairs = Pairs { x, y, ends, index };
        pairs.check()?;
        let (isa, team, work) = (machine.isa, &machine.team, index.len() * lead * width);
        match self.form {
            Form::Product => {
                let piece = sequences_of_piece(ends, work);
                sequences(team, out, ends, lead, piece, &|token, ends, out| {
                    products(isa, &pairs, (token, ends.len() - 1), [lead, width], first, second, out);
                });
            }
            Form::Weigh => {
                let piece = sequences_of_piece(ends, work);
                let shared = (Shared::of_sequences(out, lead * width), Shared::nothing(), Shared::nothing());
                share(team, ends, piece, shared, &|piece| {
                    let tokens = (piece.first, piece.offsets.len() - 1);
                    sums(isa, &pairs, tokens, [lead, width], first, second, piece.a);
                });
            }
            Form::Spread => {
                let piece = sequences_of_piece(y, work);
                sequences(team, out, y, lead * width, piece, &|row, y, out| {
                    spread(isa, &pairs, (row, y.len() - 1), [lead, width], first, second, out);
                });
            }
        }
        Ok(())
    }
}

dispatch! {
    /// The products of some tokens of `X`, from `first` on, with the tokens of `Y` in their pairs.
    fn products<const FUSED: bool, T: Float>(
        isa, pairs: &Pairs<'_>, tokens: (usize, usize), shape: [usize; 2], x: &[T], y: &[T], out: &mut [T],
    ) {
        let ((first, count), [lead, width]) = (tokens, shape);
        let (mut row, begin) = (pairs.row_of(first), pairs.ends[first] as usize);
        for token in first..first + count {
            while pairs.x[row + 1] as usize <= token {
                row += 1;
            }
            let y = &y[pairs.y[row] as usize * lead * width..];
            for pair in pairs.ends[token] as usize..pairs.ends[token + 1] as usize {
                let other = pairs.index[pair] as usize;
                for at in 0..lead {
                    let x = &x[(token * lead + at) * width..][..width];
                    let y = &y[(other * lead + at) * width..][..width];
                    out[(pair - begin) * lead + at] = dot(x, y);
                }
            }
        }
    }
}

dispatch! {
    /// For some tokens of `X`, from `first` on, the weighted sums of the tokens of `Y` in their pairs.
    fn sums<const FUSED: bool, T: Float>(
        isa, pairs: &Pairs<'_>, tokens: (usize, usize), shape: [usize; 2], w: &[T], y: &[T], out: &mut [T],
    ) {
        let ((first, count), [lead, width]) = (tokens, shape);
        out.fill(T::ZERO);
        if count == 0 {
            return;
        }
        let mut row = pairs.row_of(first);
        for token in first..first + count {
            while pairs.x[row + 1] as usize <= token {
                row += 1;
            }
            let y = &y[pairs.y[row] as usize * lead * width..];
            let out = &mut out[(token - first) * lead * width..][..lead * width];
            for pair in pairs.ends[token] as usize..pairs.ends[token + 1] as usize {
                let other = pairs.index[pair] as usize;
                for at in 0..lead {
                    let y = &y[(other * lead + at) * width..][..width];
                    add(w[pair * lead + at], y, &mut out[at * width..][..width]);
                }
            }
        }
    }
}

dispatch! {
    /// For the tokens of `Y` in some rows, from `first` on, the weighted sums of the tokens of `X` in their pairs.
    fn spread<const FUSED: bool, T: Float>(
        isa, pairs: &Pairs<'_>, rows: (usize, usize), shape: [usize; 2], w: &[T], x: &[T], out: &mut [T],
    ) {
        let ((first, count), [lead, width]) = (rows, shape);
        out.fill(T::ZERO);
        for row in first..first + count {
            let start = (pairs.y[row] - pairs.y[first]) as usize;
            let out = &mut out[start * lead * width..];
            for token in pairs.x[row] as usize..pairs.x[row + 1] as usize {
                for pair in pairs.ends[token] as usize..pairs.ends[token + 1] as usize {
                    let other = pairs.index[pair] as usize;
                    for at in 0..lead {
                        let x = &x[(token * lead + at) * width..][..width];
                        add(w[pair * lead + at], x, &mut out[(other * lead + at) * width..][..width]);
                    }
                }
            }
        }
    }
}

/// `out += weight · x`
#[inline(always)]
fn add<T: Float>(weight: T, x: &[T], out: &mut [T]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += weight * *x;
    }
}
