//! The frame of a loop that is read: its blocks, and how values go in and out.
//!
//! A loop over everything collects nothing, as its values may have rows of their own. One that collects is therefore a loop over the rows of
//! which there is one: all else is an axis of that row outside of the body, and what it was inside.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::convert::draft::At;
use crate::convert::from_wire::{Fault, Reading};
use crate::ops::{AxisToRows, Fill, Gather, RowNumbers, RowsToAxis, ScatterRows, SequencePad, While};
use crate::program::{BlockId, DType, Dim, RowsId, Type, VarId};

pub(super) struct Frame {
    /// The condition and the body.
    pub(super) blocks: [BlockId; 2],
    /// A value with each of the rows that values have, if the loop collects.
    likes: Option<BTreeMap<RowsId, VarId>>,
}

impl Frame {
    /// The frame of a loop whose state has these types.
    pub(super) fn of(x: &mut Reading<'_, '_>, types: &[Type], collects: bool) -> Result<Frame, Fault> {
        let outer = x.id();
        if !collects {
            let program = &mut x.reader.draft.program;
            let blocks = [program.create_block(outer, None)?, program.create_block(outer, None)?];
            return Ok(Frame { blocks, likes: None });
        }
        let mut likes = BTreeMap::new();
        for rows in types.iter().filter_map(|ty| ty.rows) {
            if let Entry::Vacant(like) = likes.entry(rows) {
                like.insert(x.emit(RowNumbers::of(rows), &[])?);
            }
        }
        let row = x.reader.draft.program.fixed_rows(1);
        let (blocks, _) = x.reader.draft.program.create_loop(outer, row, "iterations")?;
        Ok(Frame { blocks, likes: Some(likes) })
    }

    /// The place in the body where operators are appended.
    pub(super) fn body<'x>(&self, x: &'x mut Reading<'_, '_>) -> At<'x> {
        At { block: self.blocks[1], ..x.at() }
    }

    /// The rows of a block of the loop.
    fn rows(&self, x: &Reading<'_, '_>, block: usize) -> Option<RowsId> {
        x.reader.draft.program.block(self.blocks[block]).rows
    }

    /// A value before the loop as the loop takes it.
    pub(super) fn initial(&self, x: &mut Reading<'_, '_>, value: VarId) -> Result<VarId, Fault> {
        if self.likes.is_none() {
            return Ok(value);
        }
        let mut at = x.at();
        let value = if at.ty(value).rows.is_some() { at.rows_to_axis(value)? } else { value };
        at.as_only_row(value)
    }

    /// A parameter of the condition or of the body, for state of this type.
    pub(super) fn parameter(
        &self,
        x: &mut Reading<'_, '_>,
        block: usize,
        name: &str,
        ty: &Type,
    ) -> Result<VarId, Fault> {
        let ty = match self.likes {
            None => ty.clone(),
            Some(_) => {
                let dims = x.reader.draft.program.shape(ty);
                Type { dtype: ty.dtype, rows: self.rows(x, block), dims }
            }
        };
        x.reader.draft.block_parameter(self.blocks[block], name, &ty)
    }

    /// The state of this type in a parameter of the body.
    pub(super) fn inside(&self, x: &mut Reading<'_, '_>, param: VarId, ty: &Type) -> Result<VarId, Fault> {
        let Some(likes) = &self.likes else { return Ok(param) };
        let mut at = self.body(x);
        let first = at.emit(Fill::zeros(Type::new(DType::I64, [1])), &[])?;
        let all = at.emit(RowsToAxis, &[param])?;
        let only = at.emit(Gather { axis: 0 }, &[all, first])?;
        at.unframed(only, ty, likes)
    }

    /// What an iteration leaves as a result of the body.
    pub(super) fn result(&self, x: &mut Reading<'_, '_>, value: VarId) -> Result<VarId, Fault> {
        if self.likes.is_none() {
            return Ok(value);
        }
        let rows = self.rows(x, 1);
        let mut at = self.body(x);
        let value = if at.ty(value).rows.is_some() { at.rows_to_axis(value)? } else { value };
        let dims = [&[Dim::from(1)], &at.ty(value).dims[..]].concat();
        let value = at.shaped(value, dims)?;
        let first = at.emit(Fill::zeros(Type { rows, ..Type::scalar(DType::I64) }), &[])?;
        at.emit(Gather { axis: 0 }, &[value, first])
    }

    /// Appends the loop, with so many results.
    pub(super) fn append(
        &self,
        x: &mut Reading<'_, '_>,
        initial: &[VarId],
        results: usize,
    ) -> Result<Vec<VarId>, Fault> {
        let op = While { limit: While::DEFAULT_LIMIT };
        let (block, site) = (x.id(), x.site);
        x.reader.draft.append(block, op.into(), initial, &self.blocks, &vec!["while"; results], site)
    }

    /// The state of this type behind the loop.
    pub(super) fn last(&self, x: &mut Reading<'_, '_>, value: VarId, ty: &Type) -> Result<VarId, Fault> {
        let Some(likes) = &self.likes else { return Ok(value) };
        let mut at = x.at();
        let only = at.emit(RowsToAxis, &[value])?;
        at.unframed(only, ty, likes)
    }

    /// What all iterations gave, one after the other along a first axis. If it is known how many there are, the axis has that size.
    pub(super) fn collected(
        &self,
        x: &mut Reading<'_, '_>,
        value: VarId,
        count: Option<&Dim>,
    ) -> Result<VarId, Fault> {
        let mut at = x.at();
        let tokens = at.emit(ScatterRows, &[value])?;
        let Some(count) = count else { return at.emit(RowsToAxis, &[tokens]) };
        let all = at.emit(SequencePad { length: count.clone(), pad_value: 0.0 }, &[tokens])?;
        let all = at.emit(RowsToAxis, &[all])?;
        let dims = at.ty(all).dims[1..].to_vec();
        at.shaped(all, dims)
    }
}

impl At<'_> {
    /// A value of this type that is the only one along a first axis.
    fn unframed(&mut self, value: VarId, ty: &Type, likes: &BTreeMap<RowsId, VarId>) -> Result<VarId, Fault> {
        let dims = self.draft.program.shape(ty);
        let value = self.shaped(value, dims)?;
        match ty.rows.and_then(|rows| likes.get(&rows)) {
            Some(&like) => self.emit(AxisToRows, &[value, like]),
            None => Ok(value),
        }
    }
}
