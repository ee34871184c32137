//! Boxes in the order of their scores, by a comparison of each two.

use super::Emit;
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, DecayedScores, Fill, Logical, LogicalKind, Number, Op,
    Range, Reduce, ReduceKind, Reshape, Scale, Select, Slice, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

/// Values of boxes, beside which others are.
struct Pairs<'a, A> {
    at: &'a mut A,
    dtype: DType,
    /// The axes in front of the boxes, without that of the rows.
    around: Vec<Dim>,
    count: Dim,
}

impl<A: Emit> Pairs<'_, A> {
    fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, A::Error> {
        self.at.emit(op.into(), inputs)
    }

    fn number(&mut self, value: f64) -> Result<VarId, A::Error> {
        self.emit(Fill { value: Number::Float(value), ty: Type::scalar(self.dtype) }, &[])
    }

    fn binary(&mut self, kind: BinaryKind, x: VarId, y: VarId) -> Result<VarId, A::Error> {
        self.emit(Binary { kind }, &[x, y])
    }

    fn is(&mut self, x: VarId, kind: CompareKind, y: VarId) -> Result<VarId, A::Error> {
        self.emit(Compare { kind }, &[x, y])
    }

    fn both(&mut self, x: VarId, y: VarId) -> Result<VarId, A::Error> {
        self.emit(Logical { kind: LogicalKind::And }, &[x, y])
    }

    fn either(&mut self, all: &[VarId]) -> Result<VarId, A::Error> {
        let mut any = all[0];
        for &other in &all[1..] {
            any = self.emit(Logical { kind: LogicalKind::Or }, &[any, other])?;
        }
        Ok(any)
    }

    fn plus(&mut self, x: VarId, more: f64) -> Result<VarId, A::Error> {
        if more == 0.0 { Ok(x) } else { self.emit(Scale { scale: 1.0, bias: more }, &[x]) }
    }

    /// A value of each box, behind `classes`, as a column, or as a row.
    fn along(&mut self, x: VarId, classes: &[Dim], is_row: bool) -> Result<VarId, A::Error> {
        let one = Dim::from(1);
        let last = if is_row { [one, self.count.clone()] } else { [self.count.clone(), one] };
        let dims = [&self.around[..], classes, &last].concat();
        self.emit(Reshape { dims }, &[x])
    }

    /// Over all boxes of each row.
    fn over(&mut self, kind: ReduceKind, x: VarId) -> Result<VarId, A::Error> {
        let axes = vec![self.at.ty(x).rank() as i64 - 1];
        self.emit(Reduce { kind, axes, keep_dim: true }, &[x])
    }

    /// The overlap of each two boxes, `[.., M, M]`: see [`NonMaxSuppression`](crate::ops::NonMaxSuppression).
    fn overlaps(&mut self, boxes: VarId, normalized: bool) -> Result<VarId, A::Error> {
        let pixel = if normalized { 0.0 } else { 1.0 };
        let last = self.at.ty(boxes).rank() as i64 - 1;
        let mut corners = Vec::with_capacity(4);
        for place in 0..4 {
            let part =
                Slice { axes: vec![last], starts: vec![place], ends: vec![place + 1], strides: Vec::new() };
            let own = self.emit(part, &[boxes])?;
            corners.push((own, self.along(own, &[], true)?));
        }
        let zero = self.number(0.0)?;
        let (mut shared, mut beside, mut sides, mut inverted) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for axis in 0..2 {
            let ((near, other_near), (far, other_far)) = (corners[axis], corners[axis + 2]);
            beside.push(self.is(other_near, CompareKind::GreaterThan, far)?);
            beside.push(self.is(other_far, CompareKind::LessThan, near)?);
            let first = self.binary(BinaryKind::Max, near, other_near)?;
            let end = self.binary(BinaryKind::Min, far, other_far)?;
            let side = self.binary(BinaryKind::Sub, end, first)?;
            shared.push(self.plus(side, pixel)?);
            let side = self.binary(BinaryKind::Sub, far, near)?;
            inverted.push(self.is(side, CompareKind::LessThan, zero)?);
            sides.push(self.plus(side, pixel)?);
        }
        let area = self.binary(BinaryKind::Mul, sides[0], sides[1])?;
        let is_inverted = self.either(&inverted)?;
        let area = self.emit(Select, &[is_inverted, zero, area])?;
        let other_area = self.along(area, &[], true)?;
        let shared = self.binary(BinaryKind::Mul, shared[0], shared[1])?;
        let areas = self.binary(BinaryKind::Add, area, other_area)?;
        let covered = self.binary(BinaryKind::Sub, areas, shared)?;
        let overlap = self.binary(BinaryKind::Div, shared, covered)?;
        let is_beside = self.either(&beside)?;
        self.emit(Select, &[is_beside, zero, overlap])
    }

    /// Which boxes are considered, `[.., C, M, 1]`; and for each box which of them come before it, `[.., C, M, M]`.
    fn order(&mut self, op: &DecayedScores, scores: VarId, classes: &Dim) -> Result<[VarId; 2], A::Error> {
        let classes = std::slice::from_ref(classes);
        let [own, other] = [false, true].map(|is_row| self.along(scores, classes, is_row));
        let (own, other) = (own?, other?);
        let threshold = self.number(op.score_threshold)?;
        let mut considered = self.is(own, CompareKind::GreaterThan, threshold)?;
        let numbers = Type { dtype: DType::I64, rows: None, dims: vec![self.count.clone()] };
        let numbers = self.emit(Range { start: Number::Int(0), step: Number::Int(1), ty: numbers }, &[])?;
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
            let limit = Fill { value: Number::Int(op.candidates), ty: Type::scalar(DType::I64) };
            let limit = self.emit(limit, &[])?;
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
    let overlap = pairs.overlaps(boxes, op.normalized)?;
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
