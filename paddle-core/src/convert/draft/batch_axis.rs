//! The batch that is not in front.
//!
//! A value whose leading dimension is the batch has rows, and operators that keep rows apart keep them. Where an operator
//! moves, merges or mixes them, its rule is tried again with values in which the batch is an ordinary axis, of the size
//! that it has when a batch is fed ([`RowsToAxis`]). A result whose leading dimension has that size has rows again
//! ([`AxisToRows`]), so what a program transposes there and back costs nothing.

use super::{At, Draft};
use crate::convert::error::Fault;
use crate::ops::{AxisToRows, Op, RowsToAxis, Transpose};
use crate::program::{Dim, Mark, RowOrigin, Type, VarId};

/// The rows that are an ordinary axis of what an operator reads.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::convert) enum Merged {
    None,
    /// Those of the batch, and those that values without rows got.
    Batch,
    /// All of these, and tokens: joined with others, they are sequences no longer.
    Tokens,
}

impl Draft {
    /// Whether values of a type are read with their rows as an axis.
    pub(in crate::convert) fn is_merged(&self, ty: &Type, merged: Merged) -> bool {
        let Some(rows) = ty.rows.filter(|_| merged != Merged::None) else { return false };
        match self.program.row_space(rows).origin {
            RowOrigin::Fixed(_) => true,
            _ if self.batch == Some(rows) => true,
            _ => merged == Merged::Tokens && self.program.rows_of_whole_sequences(rows).is_some(),
        }
    }

    /// Takes back what an attempt to read an operator has appended.
    pub(in crate::convert) fn take_back(&mut self, to: Mark) {
        self.program.take_back(to);
        self.merged.retain(|_, merged| to.has(*merged));
        self.segments.retain(|(_, numbers), tokens| to.has(*numbers) && to.has(*tokens));
        self.known.retain(|&value, _| to.has(value));
        self.batch = self.batch.filter(|rows| to.has_rows(*rows));
        self.counted.retain(|rows| to.has_rows(*rows));
    }

    /// What `value` is a transposition of, and the order of its axes that makes `perm` of `value`.
    pub(in crate::convert) fn undone(&self, value: VarId, perm: &[i64]) -> (VarId, Vec<i64>) {
        if let Some(writer) = self.program.writer(value)
            && let Op::Transpose(Transpose { perm: inner }) = &writer.op
            && let Some(both) = perm.iter().map(|&axis| inner.get(axis as usize).copied()).collect()
        {
            return (writer.inputs[0], both);
        }
        (value, perm.to_vec())
    }
}

impl At<'_> {
    /// Makes a value that is read with its rows as its first axis from now on, if it has rows that are merged. False if it has none.
    pub(in crate::convert) fn merge(&mut self, value: VarId, merged: Merged) -> Result<bool, Fault> {
        if !self.draft.is_merged(self.ty(value), merged) {
            return Ok(false);
        }
        let key = (self.block, value);
        if !self.draft.merged.contains_key(&key) {
            let merged = self.rows_to_axis(value)?;
            self.draft.merged.insert(key, merged);
        }
        Ok(true)
    }

    /// A value with rows as one value whose first axis they are.
    pub(in crate::convert) fn rows_to_axis(&mut self, value: VarId) -> Result<VarId, Fault> {
        match self.draft.program.writer(value) {
            Some(writer) if matches!(writer.op, Op::AxisToRows(_)) => Ok(writer.inputs[0]),
            _ => self.emit(RowsToAxis, &[value]),
        }
    }

    /// The value with the rows of the batch, if its first axis has their number.
    pub(in crate::convert) fn with_rows(&mut self, value: VarId) -> Result<VarId, Fault> {
        self.draft.has_batch.map_or(Ok(value), |like| self.with_rows_of(value, like))
    }

    /// The value with the rows of another one, if its first axis has their number.
    pub(in crate::convert) fn with_rows_of(&mut self, value: VarId, like: VarId) -> Result<VarId, Fault> {
        let program = &self.draft.program;
        let (ty, rows) = (program.ty(value), program.ty(like).rows);
        let size = rows.map(|rows| program.row_space(rows).size);
        if size.is_none() || ty.rows.is_some() || ty.dims.first().and_then(Dim::as_symbol) != size {
            return Ok(value);
        }
        match program.writer(value) {
            Some(writer)
                if matches!(writer.op, Op::RowsToAxis(_)) && program.ty(writer.inputs[0]).rows == rows =>
            {
                Ok(writer.inputs[0])
            }
            _ => self.emit(AxisToRows, &[value, like]),
        }
    }

    /// The value with its axes in another order. An order that undoes another one gives the value before it.
    pub(in crate::convert) fn permuted(&mut self, value: VarId, perm: &[i64]) -> Result<VarId, Fault> {
        let (from, perm) = self.draft.undone(value, perm);
        match perm.iter().enumerate().all(|(axis, &from)| axis as i64 == from) {
            true => Ok(from),
            false => self.emit(Transpose { perm }, &[from]),
        }
    }
}
