//! `non_max_suppression`: of boxes that overlap, those with the highest scores.

use super::compositions::boxes::{beside, kept};
use super::{
    AccuracyClass, Composition, Effects, Infer, Mismatch, MismatchKind, Operation, Real, Sample, Schema, Slot,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// The boxes of each class that are kept: in the order of their scores, a box is kept unless it overlaps one that was kept
/// before it.
///
/// `Boxes`: floating point `[.., M, 4]`, with the corners `x1, y1, x2, y2`. `Scores`: `[.., C, M]`, a score of each box for
/// each class. `Out`: i64 `[.., C, K]`, the numbers of the boxes that are kept, and -1 in the places behind them. `K` is the
/// least of `M`, `candidates` and `most` that is known.
///
/// The overlap of two boxes is the area that they share, divided by the area that at least one of them covers. Equal scores
/// keep the order of their boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonMaxSuppression {
    /// Boxes are considered whose score is above this.
    pub score_threshold: f64,
    /// Boxes whose overlap is above this are not kept both.
    pub overlap_threshold: f64,
    /// While the threshold of the overlap is above 0.5, it is multiplied by this, if it is below 1, with each box that is
    /// kept.
    pub eta: f64,
    /// The most boxes of a class that are considered, those with the highest scores; -1 for all.
    pub candidates: i64,
    /// The most boxes of a class that are kept; -1 for all.
    pub most: i64,
    /// Whether the far corner of a box is the first point outside of it. Otherwise it is the last pixel within, and sides are
    /// longer by 1.
    pub normalized: bool,
    /// Whether boxes that have no area, neither of the two, overlap each other.
    pub empty_overlap: bool,
}

attributes!(NonMaxSuppression {
    score_threshold: 0.1,
    overlap_threshold = 0.3,
    eta = 1.0,
    candidates = -1,
    most = -1,
    normalized = true,
    empty_overlap = true,
});

impl NonMaxSuppression {
    /// The number of places for boxes of a class, of which there are so many.
    pub(crate) fn places(&self, boxes: &Dim) -> Dim {
        let limits = [self.candidates, self.most].into_iter().filter(|&limit| limit >= 0);
        limits.chain(boxes.constant()).min().map_or_else(|| boxes.clone(), Dim::from)
    }

    /// Whether a box is not kept beside another one that is, with this threshold of the overlap.
    #[inline(always)]
    pub fn overlaps<T: Real>(&self, a: [T; 4], b: [T; 4], threshold: T) -> T::Truth {
        let overlap = overlap(a, b, self.normalized);
        let is_above = overlap.above(threshold);
        if self.empty_overlap { is_above | overlap.is_not_a_number() } else { is_above }
    }

    /// The threshold of the overlap behind a box that was kept.
    #[inline(always)]
    pub fn next_threshold<T: Real>(&self, threshold: T) -> T {
        let is_lowered = threshold.above(T::of(0.5));
        if self.eta < 1.0 { T::select(is_lowered, threshold * T::of(self.eta), threshold) } else { threshold }
    }
}

/// The area that two boxes share, divided by the area that they cover; not a number where they cover none.
#[inline(always)]
pub(super) fn overlap<T: Real>(a: [T; 4], b: [T; 4], normalized: bool) -> T {
    let (zero, pixel) = (T::of(0.0), T::of(if normalized { 0.0 } else { 1.0 }));
    let area = |of: [T; 4]| {
        let (width, height) = (of[2] - of[0], of[3] - of[1]);
        T::select(width.below(zero) | height.below(zero), zero, (width + pixel) * (height + pixel))
    };
    let is_beside = b[0].above(a[2]) | b[2].below(a[0]) | b[1].above(a[3]) | b[3].below(a[1]);
    let shared = (a[2].min(b[2]) - a[0].max(b[0]) + pixel) * (a[3].min(b[3]) - a[1].max(b[1]) + pixel);
    T::select(is_beside, zero, shared / (area(a) + area(b) - shared))
}

/// Checks boxes `[.., M, 4]` and scores `[.., C, M]`, inputs 0 and 1, and returns how many boxes there are.
pub(super) fn check_boxes(cx: &Infer<'_>, limits: &[i64]) -> Result<Dim, Mismatch> {
    cx.need_float(0)?;
    cx.need_dtype(1, cx.ty(0).dtype)?;
    cx.need_dims(0, 2)?;
    cx.need_dims(1, 2)?;
    cx.common_rows(0, 1)?;
    let (boxes, scores) = (cx.ty(0), cx.ty(1));
    let wrong = || {
        let operator = cx.operator;
        let message = format!(
            "{}, and {}: `{operator}` needs boxes `[.., M, 4]` and scores `[.., C, M]`",
            cx.is(0),
            cx.is(1)
        );
        cx.wrong(1, MismatchKind::Shape, message)
    };
    let ([around @ .., count, corners], [classes_around @ .., _, scored]) =
        (&boxes.dims[..], &scores.dims[..])
    else {
        return Err(wrong());
    };
    if boxes.rows != scores.rows || around.len() != classes_around.len() {
        return Err(wrong());
    }
    cx.need_equal(corners, &Dim::from(4), wrong)?;
    for (a, b) in around.iter().chain([count]).zip(classes_around.iter().chain([scored])) {
        cx.need_equal(a, b, wrong)?;
    }
    if limits.iter().any(|&limit| limit < -1 || limit == 0) {
        let message = format!("`{}` takes at least one box, or -1 for all", cx.operator);
        return Err(cx.fail(MismatchKind::Attribute, message));
    }
    Ok(count.clone())
}

impl Operation for NonMaxSuppression {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "non_max_suppression",
                doc: "Of boxes that overlap, those with the highest scores.",
                inputs: &[Slot::of("Boxes").without_gradient(), Slot::of("Scores").without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects { differentiable: false, ..Effects::ROW_WISE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let count = check_boxes(cx, &[self.candidates, self.most])?;
        let mut out = cx.ty(1).with_dtype(DType::I64);
        if let Some(last) = out.dims.last_mut() {
            *last = self.places(&count);
        }
        Ok(vec![out])
    }

    fn written_out(&self, c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        let (boxes, scores) = (c.input(0), c.input(1));
        // Those who have suppression let boxes without area overlap each other; the others write out that in turn.
        match self.empty_overlap {
            true => kept::kept(c, self, boxes, scores),
            false => beside::suppressed(c, self, boxes, scores),
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let plain = NonMaxSuppression {
            score_threshold: 0.1,
            overlap_threshold: 0.3,
            eta: 1.0,
            candidates: -1,
            most: -1,
            normalized: true,
            empty_overlap: true,
        };
        let of = |op: NonMaxSuppression, rows: usize, boxes: i64, classes: i64| {
            let sample = Sample::of(op).rows(rows, &[boxes, 4]).within(0.0, 5.0);
            sample.rows(rows, &[classes, boxes]).within(0.0, 1.0)
        };
        let dense = |op: NonMaxSuppression, boxes: &[i64], scores: &[i64]| {
            Sample::of(op).dense(boxes).within(0.0, 5.0).dense(scores).within(0.0, 1.0)
        };
        vec![
            of(plain, 3, 9, 2),
            of(NonMaxSuppression { candidates: 5, normalized: false, ..plain }, 2, 12, 3),
            of(NonMaxSuppression { most: 2, empty_overlap: false, ..plain }, 2, 300, 1),
            of(
                NonMaxSuppression { overlap_threshold: 0.9, eta: 0.8, candidates: 40, most: 20, ..plain },
                2,
                33,
                1,
            ),
            dense(NonMaxSuppression { score_threshold: 0.5, ..plain }, &[2, 7, 4], &[2, 2, 7]),
            dense(plain, &[1, 4], &[2, 1]),
            of(plain, 0, 3, 1),
        ]
    }
}
