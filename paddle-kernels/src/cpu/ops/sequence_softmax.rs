//! `sequence_softmax`. Threads share the sequences; each sequence is computed by one thread.

use std::marker::PhantomData;

use paddle_core::ops::SequenceSoftmax;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::sequence_expand_as::repeat;
use super::softmax::softmax_rows;
use crate::cpu::along_axis::product;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, exp_negative};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};
use crate::cpu::sum::{LANES, sum_columns, sum_rows};

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
    wide if T::WIDE;
    fn sequence_softmax<const FUSED: bool, T: Float>(
        isa, width: usize, offsets: &[i64], x: &[T], out: &mut [T],
    ) {
        for ends in offsets.windows(2) {
            let range = (ends[0] - offsets[0]) as usize * width..(ends[1] - offsets[0]) as usize * width;
            let (x, out) = (&x[range.clone()], &mut out[range]);
            match width {
                _ if x.is_empty() => {}
                // The elements of a sequence are neighbours.
                1 => softmax_rows::<FUSED, T>(isa, x.len(), x, out),
                _ => columns::<FUSED, T>(isa, width, x, out),
            }
        }
    }
}

/// The softmax of each column.
#[inline(always)]
fn columns<const FUSED: bool, T: Float>(isa: Isa, width: usize, x: &[T], out: &mut [T]) {
    if width <= LANES / 2 {
        return narrow::<FUSED, T>(isa, width, x, out);
    }
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
                *out = exp_negative::<FUSED, T>(*x - *top);
            }
        }
        let mut factors = sum_rows(isa, out, width, count, columns);
        factors.iter_mut().for_each(|sum| *sum = T::of(1.0) / *sum);
        for out in out.chunks_mut(width) {
            out[..columns].iter_mut().zip(&factors).for_each(|(out, factor)| *out *= *factor);
        }
    }
}

/// The softmax of each of a few columns. A round of lanes has those of several tokens, side by side.
#[inline(always)]
fn narrow<const FUSED: bool, T: Float>(isa: Isa, width: usize, x: &[T], out: &mut [T]) {
    let round = LANES / width * width;
    let mut lanes = [T::of(f64::NEG_INFINITY); LANES];
    for x in x.chunks(round) {
        for (top, x) in lanes.iter_mut().zip(x) {
            *top = T::select(*x > *top, *x, *top);
        }
    }
    let (top, others) = lanes[..round].split_at_mut(width);
    for others in others.chunks_exact(width) {
        top.iter_mut().zip(others).for_each(|(top, x)| *top = T::select(*x > *top, *x, *top));
    }
    repeat(&*top, others);
    for (out, x) in out.chunks_mut(round).zip(x.chunks(round)) {
        for ((out, x), top) in out.iter_mut().zip(x).zip(&lanes) {
            *out = *x - *top;
        }
    }
    out.iter_mut().for_each(|out| *out = exp_negative::<FUSED, T>(*out));
    lanes = sum_columns(isa, out, width);
    let (factors, others) = lanes[..round].split_at_mut(width);
    factors.iter_mut().for_each(|sum| *sum = T::of(1.0) / *sum);
    repeat(&*factors, others);
    for out in out.chunks_mut(round) {
        out.iter_mut().zip(&lanes).for_each(|(out, factor)| *out *= *factor);
    }
}
