//! `non_max_suppression`: a workgroup for each class of each row. Its threads look for the next candidate together, and one of
//! them compares it with the boxes that are kept.

use paddle_core::ops::{NonMaxSuppression, Real};
use paddle_core::plan::Unsupported;
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{
    Float, LANES, Long, Shared, Truth, Unsigned, Variable, barrier, for_each, lane, scalar, when, workgroup,
    workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// The number of a box that there is not.
const NONE: u32 = u32::MAX;

/// The best candidate so far.
struct Best {
    score: Variable<Float>,
    number: Variable<Unsigned>,
}

impl Best {
    fn new() -> Best {
        Best { score: Variable::new(Float::constant(0.0)), number: Variable::new(Unsigned::of(NONE)) }
    }

    /// Whether this one comes first; equal scores keep the order of their boxes.
    fn is_behind(&self, score: Float, number: Unsigned) -> Truth {
        let best = self.score.get();
        score.greater(best) | (score.is(best) & number.less(self.number.get()))
    }

    fn set(&self, score: Float, number: Unsigned) {
        self.score.set(score);
        self.number.set(number);
    }

    fn offer(&self, score: Float, number: Unsigned) {
        let is_first = self.number.get().is(Unsigned::of(NONE));
        when(is_first | self.is_behind(score, number), || self.set(score, number));
    }
}

impl Compile for NonMaxSuppression {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[0] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (scores, out) = (call.shape(1), call.out_shape(0));
        let lines = scores[..scores.len() - 1].to_vec();
        let (classes, count) = (&scores[scores.len() - 2..scores.len() - 1], &scores[scores.len() - 1..]);
        let places = &out[out.len() - 1..];
        Ok(Kernel::new().stage(Grid::Groups(lines.clone()), || {
            let u = Unsigned::of;
            let (candidates, numbers) = (Shared::<Float>::new(LANES), Shared::<Unsigned>::new(LANES));
            let kept_so_far = Shared::<Unsigned>::new(1);
            let looked_at = match self.candidates {
                -1 => scalar(count),
                most => scalar(count).least(u(u32::try_from(most).unwrap_or(NONE))),
            };
            for_each(workgroup(), scalar(&lines), workgroups(), |line| {
                let line = Line {
                    op: self,
                    call,
                    line,
                    count: scalar(count),
                    classes: scalar(classes),
                    places: scalar(places),
                };
                let (last, kept) = (Best::new(), Variable::new(u(0)));
                let threshold = Variable::new(Float::of(self.overlap_threshold));
                let is_over = Variable::new(Truth::of(false));
                for_each(u(0), looked_at, u(1), |turn| {
                    let best = Best::new();
                    when(!is_over.get(), || {
                        for_each(lane(), line.count, u(LANES), |number| {
                            let score = call.input(1).float(line.line * line.count + number);
                            // What comes behind the last one is left.
                            let behind = last.score.get().greater(score)
                                | (last.score.get().is(score) & last.number.get().less(number));
                            let is_candidate = score.greater(Float::of(self.score_threshold));
                            when(is_candidate & (turn.is(u(0)) | behind), || best.offer(score, number));
                        });
                    });
                    candidates.set(lane(), best.score.get());
                    numbers.set(lane(), best.number.get());
                    barrier();
                    for_each(u(0), u(LANES), u(1), |other| {
                        when(numbers.get(other).is_not(u(NONE)), || {
                            best.offer(candidates.get(other), numbers.get(other));
                        });
                    });
                    last.set(best.score.get(), best.number.get());
                    let is_there = best.number.get().is_not(u(NONE)) & kept.get().less(line.places);
                    when(lane().is(u(0)), || {
                        when(is_there, || line.keep(best.number.get(), &kept, &threshold));
                        kept_so_far.set(u(0), kept.get());
                    });
                    barrier();
                    kept.set(kept_so_far.get(u(0)));
                    is_over.set(!is_there);
                });
                for_each(kept.get() + lane(), line.places, u(LANES), |place| line.put(place, Long::of(-1)));
            });
        }))
    }
}

/// The boxes of a class.
struct Line<'a> {
    op: &'a NonMaxSuppression,
    call: Call<'a>,
    line: Unsigned,
    count: Unsigned,
    classes: Unsigned,
    places: Unsigned,
}

impl Line<'_> {
    fn put(&self, place: Unsigned, number: Long) {
        self.call.output(0).store(self.line * self.places + place, Element::Long(number));
    }

    fn corners(&self, number: Unsigned) -> [Float; 4] {
        let first = (self.line / self.classes * self.count + number) * Unsigned::of(4);
        [0, 1, 2, 3].map(|corner| self.call.input(0).float(first + Unsigned::of(corner)))
    }

    /// Keeps a box, unless it overlaps one that is kept.
    fn keep(&self, number: Unsigned, kept: &Variable<Unsigned>, threshold: &Variable<Float>) {
        let (own, overlaps) = (self.corners(number), Variable::new(Truth::of(false)));
        for_each(Unsigned::of(0), kept.get(), Unsigned::of(1), |place| {
            let other = self.call.output(0).load(self.line * self.places + place).long().low;
            let found = self.op.overlaps(own, self.corners(other), threshold.get());
            overlaps.set(overlaps.get() | found);
        });
        when(!overlaps.get(), || {
            self.put(kept.get(), Long::of_unsigned(number));
            kept.set(kept.get() + Unsigned::of(1));
            threshold.set(self.op.next_threshold(threshold.get()));
        });
    }
}
