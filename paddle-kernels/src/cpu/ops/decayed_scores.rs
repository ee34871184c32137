//! `decayed_scores`. Threads share the classes of all rows; each class is computed by one thread.

use std::marker::PhantomData;

use paddle_core::ops::{DecayedScores, Real};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::candidates::candidates;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pairs;
use crate::cpu::scratch::Scratch;

/// The number of scores that one thread looks at a time.
const PIECE: usize = 1 << 12;

/// A box that is considered, and its largest overlap with those before it.
type Candidate<T> = (u32, T);

struct Decay<T> {
    op: DecayedScores,
    classes: Extent,
    boxes: Extent,
    candidates: Scratch<Candidate<T>>,
    element: PhantomData<T>,
}

impl Compile for DecayedScores {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (boxes, scores, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let &[.., classes, count] = &scores.1.shape[..] else { return single.refuse("of such scores") };
        let body: Box<dyn Body> = with_float!(single, boxes.1.dtype, T => Box::new(Decay::<T> {
            op: *self,
            classes,
            boxes: count,
            candidates: Scratch::default(),
            element: PhantomData,
        }));
        Ok((single.signature([boxes, scores], [out]), body))
    }
}

impl<T: Float + Default> Body for Decay<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [classes, count] = [self.classes, self.boxes].map(|extent| extent.get(operands.sizes()));
        let (reads, writes) = operands.split();
        let (boxes, scores) = (reads.get::<T>(0), reads.get::<T>(1));
        let out = writes.one::<T>();
        if count == 0 {
            return Ok(());
        }
        let piece = (PIECE / count).max(1) * count;
        self.candidates.lend(scores.len(), |rooms| {
            pairs(&machine.team, (out, piece), (rooms, piece), &|index, out, rooms| {
                let lines = out.chunks_exact_mut(count).zip(rooms.chunks_exact_mut(count));
                for (k, (out, room)) in lines.enumerate() {
                    let line = index * (piece / count) + k;
                    let scores = &scores[line * count..][..count];
                    let boxes = &boxes[line / classes * count * 4..][..count * 4];
                    let (threshold, limit) = (T::of(self.op.score_threshold), self.op.candidates);
                    let of = |number| (number, T::of(0.0));
                    let chosen = candidates(scores, threshold, limit, room, of, |&(number, _)| number);
                    decay(machine.isa, &self.op, boxes, scores, chosen, out);
                }
            });
        })?;
        Ok(())
    }
}

dispatch! {
    fn decay<const FUSED: bool, T: Float>(
        isa, op: &DecayedScores, boxes: &[T], scores: &[T], candidates: &mut [Candidate<T>], out: &mut [T],
    ) {
        let corners = |number: u32| {
            let corner = |at: usize| boxes[number as usize * 4 + at].fast::<FUSED>();
            [corner(0), corner(1), corner(2), corner(3)]
        };
        out.fill(T::of(op.least));
        for k in 0..candidates.len() {
            let (before, rest) = candidates.split_at_mut(k);
            let (number, largest) = &mut rest[0];
            let own = corners(*number);
            let mut most = largest.fast::<FUSED>();
            let mut factor = <T::Fast<FUSED> as Real>::of(1.0);
            for &(other, of_other) in before.iter() {
                let overlap = op.overlap(own, corners(other));
                most = overlap.max(most);
                factor = op.factor(overlap, of_other.fast::<FUSED>()).min(factor);
            }
            *largest = T::plain(most);
            let score = T::plain(factor) * scores[*number as usize];
            let least = T::of(op.least);
            out[*number as usize] = if score > least { score } else { least };
        }
    }
}
