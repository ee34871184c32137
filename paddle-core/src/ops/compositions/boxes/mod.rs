//! Boxes beside boxes: what operators on detections consist of, by a comparison of each two.

pub(crate) mod beside;
pub(crate) mod decayed;
pub(crate) mod kept;

use super::Emit;
use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, Number, Op, Range, Reduce,
    ReduceKind, Reshape, Scale, Select, Slice,
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

    fn integer(&mut self, value: i64) -> Result<VarId, A::Error> {
        self.emit(Fill { value: Number::Int(value), ty: Type::scalar(DType::I64) }, &[])
    }

    /// The numbers of the boxes, from 0 on.
    fn numbers(&mut self) -> Result<VarId, A::Error> {
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![self.count.clone()] };
        self.emit(Range { start: Number::Int(0), step: Number::Int(1), ty }, &[])
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

    /// The four coordinates of boxes `[.., M, 4]`, each a column.
    fn corners(&mut self, boxes: VarId) -> Result<[VarId; 4], A::Error> {
        let last = self.at.ty(boxes).rank() as i64 - 1;
        let mut corners = [boxes; 4];
        for (place, corner) in (0..).zip(&mut corners) {
            let (starts, ends) = (vec![place], vec![place + 1]);
            *corner = self.emit(Slice { axes: vec![last], starts, ends, strides: Vec::new() }, &[boxes])?;
        }
        Ok(corners)
    }

    /// The overlap of each two boxes, `[.., M, M]`, of their coordinates as columns: see
    /// [`NonMaxSuppression`](crate::ops::NonMaxSuppression).
    fn overlaps(&mut self, corners: [VarId; 4], normalized: bool) -> Result<VarId, A::Error> {
        let pixel = if normalized { 0.0 } else { 1.0 };
        let mut others = corners;
        for other in &mut others {
            *other = self.along(*other, &[], true)?;
        }
        let zero = self.number(0.0)?;
        let (mut shared, mut beside, mut sides, mut inverted) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for axis in 0..2 {
            let (near, far) = (corners[axis], corners[axis + 2]);
            let (other_near, other_far) = (others[axis], others[axis + 2]);
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
}
