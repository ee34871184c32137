//! Elements of images at places between them.

use super::At;
use crate::convert::error::Fault;
use crate::convert::types::product;
use crate::ops::{BinaryKind, Cast, Compare, CompareKind, Gather, Logical, LogicalKind, Unary, UnaryKind};
use crate::program::{DType, Dim, VarId};

/// What is outside of images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::convert) enum Outside {
    /// 0.
    Zeros,
    /// The outermost elements.
    Border,
    /// The image, mirrored at the middles of the outermost elements, or at their edges.
    Reflection { at_edges: bool },
}

/// How places are read.
#[derive(Clone, Copy)]
pub(in crate::convert) struct Sampling {
    pub(in crate::convert) outside: Outside,
    /// Whether a place takes the nearest element, and not the four around it by their distances.
    pub(in crate::convert) is_nearest: bool,
}

impl At<'_> {
    /// The elements of images `[rows, channels, height, width]` at places, which are counted from the middle of the first
    /// element: `rows` and `columns` are `[rows, n]`. Gives `[rows, channels, n]`. `None` if these are no images with rows.
    pub(in crate::convert) fn sampled(
        &mut self,
        images: VarId,
        [down, across]: [VarId; 2],
        of: Sampling,
    ) -> Result<Option<VarId>, Fault> {
        let ty = self.ty(images).clone();
        let [channels, height, width] = &ty.dims[..] else { return Ok(None) };
        if ty.rows.is_none() || self.ty(down).rows != ty.rows || self.ty(across).rows != ty.rows {
            return Ok(None);
        }
        let flat = self.shaped(images, vec![channels.clone(), product(&[height.clone(), width.clone()])?])?;
        let lines = self.axis_of_places(down, height, of)?;
        let columns = self.axis_of_places(across, width, of)?;
        let size = self.size_as(width, DType::I64)?;
        let size = self.shaped(size, Vec::new())?;
        let mut sum: Option<VarId> = None;
        for (line, of_line) in &lines {
            let first = self.binary(BinaryKind::Mul, *line, size)?;
            for (column, of_column) in &columns {
                let place = self.binary(BinaryKind::Add, first, *column)?;
                let taken = self.emit(Gather { axis: 2 }, &[flat, place])?;
                let weight = match (of_line, of_column) {
                    (Some(a), Some(b)) => Some(self.binary(BinaryKind::Mul, *a, *b)?),
                    (a, b) => a.or(*b),
                };
                let part = match weight {
                    None => taken,
                    Some(weight) => {
                        let dims = [&[Dim::from(1)], &self.ty(weight).dims[..]].concat();
                        let weight = self.shaped(weight, dims)?;
                        self.binary(BinaryKind::Mul, taken, weight)?
                    }
                };
                sum = Some(match sum {
                    None => part,
                    Some(sum) => self.binary(BinaryKind::Add, sum, part)?,
                });
            }
        }
        Ok(sum)
    }

    /// The elements along one axis that places take, and with which weights: i64 and the type of the places.
    fn axis_of_places(
        &mut self,
        place: VarId,
        size: &Dim,
        of: Sampling,
    ) -> Result<Vec<(VarId, Option<VarId>)>, Fault> {
        let dtype = self.ty(place).dtype;
        let size = self.size_as(size, dtype)?;
        let size = self.shaped(size, Vec::new())?;
        let (last, zero) = (self.scaled(size, 1.0, -1.0)?, self.number(0.0, dtype)?);
        let place = match of.outside {
            Outside::Zeros => place,
            Outside::Border => self.clamped(place, zero, last)?,
            Outside::Reflection { at_edges } => {
                let mirrored = self.mirrored(place, size, at_edges)?;
                self.clamped(mirrored, zero, last)?
            }
        };
        if of.is_nearest {
            let near = self.emit(Unary::of(UnaryKind::Round), &[place])?;
            return Ok(vec![self.element(near, last, of, None)?]);
        }
        let before = self.emit(Unary::of(UnaryKind::Floor), &[place])?;
        let rest = self.binary(BinaryKind::Sub, place, before)?;
        let other = self.scaled(rest, -1.0, 1.0)?;
        let behind = self.scaled(before, 1.0, 1.0)?;
        Ok(vec![self.element(before, last, of, Some(other))?, self.element(behind, last, of, Some(rest))?])
    }

    /// An element as an index that is inside, and its weight, which is 0 where it is outside of what counts.
    fn element(
        &mut self,
        element: VarId,
        last: VarId,
        of: Sampling,
        weight: Option<VarId>,
    ) -> Result<(VarId, Option<VarId>), Fault> {
        let dtype = self.ty(element).dtype;
        let zero = self.number(0.0, dtype)?;
        let inside = self.clamped(element, zero, last)?;
        let index = self.emit(Cast { dtype: DType::I64 }, &[inside])?;
        if of.outside != Outside::Zeros {
            return Ok((index, weight));
        }
        let holds = [(CompareKind::GreaterEqual, zero), (CompareKind::LessEqual, last)];
        let [from, to] = holds.map(|(kind, bound)| self.emit(Compare { kind }, &[element, bound]));
        let counts = self.emit(Logical { kind: LogicalKind::And }, &[from?, to?])?;
        let counts = self.emit(Cast { dtype }, &[counts])?;
        let weight = match weight {
            Some(weight) => self.binary(BinaryKind::Mul, weight, counts)?,
            None => counts,
        };
        Ok((index, Some(weight)))
    }

    /// A value that is not below `low` and not above `high`.
    pub(in crate::convert) fn clamped(&mut self, x: VarId, low: VarId, high: VarId) -> Result<VarId, Fault> {
        let x = self.binary(BinaryKind::Max, x, low)?;
        self.binary(BinaryKind::Min, x, high)
    }

    /// Places of an axis that goes there and back again, without end.
    fn mirrored(&mut self, place: VarId, size: VarId, at_edges: bool) -> Result<VarId, Fault> {
        // A period is there and back: from edge to edge, or from middle to middle. An axis of one element has none, and
        // takes that element.
        let (offset, less) = if at_edges { (0.5, 0.0) } else { (0.0, -1.0) };
        let length = self.scaled(size, 1.0, less)?;
        let dtype = self.ty(place).dtype;
        let least = self.number(0.5, dtype)?;
        let length = self.binary(BinaryKind::Max, length, least)?;
        let period = self.scaled(length, 2.0, 0.0)?;
        let from = self.scaled(place, 1.0, offset)?;
        let distance = self.emit(Unary::of(UnaryKind::Abs), &[from])?;
        let within = self.binary(BinaryKind::Mod, distance, period)?;
        let back = self.binary(BinaryKind::Sub, period, within)?;
        let nearer = self.binary(BinaryKind::Min, within, back)?;
        self.scaled(nearer, 1.0, -offset)
    }
}
