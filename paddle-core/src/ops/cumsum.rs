//! `cumsum`: running sums along an axis.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// For each element of `X`, the sum of the elements up to it along an axis, which is not that of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CumSum {
    /// The axis. The axis of the rows counts as 0.
    pub axis: i64,
    /// Whether a sum leaves out the element itself.
    pub exclusive: bool,
    /// Whether a sum runs from the element to the end, instead of from the start to the element.
    pub reverse: bool,
}

attributes!(CumSum { axis: 1, exclusive = false, reverse = false });

impl Operation for CumSum {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "cumsum",
                doc: "Running sums along an axis.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of what comes before"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        cx.need_axis(0, self.axis)?;
        Ok(vec![cx.ty(0).clone()])
    }

    /// An element is part of the sums of all elements behind it, so its gradient is a sum in the other direction.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(CumSum { reverse: !self.reverse, ..*self }, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axis, exclusive, reverse| Sample::of(CumSum { axis, exclusive, reverse });
        vec![
            op(1, false, false).rows(3, &[4]),
            op(1, true, false).rows(2, &[3, 2]),
            op(2, false, true).rows(2, &[2, 5]),
            op(0, true, true).dense(&[4, 3]),
            op(1, false, false).rows(1, &[1]),
            op(1, false, false).rows(0, &[4]),
        ]
    }
}
