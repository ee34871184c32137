//! Rules for our own operators that own blocks.

use std::collections::BTreeSet;

use crate::convert::derived::row_space;
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::ops::{For, If, LoopGrad, Parts, While};
use crate::program::{BlockId, RowsId, Type, VarId};

impl<'a> Reading<'_, 'a> {
    /// The block in an attribute, if this operator can own it.
    pub(super) fn owned(&self, attribute: &'static str) -> Result<usize, Fault> {
        let index = self.desc.attr_block(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let wrong = |reason| Fault::BlockReference { attribute, index, reason };
        let blocks = &self.reader.blocks;
        let block = usize::try_from(index).ok().filter(|&block| block < blocks.len());
        let block = block.ok_or_else(|| wrong("which does not exist"))?;
        if blocks[block].parent != Some(self.block) {
            return Err(wrong("whose parent is not the block of this operator"));
        }
        if self.reader.versions.id(block).is_some() {
            return Err(wrong("which another operator owns"));
        }
        Ok(block)
    }

    /// A block of our own dialect, which keeps its number.
    fn ours(&self, attribute: &'static str) -> Result<(usize, BlockId), Fault> {
        if !self.reader.is_ours {
            return Err(Fault::NoHeader);
        }
        let block = self.owned(attribute)?;
        Ok((block, BlockId(block as u32)))
    }

    /// Notes the block that this one differentiates. It runs on the rows of that block, which has to be read already.
    /// That block has to be in the block around this operator, or in the one that it differentiates.
    fn differentiates(&mut self, attribute: &'static str, block: usize) -> Result<(), Fault> {
        let program = &mut self.reader.draft.program;
        let id = BlockId(block as u32);
        let forward = usize::try_from(self.reader.blocks[block].forward).ok();
        let forward = forward.filter(|&forward| forward < self.reader.blocks.len());
        if let Some(forward) = forward.and_then(|forward| self.reader.versions.id(forward)) {
            let (around, parent) = (program.block(forward).parent, program.block(id).parent);
            let outer = parent.and_then(|parent| program.block(parent).forward);
            if around.is_some() && (around == parent || around == outer) {
                let rows = program.block(forward).rows;
                (program.block_mut(id).forward, program.block_mut(id).rows) = (Some(forward), rows);
                return Ok(());
            }
        }
        let reason = "which does not say what block it differentiates";
        Err(Fault::BlockReference { attribute, index: block as i32, reason })
    }

    /// Reads a block that gets values of these types.
    fn nested(&mut self, block: usize, types: &[Type]) -> Result<(), ConvertError> {
        let id = BlockId(block as u32);
        self.reader.versions.enter(block, id, BTreeSet::new());
        self.reader.enter(block, id, types)?;
        let results = self.reader.block(block)?;
        self.reader.draft.program.set_results(id, &results)?;
        Ok(())
    }

    pub(super) fn types(&self, vars: &[VarId]) -> Vec<Type> {
        vars.iter().map(|&var| self.ty(var).clone()).collect()
    }

    /// The variables in an output slot.
    fn outputs(&self, slot: &str) -> Vec<&'a str> {
        let desc = self.desc;
        desc.output(slot).iter().map(String::as_str).collect()
    }
}

/// Our `if`. Its blocks run on the rows that it chooses, or differentiate the blocks of another `if`.
pub(super) fn read_if(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let condition = x.input("Cond")?;
    let attributes = ["true_block", "false_block"];
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let mut ids = Vec::with_capacity(2);
    for (side, attribute) in attributes.into_iter().enumerate() {
        let (block, id) = x.ours(attribute)?;
        if x.reader.blocks[block].forward >= 0 {
            x.differentiates(attribute, block)?;
        } else {
            x.reader.draft.program.block_mut(id).rows = chosen(x, &rows, side)?;
        }
        x.nested(block, &[])?;
        ids.push(id);
    }
    x.define(If, &[condition], &ids, &x.outputs("Out"))
}

/// The row space of a side of an `if`, where it has one.
fn chosen(x: &Reading<'_, '_>, rows: &[i64], side: usize) -> Result<Option<RowsId>, Fault> {
    rows.get(side).map(|&number| row_space(&x.reader.draft.program, "row_spaces", number)).transpose()
}

/// Reads a body or a condition of a loop, which runs on `rows` and gets state and items.
fn iteration(
    x: &mut Reading<'_, '_>,
    attribute: &'static str,
    inputs: &[VarId],
    items: usize,
    rows: Option<RowsId>,
) -> Result<BlockId, ConvertError> {
    let (block, id) = x.ours(attribute)?;
    if x.reader.blocks[block].forward >= 0 {
        x.differentiates(attribute, block)?;
    } else {
        x.reader.draft.program.block_mut(id).rows = rows;
    }
    let (program, rows) = (&x.reader.draft.program, x.reader.draft.program.block(id).rows);
    let inside = |(k, mut ty): (usize, Type)| {
        if let (Some(of), Some(rows)) = (ty.rows, rows) {
            ty.rows = if k < items { program.find_iteration(of, rows) } else { Some(rows) };
        }
        ty
    };
    let types: Vec<Type> = x.types(inputs).into_iter().enumerate().map(inside).collect();
    x.nested(block, &types)?;
    Ok(id)
}

/// The number of items, which come before the other inputs.
fn items(x: &Reading<'_, '_>, inputs: &[VarId]) -> Result<usize, Fault> {
    let items = x.desc.attr_long("items")?.unwrap_or(0);
    let parts = Parts::new(items, inputs.len()).map(|parts| parts.items);
    let message = format!("there are {} inputs, not {items}", inputs.len());
    parts.ok_or(Fault::Attribute { attribute: "items", message })
}

/// Checks that the block of a loop differentiates no other one.
fn is_forward(x: &Reading<'_, '_>, id: BlockId, attribute: &'static str) -> Result<(), Fault> {
    if x.reader.draft.program.block(id).forward.is_none() {
        return Ok(());
    }
    let reason = "which differentiates another one, but this operator is no gradient";
    Err(Fault::BlockReference { attribute, index: id.0 as i32, reason })
}

/// Our `while`.
pub(super) fn read_while(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let state = x.inputs("X")?;
    let limit = x.desc.attr_long("limit")?.unwrap_or(While::DEFAULT_LIMIT);
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let mut ids = Vec::with_capacity(2);
    for (side, attribute) in ["condition_block", "body_block"].into_iter().enumerate() {
        let rows = chosen(x, &rows, side)?;
        let id = iteration(x, attribute, &state, 0, rows)?;
        is_forward(x, id, attribute)?;
        ids.push(id);
    }
    x.define(While { limit }, &state, &ids, &x.outputs("Out"))
}

/// Our `for`.
pub(super) fn read_for(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let inputs = x.inputs("X")?;
    let items = items(x, &inputs)?;
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let rows = chosen(x, &rows, 0)?;
    let id = iteration(x, "body_block", &inputs, items, rows)?;
    is_forward(x, id, "body_block")?;
    x.define(For { items: items as i64 }, &inputs, &[id], &x.outputs("Out"))
}

/// The gradient of our loops.
pub(super) fn read_loop_grad(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let inputs = x.inputs("Out@GRAD")?;
    let items = items(x, &inputs)?;
    let collected = x.desc.attr_long("collected")?.unwrap_or(0);
    let (block, _) = x.ours("body_block")?;
    x.differentiates("body_block", block)?;
    let id = iteration(x, "body_block", &inputs, items, None)?;
    x.define(LoopGrad { items: items as i64, collected }, &inputs, &[id], &x.outputs("X@GRAD"))
}
