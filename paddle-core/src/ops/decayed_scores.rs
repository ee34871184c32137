//! `decayed_scores`: scores of boxes that are lower the more better ones overlap.

use super::compositions::boxes::decayed;
use super::non_max_suppression::{check_boxes, overlap};
use super::{AccuracyClass, Composition, Effects, Infer, Mismatch, Operation, Real, Sample, Schema, Slot};
use crate::program::{BuildError, Type, VarId};

/// The scores of boxes, each times the least of the factors that the boxes before it in the order of the scores give. A box
/// gives a factor by the overlap `o` of the two, and by its own largest overlap `m` with boxes before it: `(1 - o) / (1 - m)`,
/// or `exp(sigma · (m² - o²))`. Wang and others, "SOLOv2: dynamic and fast instance segmentation", 2020.
///
/// `Boxes`: floating point `[.., M, 4]`, with the corners `x1, y1, x2, y2`. `Scores`: `[.., C, M]`, a score of each box for
/// each class. `Out`: like `Scores`; `least` for boxes that are not considered, and where the result is not above it. The
/// overlap is that of [`NonMaxSuppression`](super::NonMaxSuppression).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayedScores {
    /// Boxes are considered whose score is above this.
    pub score_threshold: f64,
    /// The least result.
    pub least: f64,
    /// The most boxes of a class that are considered, those with the highest scores; -1 for all.
    pub candidates: i64,
    /// Whether factors are exponentials.
    pub gaussian: bool,
    /// How fast exponentials fall.
    pub sigma: f64,
    /// Whether the far corner of a box is the first point outside of it. Otherwise it is the last pixel within.
    pub normalized: bool,
}

attributes!(DecayedScores {
    score_threshold: 0.1,
    least = 0.0,
    candidates = -1,
    gaussian = false,
    sigma = 2.0,
    normalized = true,
});

impl DecayedScores {
    /// The overlap of two boxes.
    #[inline(always)]
    pub fn overlap<T: Real>(&self, a: [T; 4], b: [T; 4]) -> T {
        overlap(a, b, self.normalized)
    }

    /// The factor for this overlap with a box whose own largest one is `largest`.
    #[inline(always)]
    pub fn factor<T: Real>(&self, overlap: T, largest: T) -> T {
        match self.gaussian {
            true => ((largest * largest - overlap * overlap) * T::of(self.sigma)).exp(),
            false => (T::of(1.0) - overlap) / (T::of(1.0) - largest),
        }
    }
}

impl Operation for DecayedScores {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "decayed_scores",
                doc: "Scores of boxes that are lower the more better ones overlap.",
                inputs: &[Slot::of("Boxes").without_gradient(), Slot::of("Scores").without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a quotient of differences"),
                effects: Effects { differentiable: false, ..Effects::ROW_WISE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        check_boxes(cx, &[self.candidates])?;
        Ok(vec![cx.ty(1).clone()])
    }

    fn written_out(&self, c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        let (boxes, scores) = (c.input(0), c.input(1));
        decayed::decayed(c, self, boxes, scores)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let plain = DecayedScores {
            score_threshold: 0.1,
            least: 0.05,
            candidates: -1,
            gaussian: false,
            sigma: 2.0,
            normalized: true,
        };
        let of = |op: DecayedScores, rows: usize, boxes: i64, classes: i64| {
            let sample = Sample::of(op).rows(rows, &[boxes, 4]).within(0.0, 5.0);
            sample.rows(rows, &[classes, boxes]).within(0.0, 1.0)
        };
        vec![
            of(plain, 3, 9, 2),
            of(DecayedScores { candidates: 5, gaussian: true, normalized: false, ..plain }, 2, 12, 3),
            of(DecayedScores { score_threshold: 0.5, ..plain }, 2, 300, 1),
            Sample::of(plain).dense(&[2, 7, 4]).within(0.0, 5.0).dense(&[2, 2, 7]).within(0.0, 1.0),
            of(plain, 0, 3, 1),
        ]
    }
}
