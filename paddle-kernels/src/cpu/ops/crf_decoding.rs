//! `crf_decoding`: Viterbi's algorithm, in double precision. Threads share the sequences; each sequence is computed by
//! one thread.

use std::marker::PhantomData;

use paddle_core::ops::CrfDecoding;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;
use crate::cpu::sequence_pieces::{Piece, Shared, sequences_of_piece, share};

struct Decoding<T> {
    labels: Extent,
    /// The transitions.
    weights: Scratch<f64>,
    /// The score of the best labels up to each token, for each label of that token.
    scores: Scratch<f64>,
    element: PhantomData<T>,
}

impl Compile for CrfDecoding {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (emission, transition, offsets) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let &[_, labels] = &transition.1.shape[..] else { return single.refuse("of such transitions") };
        let body: Box<dyn Body> = with_float!(single, emission.1.dtype, T => Box::new(Decoding::<T> {
            labels,
            weights: Scratch::default(),
            scores: Scratch::default(),
            element: PhantomData,
        }));
        Ok((single.signature([emission, transition, offsets], [single.output(0)?]), body))
    }
}

impl<T: Float> Body for Decoding<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let labels = self.labels.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (emission, transition, offsets) = (reads.get::<T>(0), reads.get::<T>(1), reads.get::<i64>(2));
        let path = writes.one::<i64>();
        // Each label of a token takes work for all transitions to it.
        let piece = sequences_of_piece(offsets, emission.len().saturating_mul(labels));
        self.weights.lend(transition.len(), |weights| {
            weights.iter_mut().zip(transition).for_each(|(to, from)| *to = from.double());
            let weights = &*weights;
            self.scores.lend(emission.len(), |scores| {
                let shared =
                    (Shared::of_tokens(scores, labels), Shared::of_tokens(path, 1), Shared::nothing());
                share(&machine.team, offsets, piece, shared, &|piece| {
                    decode(machine.isa, labels, weights, emission, piece);
                });
            })
        })??;
        Ok(())
    }
}

dispatch! {
    fn decode<const FUSED: bool, T: Float>(
        isa, labels: usize, transition: &[f64], emission: &[T], piece: Piece<'_, f64, i64, u8>,
    ) {
        let Piece { offsets, a: scores, b: path, .. } = piece;
        let (start, rest) = transition.split_at(labels);
        let (stop, weights) = rest.split_at(labels);
        for ends in offsets.windows(2) {
            let emission = &emission[ends[0] as usize * labels..ends[1] as usize * labels];
            let tokens = (ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize;
            let scores = &mut scores[tokens.start * labels..tokens.end * labels];
            score(start, weights, emission, scores);
            trace(stop, weights, scores, &mut path[tokens]);
        }
    }
}

/// The score of the best labels up to each token of a sequence, for each label of that token.
#[inline(always)]
fn score<T: Float>(start: &[f64], weights: &[f64], emission: &[T], scores: &mut [f64]) {
    let labels = start.len();
    for (t, emission) in emission.chunks_exact(labels).enumerate() {
        let (before, now) = scores.split_at_mut(t * labels);
        let now = &mut now[..labels];
        match before.len().checked_sub(labels) {
            None => now.copy_from_slice(start),
            Some(last) => {
                now.fill(f64::NEG_INFINITY);
                for (before, weights) in before[last..].iter().zip(weights.chunks_exact(labels)) {
                    for (now, weight) in now.iter_mut().zip(weights) {
                        let score = *before + *weight;
                        *now = if score > *now { score } else { *now };
                    }
                }
            }
        }
        now.iter_mut().zip(emission).for_each(|(now, emission)| *now += emission.double());
    }
}

/// The labels of a sequence, from the last token on.
#[inline(always)]
fn trace(stop: &[f64], weights: &[f64], scores: &[f64], path: &mut [i64]) {
    let labels = stop.len();
    let mut behind: Option<usize> = None;
    for (scores, out) in scores.chunks_exact(labels).zip(path).rev() {
        let best = match behind {
            None => first_largest(scores.iter().zip(stop).map(|(score, stop)| score + stop)),
            Some(to) => {
                let weights = weights[to..].iter().step_by(labels);
                first_largest(scores.iter().zip(weights).map(|(score, weight)| score + weight))
            }
        };
        *out = best as i64;
        behind = Some(best);
    }
}

/// The position of the first of the largest numbers.
#[inline(always)]
fn first_largest(x: impl Iterator<Item = f64>) -> usize {
    let mut found = x.enumerate();
    let Some(mut best) = found.next() else { return 0 };
    for found in found {
        best = if found.1 > best.1 { found } else { best };
    }
    best.0
}
