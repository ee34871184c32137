//! Boxes that overlap nothing.

use crate::ops::compositions::Emit;
use crate::ops::{
    AssignValue, Binary, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, NonMaxSuppression,
    Number, Op, Scale, Select, Slice,
};
use crate::program::{Type, VarId};

/// A corner behind all others, and, with the other sign, one before all others.
const FAR: f64 = 3e38;

/// The boxes that are kept, if those without area overlap none, for those who let them overlap each other. Each box that is a line or a
/// point becomes one that ends before all others begin, so it lies beside all, and itself.
pub(crate) fn suppressed<A: Emit>(
    at: &mut A,
    op: &NonMaxSuppression,
    boxes: VarId,
    scores: VarId,
) -> Result<VarId, A::Error> {
    let (dtype, last) = (at.ty(boxes).dtype, at.ty(boxes).rank() as i64 - 1);
    let corners = |first: i64| Slice {
        axes: vec![last],
        starts: vec![first],
        ends: vec![first + 2],
        strides: Vec::new(),
    };
    let near = at.emit(corners(0).into(), &[boxes])?;
    let far = at.emit(corners(2).into(), &[boxes])?;
    let mut sides = at.emit(Binary { kind: BinaryKind::Sub }.into(), &[far, near])?;
    if !op.normalized {
        sides = at.emit(Scale { scale: 1.0, bias: 1.0 }.into(), &[sides])?;
    }
    let zero = at.emit(Fill::zeros(Type::scalar(dtype)).into(), &[])?;
    let is_none = at.emit(Compare { kind: CompareKind::Equal }.into(), &[sides, zero])?;
    let mut of_side = |side: i64| {
        let part = Slice { axes: vec![last], starts: vec![side], ends: vec![side + 1], strides: Vec::new() };
        at.emit(part.into(), &[is_none])
    };
    let [width, height] = [of_side(0)?, of_side(1)?];
    let is_empty = at.emit(Logical { kind: LogicalKind::Or }.into(), &[width, height])?;
    let beside = [FAR, FAR, -FAR, -FAR].map(Number::Float).to_vec();
    let beside = AssignValue { values: beside, ty: Type::new(dtype, [4]) };
    let beside = at.emit(beside.into(), &[])?;
    let boxes = at.emit(Select.into(), &[is_empty, beside, boxes])?;
    let op = NonMaxSuppression { empty_overlap: true, ..*op };
    at.emit(Op::from(op), &[boxes, scores])
}
