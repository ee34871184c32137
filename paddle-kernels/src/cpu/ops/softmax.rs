//! `softmax` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, exp_negative};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::sum::sum;

/// The number of elements that stay in the first-level cache between the passes over them.
const PIECE: usize = 2048;

/// The number of whole rows that one thread takes at a time.
pub(super) fn rows_of_piece(classes: usize) -> usize {
    (PIECE / classes.max(1)).max(1)
}

struct Softmax<T> {
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for ops::Softmax {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let Some(&classes) = x.1.shape.last() else { return single.refuse("of a scalar") };
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Softmax::<T> { classes, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Float> Body for Softmax<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        assert_eq!(x.len(), out.len(), "a result of the same shape");
        let piece = rows_of_piece(classes) * classes;
        pieces(&machine.team, out, piece, &|index, out| {
            softmax(machine.isa, classes, &x[index * piece..][..out.len()], out);
        });
        Ok(())
    }
}

/// x - max x, row by row.
#[inline(always)]
pub(super) fn shift<T: Float>(classes: usize, x: &[T], out: &mut [T]) {
    for (x, out) in x.chunks_exact(classes).zip(out.chunks_exact_mut(classes)) {
        let top = largest(x);
        for (out, x) in out.iter_mut().zip(x) {
            *out = *x - top;
        }
    }
}

/// The largest element. NaN is ignored.
#[inline(always)]
pub(super) fn largest<T: Float>(x: &[T]) -> T {
    // Several comparisons are under way at a time.
    let (wide, rest) = x.split_at(x.len() / 64 * 64);
    let (narrow, rest) = rest.split_at(rest.len() / 16 * 16);
    let top = larger(largest_of_lanes::<T, 64>(wide), largest_of_lanes::<T, 16>(narrow));
    rest.iter().fold(top, |top, x| larger(top, *x))
}

#[inline(always)]
pub(super) fn larger<T: Float>(top: T, x: T) -> T {
    T::select(x > top, x, top)
}

/// The largest of elements of which there is a whole number of rounds of `N` lanes.
#[inline(always)]
fn largest_of_lanes<T: Float, const N: usize>(x: &[T]) -> T {
    let mut lanes = [T::of(f64::NEG_INFINITY); N];
    if x.is_empty() {
        return lanes[0];
    }
    for x in x.chunks_exact(N) {
        for (top, x) in lanes.iter_mut().zip(x) {
            *top = larger(*top, *x);
        }
    }
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = larger(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

dispatch! {
    wide if T::WIDE;
    fn softmax<const FUSED: bool, T: Float>(isa, classes: usize, x: &[T], out: &mut [T]) {
        softmax_rows::<FUSED, T>(isa, classes, x, out);
    }
}

/// The softmax of each row.
#[inline(always)]
pub(super) fn softmax_rows<const FUSED: bool, T: Float>(isa: Isa, classes: usize, x: &[T], out: &mut [T]) {
    shift(classes, x, out);
    out.iter_mut().for_each(|out| *out = exp_negative::<FUSED, T>(*out));
    for out in out.chunks_exact_mut(classes) {
        let factor = T::of(1.0) / sum(isa, out);
        out.iter_mut().for_each(|out| *out *= factor);
    }
}

struct SoftmaxGrad<T> {
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for ops::SoftmaxGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (softmax, grad, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        if softmax.1 != out.1 || grad.1 != out.1 {
            return single.refuse("of a gradient of another shape");
        }
        let Some(&classes) = out.1.shape.last() else { return single.refuse("of a scalar") };
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(SoftmaxGrad::<T> { classes, element: PhantomData }));
        Ok((single.signature([softmax, grad], [out]), body))
    }
}

impl<T: Float> Body for SoftmaxGrad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (softmax, grad, out) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let piece = rows_of_piece(classes) * classes;
        pieces(&machine.team, out, piece, &|index, out| {
            let range = index * piece..index * piece + out.len();
            softmax_grad(machine.isa, classes, &softmax[range.clone()], &grad[range], out);
        });
        Ok(())
    }
}

dispatch! {
    wide if T::WIDE;
    fn softmax_grad<const FUSED: bool, T: Float>(
        isa, classes: usize, softmax: &[T], grad: &[T], out: &mut [T],
    ) {
        let rows = softmax.chunks_exact(classes).zip(grad.chunks_exact(classes));
        for ((softmax, grad), out) in rows.zip(out.chunks_exact_mut(classes)) {
            for ((out, softmax), grad) in out.iter_mut().zip(softmax).zip(grad) {
                *out = *softmax * *grad;
            }
            let mean = sum(isa, out);
            for ((out, softmax), grad) in out.iter_mut().zip(softmax).zip(grad) {
                *out = *softmax * (*grad - mean);
            }
        }
    }
}
