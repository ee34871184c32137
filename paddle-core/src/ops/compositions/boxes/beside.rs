//! Boxes that overlap nothing.

use super::Pairs;
use crate::ops::compositions::Emit;
use crate::ops::{AssignValue, BinaryKind, CompareKind, NonMaxSuppression, Number, Select};
use crate::program::{Type, VarId};

/// A corner behind all others, and, with the other sign, one before all others.
const FAR: f64 = 3e38;

/// The boxes that are kept, if those without area overlap none, for those who let them overlap each other. Each box that is a line or a
/// point becomes one that ends before all others begin, so it lies beside all, and itself. `None` if the types are others.
pub(crate) fn suppressed<A: Emit>(
    at: &mut A,
    op: &NonMaxSuppression,
    boxes: VarId,
    scores: VarId,
) -> Result<Option<VarId>, A::Error> {
    let ty = at.ty(boxes).clone();
    let [around @ .., count, _] = &ty.dims[..] else { return Ok(None) };
    let mut pairs = Pairs { at, dtype: ty.dtype, around: around.to_vec(), count: count.clone() };
    let [left, top, right, bottom] = pairs.corners(boxes)?;
    let zero = pairs.number(0.0)?;
    let mut is_none = Vec::with_capacity(2);
    for (near, far) in [(left, right), (top, bottom)] {
        let side = pairs.binary(BinaryKind::Sub, far, near)?;
        let side = pairs.plus(side, if op.normalized { 0.0 } else { 1.0 })?;
        is_none.push(pairs.is(side, CompareKind::Equal, zero)?);
    }
    let is_empty = pairs.either(&is_none)?;
    let beside = [FAR, FAR, -FAR, -FAR].map(Number::Float).to_vec();
    let beside = pairs.emit(AssignValue { values: beside, ty: Type::new(ty.dtype, [4]) }, &[])?;
    let boxes = pairs.emit(Select, &[is_empty, beside, boxes])?;
    let op = NonMaxSuppression { empty_overlap: true, ..*op };
    pairs.emit(op, &[boxes, scores]).map(Some)
}
