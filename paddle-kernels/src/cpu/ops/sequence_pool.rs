//! `sequence_pool` and its gradient. Threads share the sequences; each sequence is computed by one thread.

use paddle_core::ops::{PoolType, SequencePool, SequencePoolGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};
use crate::cpu::sum::{LANES, sum_columns, sum_rows};

struct Pool<T> {
    pooltype: PoolType,
    /// The value for a sequence without tokens.
    pad: T,
    dims: Vec<Extent>,
}

impl Compile for SequencePool {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let (dims, pooltype) = (dims.to_vec(), self.pooltype);
        let body: Box<dyn Body> =
            with_float!(single, x.1.dtype, T => Box::new(Pool { pooltype, pad: self.pad_value as T, dims }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Float> Body for Pool<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let fits = out.len() == (offsets.len() - 1) * width
            && offsets[offsets.len() - 1] as usize * width == x.len();
        assert!(fits, "a row for each sequence");
        if width > 0 {
            let piece = sequences_of_piece(offsets, x.len());
            pieces(&machine.team, out, piece * width, &|index, out| {
                let offsets = &offsets[index * piece..][..=out.len() / width];
                pool(machine.isa, self.pooltype, self.pad, width, offsets, x, out);
            });
        }
        Ok(())
    }
}

dispatch! {
    fn pool<const FUSED: bool, T: Float>(
        isa, pooltype: PoolType, pad: T, width: usize, offsets: &[i64], x: &[T], out: &mut [T],
    ) {
        for (ends, out) in offsets.windows(2).zip(out.chunks_exact_mut(width)) {
            let tokens = &x[ends[0] as usize * width..ends[1] as usize * width];
            let count = (ends[1] - ends[0]) as usize;
            if count == 0 {
                out.fill(pad);
                continue;
            }
            for (block, out) in out.chunks_mut(LANES).enumerate() {
                let column = block * LANES;
                match pooltype {
                    PoolType::First => out.copy_from_slice(&tokens[column..][..out.len()]),
                    PoolType::Last => {
                        out.copy_from_slice(&tokens[(count - 1) * width + column..][..out.len()]);
                    }
                    PoolType::Max => {
                        let (max, _) = maxima(&tokens[column..], width, out.len());
                        out.copy_from_slice(&max[..out.len()]);
                    }
                    PoolType::Sum | PoolType::Average | PoolType::Sqrt => {
                        let sums = match width <= LANES / 2 {
                            true => sum_columns(isa, tokens, width),
                            false => sum_rows(isa, &tokens[column..], width, count, out.len()),
                        };
                        out.copy_from_slice(&sums[..out.len()]);
                        let divisor = divisor(pooltype, count);
                        if divisor != T::of(1.0) {
                            out.iter_mut().for_each(|sum| *sum /= divisor);
                        }
                    }
                }
            }
        }
    }
}

/// The divisor of a sum over `count` tokens.
#[inline(always)]
fn divisor<T: Float>(pooltype: PoolType, count: usize) -> T {
    T::of(match pooltype {
        PoolType::Average => count as f64,
        PoolType::Sqrt => (count as f64).sqrt(),
        PoolType::Sum | PoolType::Max | PoolType::First | PoolType::Last => 1.0,
    })
}

/// The largest element of each of at most [`LANES`] columns, and the first token that has it. NaN counts as larger than
/// any number.
#[inline(always)]
fn maxima<T: Float>(tokens: &[T], width: usize, columns: usize) -> ([T; LANES], [usize; LANES]) {
    let (mut max, mut at) = ([T::ZERO; LANES], [0; LANES]);
    max[..columns].copy_from_slice(&tokens[..columns]);
    for (token, row) in tokens.chunks(width).enumerate().skip(1) {
        for ((max, at), x) in max.iter_mut().zip(&mut at).zip(&row[..columns]) {
            #[expect(clippy::eq_op, reason = "only what is no number differs from itself")]
            let larger = *x > *max || (*x != *x && *max == *max);
            if larger {
                (*max, *at) = (*x, token);
            }
        }
    }
    (max, at)
}

struct Grad {
    pooltype: PoolType,
    dims: Vec<Extent>,
}

struct Typed<T>(Grad, std::marker::PhantomData<T>);

impl Compile for SequencePoolGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, grad, offsets, out) =
            (single.input(0)?, single.input(1)?, single.input(2)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let kernel = Grad { pooltype: self.pooltype, dims: dims.to_vec() };
        let body: Box<dyn Body> =
            with_float!(single, x.1.dtype, T => Box::new(Typed::<T>(kernel, std::marker::PhantomData)));
        let signature = match self.pooltype {
            PoolType::Max => single.signature([grad, offsets, x], [out]),
            _ => single.signature([grad, offsets], [out]),
        };
        Ok((signature, body))
    }
}

impl<T: Float> Body for Typed<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let Grad { pooltype, dims } = &self.0;
        let width = product(dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let x = if *pooltype == PoolType::Max { reads.get::<T>(2) } else { &[] };
        assert_eq!(grad.len(), (offsets.len() - 1) * width, "a gradient for each sequence");
        if width > 0 {
            let piece = sequences_of_piece(offsets, out.len());
            sequences(&machine.team, out, offsets, width, piece, &|first, offsets, out| {
                let grad = &grad[first * width..];
                let x = if x.is_empty() { x } else { &x[offsets[0] as usize * width..] };
                pool_grad(machine.isa, *pooltype, width, offsets, x, grad, out);
            });
        }
        Ok(())
    }
}

dispatch! {
    fn pool_grad<const FUSED: bool, T: Float>(
        isa, pooltype: PoolType, width: usize, offsets: &[i64], x: &[T], grad: &[T], out: &mut [T],
    ) {
        for (ends, grad) in offsets.windows(2).zip(grad.chunks_exact(width)) {
            let range = (ends[0] - offsets[0]) as usize * width..(ends[1] - offsets[0]) as usize * width;
            let count = (ends[1] - ends[0]) as usize;
            let out = &mut out[range.clone()];
            match pooltype {
                PoolType::Sum | PoolType::Average | PoolType::Sqrt => {
                    let divisor = divisor::<T>(pooltype, count);
                    for out in out.chunks_exact_mut(width) {
                        for (out, grad) in out.iter_mut().zip(grad) {
                            *out = *grad / divisor;
                        }
                    }
                }
                PoolType::First | PoolType::Last | PoolType::Max if count == 0 => {}
                PoolType::First | PoolType::Last => {
                    out.fill(T::ZERO);
                    let token = if pooltype == PoolType::First { 0 } else { count - 1 };
                    out[token * width..][..width].copy_from_slice(grad);
                }
                PoolType::Max => {
                    out.fill(T::ZERO);
                    let tokens = &x[range];
                    for (block, grad) in grad.chunks(LANES).enumerate() {
                        let column = block * LANES;
                        let (_, at) = maxima(&tokens[column..], width, grad.len());
                        for ((lane, grad), token) in grad.iter().enumerate().zip(at) {
                            out[token * width + column + lane] = *grad;
                        }
                    }
                }
            }
        }
    }
}
