//! The batch that is not in front.
//!
//! A value whose leading dimension is the batch has rows, and operators that keep rows apart keep them. Where an operator
//! moves, merges or mixes them, its rule is tried again with values in which the batch is an ordinary axis, of the size
//! that it has when a batch is fed ([`RowsToAxis`]). A result whose leading dimension has that size has rows again
//! ([`AxisToRows`]), so what a program transposes there and back costs nothing.

use super::error::{ConvertError, Fault};
use super::operator::Reading;
use super::rules::Rule;
use crate::ops::{AxisToRows, Op, RowsToAxis, Transpose};
use crate::program::{Dim, Mark, VarId};
use crate::wire::AttrType;

impl Reading<'_, '_> {
    /// Reads the operator by its rule. If rows that stay apart do not fit it, the batch is an ordinary axis. An attempt that
    /// fails leaves nothing behind.
    pub(super) fn by_rule(&mut self, rule: Rule) -> Result<bool, ConvertError> {
        let owns_blocks = self.desc.attrs.iter().any(|attr| attr.r#type == i32::from(AttrType::Block));
        if owns_blocks {
            return rule(self);
        }
        let before = self.reader.program.mark(self.id());
        let result = rule(self);
        if matches!(&result, Ok(true)) {
            return result;
        }
        self.take_back(before);
        let does_not_fit = match &result {
            // Our own programs say what they mean.
            _ if self.reader.is_ours => false,
            Ok(_) => true,
            Err(error) => matches!(error.fault, Fault::Build(_)),
        };
        if !does_not_fit || !self.merge_rows()? {
            return result;
        }
        let lack = self.lack.take();
        match rule(self) {
            Ok(true) => Ok(true),
            _ => {
                self.take_back(before);
                (self.lack, self.merges) = (lack, false);
                result
            }
        }
    }

    fn take_back(&mut self, to: Mark) {
        self.reader.program.take_back(to);
        self.reader.merged.retain(|_, merged| to.has(*merged));
        self.reader.known.retain(|&value, _| to.has(value));
    }

    /// From now on, values with the rows of the batch are read with the batch as their first axis. False if no input has
    /// such rows.
    fn merge_rows(&mut self) -> Result<bool, Fault> {
        let Some(batch) = self.reader.batch else { return Ok(false) };
        let (desc, block) = (self.desc, self.id());
        for name in desc.inputs.iter().flat_map(|slot| &slot.arguments) {
            let Ok(value) = self.read(name) else { continue };
            if self.ty(value).rows == Some(batch) {
                let merged = match self.reader.merged.get(&(block, value)) {
                    Some(&merged) => merged,
                    None => self.rows_to_axis(value)?,
                };
                self.reader.merged.insert((block, value), merged);
                self.merges = true;
            }
        }
        Ok(self.merges)
    }

    /// A value with rows as one value whose first axis they are.
    pub(super) fn rows_to_axis(&mut self, value: VarId) -> Result<VarId, Fault> {
        match self.reader.program.writer(value) {
            Some(writer) if matches!(writer.op, Op::AxisToRows(_)) => Ok(writer.inputs[0]),
            _ => self.emit(RowsToAxis, &[value]),
        }
    }

    /// The value with the rows of the batch, if its first axis has their number.
    pub(super) fn with_rows(&mut self, value: VarId) -> Result<VarId, Fault> {
        let (Some(batch), Some(like)) = (self.reader.batch, self.reader.has_batch) else { return Ok(value) };
        let program = &self.reader.program;
        let (ty, size) = (program.ty(value), program.row_space(batch).size);
        if self.reader.is_ours || ty.rows.is_some() || ty.dims.first().and_then(Dim::as_symbol) != Some(size)
        {
            return Ok(value);
        }
        match program.writer(value) {
            Some(writer) if matches!(writer.op, Op::RowsToAxis(_)) => Ok(writer.inputs[0]),
            _ => self.emit(AxisToRows, &[value, like]),
        }
    }

    /// The value with its axes in another order. An order that undoes another one gives the value before it.
    pub(super) fn permuted(&mut self, value: VarId, perm: &[i64]) -> Result<VarId, Fault> {
        let (from, perm) = self.undone(value, perm);
        match perm.iter().enumerate().all(|(axis, &from)| axis as i64 == from) {
            true => Ok(from),
            false => self.emit(Transpose { perm }, &[from]),
        }
    }

    /// What `value` is a transposition of, and the order of its axes that makes `perm` of `value`.
    pub(super) fn undone(&self, value: VarId, perm: &[i64]) -> (VarId, Vec<i64>) {
        if let Some(writer) = self.reader.program.writer(value)
            && let Op::Transpose(Transpose { perm: inner }) = &writer.op
            && let Some(both) = perm.iter().map(|&axis| inner.get(axis as usize).copied()).collect()
        {
            return (writer.inputs[0], both);
        }
        (value, perm.to_vec())
    }
}
