//! `sequence_window` and its gradient. Threads share the sequences.

use std::marker::PhantomData;
use std::ops::Range;

use paddle_core::ops::{Number, SequenceWindow, SequenceWindowGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_float};
use crate::cpu::number::{Constant, Float};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};

/// The position of windows: that of token `t` starts at token `t + start`.
#[derive(Clone, Copy)]
struct Place {
    start: i64,
    length: usize,
}

impl Place {
    /// The places of the window of token `t` that have a token, in a sequence of `tokens` tokens.
    #[inline(always)]
    fn inside(self, t: usize, tokens: usize) -> Range<usize> {
        let first = (t as i64).saturating_add(self.start);
        let place = |token: i64| token.saturating_sub(first).clamp(0, self.length as i64) as usize;
        place(0)..place(tokens as i64)
    }

    /// The token at place `j` of the window of token `t`. There has to be one.
    #[inline(always)]
    fn token(self, t: usize, j: usize) -> usize {
        (t as i64 + self.start + j as i64) as usize
    }
}

struct Window<T> {
    place: Place,
    pad: T,
    dims: Vec<Extent>,
}

impl Compile for SequenceWindow {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let (place, dims) = (Place { start: self.start, length: self.length as usize }, dims.to_vec());
        let pad = Number::Float(self.pad_value);
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Window::<T> { place, pad: T::constant(pad), dims }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Constant> Body for Window<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let window = self.place.length * width;
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, window, piece, &|_, offsets, out| {
            let mut windows = out.chunks_exact_mut(window.max(1));
            for ends in offsets.windows(2) {
                let x = &x[ends[0] as usize * width..ends[1] as usize * width];
                let tokens = (ends[1] - ends[0]) as usize;
                for (t, out) in windows.by_ref().take(tokens).enumerate() {
                    copy(self.place, width, self.pad, x, (t, tokens), out);
                }
            }
        });
        Ok(())
    }
}

/// Copies the window of token `t`. Its tokens are neighbours in memory.
#[inline(always)]
fn copy<T: Copy>(place: Place, width: usize, pad: T, x: &[T], (t, tokens): (usize, usize), out: &mut [T]) {
    let inside = place.inside(t, tokens);
    out[..inside.start * width].fill(pad);
    out[inside.end * width..].fill(pad);
    if !inside.is_empty() {
        let first = place.token(t, inside.start) * width;
        let out = &mut out[inside.start * width..inside.end * width];
        out.copy_from_slice(&x[first..][..out.len()]);
    }
}

struct Grad<T> {
    place: Place,
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceWindowGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (grad, offsets, out) = (single.input(1)?, single.input(2)?, single.output(0)?);
        let [_, dims @ ..] = &out.1.shape[..] else { return single.refuse("of a scalar") };
        let (place, dims) = (Place { start: self.start, length: self.length as usize }, dims.to_vec());
        let body: Box<dyn Body> =
            with_float!(single, out.1.dtype, T => Box::new(Grad::<T> { place, dims, element: PhantomData }));
        Ok((single.signature([grad, offsets], [out]), body))
    }
}

impl<T: Float> Body for Grad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (grad, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        let window = self.place.length * width;
        let piece = sequences_of_piece(offsets, grad.len());
        sequences(&machine.team, out, offsets, width, piece, &|_, offsets, out| {
            let grad = &grad[offsets[0] as usize * window..][..out.len() * self.place.length];
            window_grad(machine.isa, self.place, width, offsets, grad, out);
        });
        Ok(())
    }
}

dispatch! {
    fn window_grad<const FUSED: bool, T: Float>(
        isa, place: Place, width: usize, offsets: &[i64], grad: &[T], out: &mut [T],
    ) {
        out.fill(T::ZERO);
        let window = place.length * width;
        for ends in offsets.windows(2) {
            let [first, end] = [ends[0], ends[1]].map(|end| (end - offsets[0]) as usize);
            let (grad, out) = (&grad[first * window..end * window], &mut out[first * width..end * width]);
            for t in 0..end - first {
                let inside = place.inside(t, end - first);
                if inside.is_empty() {
                    continue;
                }
                let terms = &grad[t * window..][inside.start * width..inside.end * width];
                let out = &mut out[place.token(t, inside.start) * width..][..terms.len()];
                out.iter_mut().zip(terms).for_each(|(out, term)| *out += *term);
            }
        }
    }
}
