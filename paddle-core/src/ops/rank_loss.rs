//! `rank_loss`: the loss of the order of two scores.

use super::{
    AccuracyClass, Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind,
    Operation, Real, Sample, Schema, Slot, Unary, UnaryKind,
};
use crate::program::{Type, VarId};

/// `Out = ln(1 + exp o) - Label · o` with `o = Left - Right`: the cross-entropy of "left ranks above right" with
/// probability `Label`.
///
/// All values are floating point of one element type. `Left` and `Right` broadcast, and `Label` broadcasts to their
/// result. No gradient passes to labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankLoss;

attributes!(RankLoss {});

impl RankLoss {
    /// The loss for one element of each input.
    #[inline(always)]
    pub fn apply<T: Real>(label: T, left: T, right: T) -> T {
        let difference = left - right;
        difference.softplus() - label * difference
    }
}

impl Operation for RankLoss {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "rank_loss",
                doc: "ln(1 + exp o) - label · o with o = left - right.",
                inputs: &[Slot::of("Label").without_gradient(), Slot::of("Left"), Slot::of("Right")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating(
                    "a difference of scores, and of their loss and a product",
                ),
                effects: Effects::ELEMENT_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(1)?;
        cx.same_dtype(1, 2)?;
        cx.same_dtype(1, 0)?;
        let out = cx.broadcast(1, 2)?;
        let label = cx.ty(0);
        let wrong = || {
            let message = format!("{}, but the scores are {}", cx.is(0), cx.program.show(&out));
            cx.wrong(0, MismatchKind::Shape, message)
        };
        let rows = label.rows.is_none() || label.rows == out.rows;
        let (Some(lead), true) = (out.dims.len().checked_sub(label.dims.len()), rows) else {
            return Err(wrong());
        };
        let dims = label.dims.iter().zip(&out.dims[lead..]).filter(|(dim, _)| dim.constant() != Some(1));
        dims.into_iter().try_for_each(|(dim, of)| cx.need_equal(dim, of, wrong))?;
        Ok(vec![out])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (label, left, right, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
        let sub = Binary { kind: BinaryKind::Sub };
        let difference = g.emit(sub, &[left, right])?;
        let above = g.emit(Unary::of(UnaryKind::Sigmoid), &[difference])?;
        let error = g.emit(sub, &[above, label])?;
        let of_left = g.emit(Binary { kind: BinaryKind::Mul }, &[error, grad])?;
        let of_right = if g.wants(2) { Some(g.negate(of_left)?) } else { None };
        Ok(vec![None, g.sum_to_input(Some(of_left), 1)?, g.sum_to_input(of_right, 2)?])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(RankLoss);
        vec![
            op().rows(5, &[1]).within(0.0, 1.0).rows(5, &[1]).rows(5, &[1]),
            op().dense(&[]).within(0.0, 1.0).rows(4, &[2]).rows(4, &[2]),
            op().rows(3, &[1]).within(0.0, 1.0).rows(3, &[4]).dense(&[4]).within(-30.0, 30.0),
            op().rows(0, &[1]).rows(0, &[1]).rows(0, &[1]),
        ]
    }
}
