//! Reads operators that own blocks.

use super::{Reading, id};
use crate::convert::blocks::{one, owned};
use crate::convert::derived::row_space;
use crate::convert::error::{ConvertError, Fault};
use crate::ops::{For, If, LoopGrad, Parts, While};
use crate::program::{BlockId, RowsId, Type, VarId};

impl Reading<'_, '_> {
    /// `if`. Its blocks run on the rows that it chooses, or differentiate the blocks of another `if`.
    pub(super) fn branches(&mut self) -> Result<(), ConvertError> {
        let condition = self.reader.value(self.block, one(self.desc.input("Cond"), "Cond")?)?;
        let mut ids = Vec::with_capacity(2);
        for (side, attribute) in ["true_block", "false_block"].into_iter().enumerate() {
            let block = self.owned(attribute)?;
            self.on_rows(attribute, block, self.chosen(side)?)?;
            self.nested(block, &[])?;
            ids.push(id(block));
        }
        self.append(If.into(), &[condition], &ids, &self.outputs("Out"))
    }

    pub(super) fn while_loop(&mut self) -> Result<(), ConvertError> {
        let state = self.inputs("X")?;
        let limit = self.desc.attr_long("limit")?.unwrap_or(While::DEFAULT_LIMIT);
        let mut ids = Vec::with_capacity(2);
        for (side, attribute) in ["condition_block", "body_block"].into_iter().enumerate() {
            let body = self.iteration(attribute, &state, 0, self.chosen(side)?)?;
            self.check_forward(body, attribute)?;
            ids.push(body);
        }
        self.append(While { limit }.into(), &state, &ids, &self.outputs("Out"))
    }

    pub(super) fn for_loop(&mut self) -> Result<(), ConvertError> {
        let inputs = self.inputs("X")?;
        let items = self.items(&inputs)?;
        let body = self.iteration("body_block", &inputs, items, self.chosen(0)?)?;
        self.check_forward(body, "body_block")?;
        self.append(For { items: items as i64 }.into(), &inputs, &[body], &self.outputs("Out"))
    }

    /// The gradient of a loop.
    pub(super) fn loop_gradient(&mut self) -> Result<(), ConvertError> {
        let inputs = self.inputs("Out@GRAD")?;
        let items = self.items(&inputs)?;
        let collected = self.desc.attr_long("collected")?.unwrap_or(0);
        let block = self.owned("body_block")?;
        self.differentiates("body_block", block)?;
        let body = self.iteration("body_block", &inputs, items, None)?;
        let op = LoopGrad { items: items as i64, collected };
        self.append(op.into(), &inputs, &[body], &self.outputs("X@GRAD"))
    }

    /// The block in an attribute, if this operator can own it.
    fn owned(&self, attribute: &'static str) -> Result<usize, Fault> {
        let is_taken = |block: usize| self.reader.owned[block];
        owned(&self.reader.blocks, self.desc, attribute, self.block, is_taken)
    }

    /// The row space of the block with this number among those of the operator, where it has one.
    fn chosen(&self, side: usize) -> Result<Option<RowsId>, Fault> {
        let rows = self.desc.attr_longs("row_spaces")?.unwrap_or_default();
        rows.get(side).map(|&number| row_space(&self.reader.program, "row_spaces", number)).transpose()
    }

    /// A block runs on `rows`, or on those of the block that it differentiates.
    fn on_rows(&mut self, attribute: &'static str, block: usize, rows: Option<RowsId>) -> Result<(), Fault> {
        if self.reader.blocks[block].forward >= 0 {
            return self.differentiates(attribute, block);
        }
        self.reader.program.block_mut(id(block)).rows = rows;
        Ok(())
    }

    /// Notes the block that this one differentiates. It runs on the rows of that block, which has to be read already.
    /// That block has to be in the block around this operator, or in the one that it differentiates.
    fn differentiates(&mut self, attribute: &'static str, block: usize) -> Result<(), Fault> {
        let program = &mut self.reader.program;
        let forward = usize::try_from(self.reader.blocks[block].forward).ok();
        let is_read = |forward: &usize| self.reader.owned.get(*forward) == Some(&true);
        if let Some(forward) = forward.filter(is_read).map(id) {
            let (around, parent) = (program.block(forward).parent, program.block(id(block)).parent);
            let outer = parent.and_then(|parent| program.block(parent).forward);
            if around.is_some() && (around == parent || around == outer) {
                let rows = program.block(forward).rows;
                let block = program.block_mut(id(block));
                (block.forward, block.rows) = (Some(forward), rows);
                return Ok(());
            }
        }
        let reason = "which does not say what block it differentiates";
        Err(Fault::BlockReference { attribute, index: block as i32, reason })
    }

    /// Reads a block that gets values of these types.
    fn nested(&mut self, block: usize, types: &[Type]) -> Result<(), ConvertError> {
        self.reader.owned[block] = true;
        self.reader.block_parameters(block, types)?;
        let results = self.reader.block(block)?;
        self.reader.program.set_results(id(block), &results)?;
        Ok(())
    }

    /// Reads a body or a condition of a loop, which runs on `rows` and gets state and items.
    fn iteration(
        &mut self,
        attribute: &'static str,
        inputs: &[VarId],
        items: usize,
        rows: Option<RowsId>,
    ) -> Result<BlockId, ConvertError> {
        let block = self.owned(attribute)?;
        self.on_rows(attribute, block, rows)?;
        let (program, rows) = (&self.reader.program, self.reader.program.block(id(block)).rows);
        let inside = |(k, mut ty): (usize, Type)| {
            if let (Some(of), Some(rows)) = (ty.rows, rows) {
                ty.rows = if k < items { program.find_iteration(of, rows) } else { Some(rows) };
            }
            ty
        };
        let types: Vec<Type> = self.types(inputs).into_iter().enumerate().map(inside).collect();
        self.nested(block, &types)?;
        Ok(id(block))
    }

    /// The number of items, which come before the other inputs.
    fn items(&self, inputs: &[VarId]) -> Result<usize, Fault> {
        let items = self.desc.attr_long("items")?.unwrap_or(0);
        let parts = Parts::new(items, inputs.len()).map(|parts| parts.items);
        let message = format!("there are {} inputs, not {items}", inputs.len());
        parts.ok_or(Fault::Attribute { attribute: "items", message })
    }

    /// Checks that the block of a loop differentiates no other one.
    fn check_forward(&self, block: BlockId, attribute: &'static str) -> Result<(), Fault> {
        if self.reader.program.block(block).forward.is_none() {
            return Ok(());
        }
        let reason = "which differentiates another one, but this operator is no gradient";
        Err(Fault::BlockReference { attribute, index: block.0 as i32, reason })
    }
}
