//! Scores that fall where better boxes overlap.

use super::Pairs;
use crate::ops::compositions::Emit;
use crate::ops::{
    BinaryKind, Cast, CompareKind, DecayedScores, ReduceKind, Reshape, Scale, Select, Unary, UnaryKind,
};
use crate::program::{DType, Dim, VarId};

impl<A: Emit> Pairs<'_, A> {
    /// Which boxes are considered, `[.., C, M, 1]`; and for each box which of them come before it, `[.., C, M, M]`.
    fn order(&mut self, op: &DecayedScores, scores: VarId, classes: &Dim) -> Result<[VarId; 2], A::Error> {
        let classes = std::slice::from_ref(classes);
        let [own, other] = [false, true].map(|is_row| self.along(scores, classes, is_row));
        let (own, other) = (own?, other?);
        let threshold = self.number(op.score_threshold)?;
        let mut considered = self.is(own, CompareKind::GreaterThan, threshold)?;
        let numbers = self.numbers()?;
        let number = self.emit(Reshape { dims: vec![self.count.clone(), Dim::from(1)] }, &[numbers])?;
        let is_higher = self.is(other, CompareKind::GreaterThan, own)?;
        let is_equal = self.is(other, CompareKind::Equal, own)?;
        let is_earlier = self.is(numbers, CompareKind::LessThan, number)?;
        let is_first = self.both(is_equal, is_earlier)?;
        let is_before = self.either(&[is_higher, is_first])?;
        if op.candidates >= 0 {
            // What is not considered comes behind all that is, so it need not be left out here.
            let before = self.emit(Cast { dtype: DType::I64 }, &[is_before])?;
            let place = self.over(ReduceKind::Sum, before)?;
            let limit = self.integer(op.candidates)?;
            let is_within = self.is(place, CompareKind::LessThan, limit)?;
            considered = self.both(considered, is_within)?;
        }
        let is_considered = self.along(considered, classes, true)?;
        Ok([considered, self.both(is_before, is_considered)?])
    }
}

/// The scores of boxes `[.., M, 4]` for classes, `[.., C, M]`, in memory for `C·M²` numbers a row: see [`DecayedScores`]. `None` if
/// the types are others.
pub(crate) fn decayed<A: Emit>(
    at: &mut A,
    op: &DecayedScores,
    boxes: VarId,
    scores: VarId,
) -> Result<Option<VarId>, A::Error> {
    let ty = at.ty(scores).clone();
    let [around @ .., classes, count] = &ty.dims[..] else { return Ok(None) };
    let mut pairs = Pairs { at, dtype: ty.dtype, around: around.to_vec(), count: count.clone() };
    let corners = pairs.corners(boxes)?;
    let overlap = pairs.overlaps(corners, op.normalized)?;
    let square = [around, &[Dim::from(1), count.clone(), count.clone()]].concat();
    let overlap = pairs.emit(Reshape { dims: square }, &[overlap])?;
    let [considered, before] = pairs.order(op, scores, classes)?;
    let (zero, one) = (pairs.number(0.0)?, pairs.number(1.0)?);

    // What is not a number compares with nothing, and counts for nothing.
    let is_more = pairs.is(overlap, CompareKind::GreaterThan, zero)?;
    let counts = pairs.both(before, is_more)?;
    let largest = pairs.emit(Select, &[counts, overlap, zero])?;
    let largest = pairs.over(ReduceKind::Max, largest)?;
    let largest = pairs.along(largest, std::slice::from_ref(classes), true)?;
    let factor = if op.gaussian {
        let [of_other, of_both] = [largest, overlap].map(|x| pairs.emit(Unary::of(UnaryKind::Square), &[x]));
        let difference = pairs.binary(BinaryKind::Sub, of_other?, of_both?)?;
        let exponent = pairs.emit(Scale { scale: op.sigma, bias: 0.0 }, &[difference])?;
        pairs.emit(Unary::of(UnaryKind::Exp), &[exponent])?
    } else {
        let [above, below] = [overlap, largest].map(|x| pairs.binary(BinaryKind::Sub, one, x));
        pairs.binary(BinaryKind::Div, above?, below?)?
    };
    let is_less = pairs.is(factor, CompareKind::LessThan, one)?;
    let counts = pairs.both(before, is_less)?;
    let factor = pairs.emit(Select, &[counts, factor, one])?;
    let least = pairs.over(ReduceKind::Min, factor)?;

    let [least, considered] =
        [least, considered].map(|x| pairs.emit(Reshape { dims: ty.dims.clone() }, &[x]));
    let decayed = pairs.binary(BinaryKind::Mul, least?, scores)?;
    let floor = pairs.number(op.least)?;
    let is_above = pairs.is(decayed, CompareKind::GreaterThan, floor)?;
    let stays = pairs.both(considered?, is_above)?;
    pairs.emit(Select, &[stays, decayed, floor]).map(Some)
}
