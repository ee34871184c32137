//! `decayed_scores`: a thread for each box of each class, which goes through all others.

use paddle_core::ops::{DecayedScores, Real};
use paddle_core::plan::{OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, Truth, Unsigned, Variable, each, for_each, otherwise, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};

impl Compile for DecayedScores {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[0] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(1).to_vec();
        let behind = call.group.inputs.len() + call.group.outputs.len();
        // For each box, its largest overlap with those before it; below 0 if it is not considered.
        let largest = || Tensor::new(behind, &OperandType::new(DType::F32, shape.clone()));
        let kernel = Kernel::new().scratch(shape.clone());
        let kernel = kernel.stage(Grid::Items(shape.clone()), || {
            let largest = largest();
            each(largest.elements(), |index| {
                let own = Own::new(self, &call, index);
                let before = Variable::new(Unsigned::of(0));
                let most = Variable::new(Float::constant(0.0));
                own.before(|_, overlap| {
                    before.set(before.get() + Unsigned::of(1));
                    most.set(overlap.max(most.get()));
                });
                let is_among = match self.candidates {
                    -1 => own.is_considered(),
                    limit => {
                        let limit = Unsigned::of(u32::try_from(limit).unwrap_or(u32::MAX));
                        own.is_considered() & before.get().less(limit)
                    }
                };
                largest.set(index, Float::select(is_among, most.get(), Float::constant(-1.0)));
            });
        });
        Ok(kernel.stage(Grid::Items(shape.clone()), || {
            let (largest, out) = (largest(), call.output(0));
            let least = Float::of(self.least);
            each(largest.elements(), |index| {
                let own = Own::new(self, &call, index);
                when(largest.float(index).less(Float::constant(0.0)), || out.set(index, least));
                otherwise(|| {
                    let factor = Variable::new(Float::constant(1.0));
                    own.before(|other, overlap| {
                        factor.set(self.factor(overlap, largest.float(other)).min(factor.get()));
                    });
                    let score = factor.get() * call.input(1).float(index);
                    out.set(index, Float::select(score.greater(least), score, least));
                });
            });
        }))
    }
}

/// A box of a class.
struct Own<'a> {
    op: &'a DecayedScores,
    call: &'a Call<'a>,
    index: Unsigned,
    line: Unsigned,
    count: Unsigned,
    classes: Unsigned,
    score: Float,
}

impl<'a> Own<'a> {
    fn new(op: &'a DecayedScores, call: &'a Call<'a>, index: Unsigned) -> Self {
        let shape = call.shape(1);
        let count = scalar(&shape[shape.len() - 1..]);
        let classes = scalar(&shape[shape.len() - 2..shape.len() - 1]);
        Own { op, call, index, line: index / count, count, classes, score: call.input(1).float(index) }
    }

    fn is_considered(&self) -> Truth {
        self.score.greater(Float::of(self.op.score_threshold))
    }

    fn corners(&self, index: Unsigned) -> [Float; 4] {
        let number = index - self.line * self.count;
        let first = (self.line / self.classes * self.count + number) * Unsigned::of(4);
        [0, 1, 2, 3].map(|corner| self.call.input(0).float(first + Unsigned::of(corner)))
    }

    /// Calls `of` for the boxes before this one, with the overlap.
    fn before(&self, of: impl FnOnce(Unsigned, Float)) {
        when(self.is_considered(), || {
            let own = self.corners(self.index);
            let first = self.line * self.count;
            for_each(first, first + self.count, Unsigned::of(1), |other| {
                let score = self.call.input(1).float(other);
                let is_before = score.greater(self.score) | (score.is(self.score) & other.less(self.index));
                when(is_before, || of(other, self.op.overlap(own, self.corners(other))));
            });
        });
    }
}
