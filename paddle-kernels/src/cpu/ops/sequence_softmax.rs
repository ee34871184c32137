//! `sequence_softmax`. Threads share the sequences; each sequence is computed by one thread.

use std::marker::PhantomData;

use paddle_core::ops::SequenceSoftmax;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::softmax::softmax_rows;
use crate::cpu::along_axis::product;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, exp};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};
use crate::cpu::sum::{LANES, sum_rows};

struct Softmax<T> {
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceSoftmax {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let dims = dims.to_vec();
        let body: Box<dyn Body> =
            with_float!(single, x.1.dtype, T => Box::new(Softmax::<T> { dims, element: PhantomData }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Float> Body for Softmax<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        assert_eq!(x.len(), out.len(), "a result for each token");
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, width, piece, &|_, offsets, out| {
            let x = &x[offsets[0] as usize * width..][..out.len()];
            sequence_softmax(machine.isa, width, offsets, x, out);
        });
        Ok(())
    }
}

dispatch! {
    fn sequence_softmax<const FUSED: bool, T: Float>(
        isa, width: usize, offsets: &[i64], x: &[T], out: &mut [T],
    ) {
        for ends in offsets.windows(2) {
            let range = (ends[0] - offsets[0]) as usize * width..(ends[1] - offsets[0]) as usize * width;
            let (x, out) = (&x[range.clone()], &mut out[range]);
            match width {
                _ if x.is_empty() => {}
                // The elements of a sequence are neighbours.
                1 => softmax_rows::<FUSED, T>(x.len(), x, out),
                _ => columns::<FUSED, T>(width, x, out),
            }
        }
    }
}

/// The softmax of each column.
#[inline(always)]
fn columns<const FUSED: bool, T: Float>(width: usize, x: &[T], out: &mut [T]) {
    let count = x.len() / width;
    for column in (0..width).step_by(LANES) {
        let columns = LANES.min(width - column);
        let (x, out) = (&x[column..], &mut out[column..]);
        let mut top = [T::of(f64::NEG_INFINITY); LANES];
        for x in x.chunks(width) {
            for (top, x) in top.iter_mut().zip(&x[..columns]) {
                *top = T::select(*x > *top, *x, *top);
            }
        }
        for (out, x) in out.chunks_mut(width).zip(x.chunks(width)) {
            for ((out, x), top) in out.iter_mut().zip(&x[..columns]).zip(&top) {
                *out = exp::<FUSED, T>(*x - *top);
            }
        }
        let sums = sum_rows(out, width, count, columns);
        for out in out.chunks_mut(width) {
            out[..columns].iter_mut().zip(&sums).for_each(|(out, sum)| *out /= *sum);
        }
    }
}
