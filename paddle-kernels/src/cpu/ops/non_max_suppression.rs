//! `non_max_suppression`. Threads share the classes of all rows; each class is computed by one thread.

use std::marker::PhantomData;

use paddle_core::ops::NonMaxSuppression;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::candidates::candidates;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pairs;
use crate::cpu::scratch::Scratch;

/// The number of scores that one thread looks at a time.
const PIECE: usize = 1 << 12;

struct Suppression<T> {
    op: NonMaxSuppression,
    classes: Extent,
    boxes: Extent,
    places: Extent,
    /// The numbers of the boxes that are considered.
    candidates: Scratch<u32>,
    element: PhantomData<T>,
}

impl Compile for NonMaxSuppression {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (boxes, scores, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let (&[.., classes, count], &[.., places]) = (&scores.1.shape[..], &out.1.shape[..]) else {
            return single.refuse("of such scores");
        };
        let body: Box<dyn Body> = with_float!(single, boxes.1.dtype, T => Box::new(Suppression::<T> {
            op: *self,
            classes,
            boxes: count,
            places,
            candidates: Scratch::default(),
            element: PhantomData,
        }));
        Ok((single.signature([boxes, scores], [out]), body))
    }
}

impl<T: Float> Body for Suppression<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [classes, count, places] =
            [self.classes, self.boxes, self.places].map(|extent| extent.get(operands.sizes()));
        let (reads, writes) = operands.split();
        let (boxes, scores) = (reads.get::<T>(0), reads.get::<T>(1));
        let out = writes.one::<i64>();
        if count == 0 {
            out.fill(-1);
            return Ok(());
        }
        let lines = (PIECE / count).max(1);
        self.candidates.lend(scores.len(), |rooms| {
            pairs(&machine.team, (out, lines * places), (rooms, lines * count), &|index, out, rooms| {
                for (k, room) in rooms.chunks_exact_mut(count).enumerate() {
                    let line = index * lines + k;
                    let scores = &scores[line * count..][..count];
                    let boxes = &boxes[line / classes * count * 4..][..count * 4];
                    let (threshold, limit) = (T::of(self.op.score_threshold), self.op.candidates);
                    let chosen =
                        candidates(scores, threshold, limit, room, |number| number, |&number| number);
                    let kept = keep(&self.op, boxes, chosen, &mut out[k * places..][..places]);
                    out[k * places..][kept..places].fill(-1);
                }
            });
        })?;
        Ok(())
    }
}

/// Writes the numbers of the candidates that are kept, and returns how many there are.
fn keep<T: Float>(op: &NonMaxSuppression, boxes: &[T], candidates: &[u32], out: &mut [i64]) -> usize {
    let corners = |number: usize| [0, 1, 2, 3].map(|corner| boxes[number * 4 + corner]);
    let (mut kept, mut threshold) = (0, T::of(op.overlap_threshold));
    for &number in candidates {
        if kept == out.len() {
            break;
        }
        let candidate = corners(number as usize);
        let is_kept =
            !out[..kept].iter().any(|&other| op.overlaps(candidate, corners(other as usize), threshold));
        if is_kept {
            out[kept] = number.into();
            kept += 1;
            threshold = op.next_threshold(threshold);
        }
    }
    kept
}
