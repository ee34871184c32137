//! Structured control flow: branches, loops and their gradients.

use super::super::backend::{Backend, Extent};
use super::super::code::LoopId;
use super::super::code::{
    Copy, Home, IfCode, Instruction, JoinCode, Slot, SlotId, Space, WhileCode, WhileGradCode,
};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::If;
use crate::program::{BlockId, Operator, RowsId, VarId};

impl<B: Backend> Lowering<'_, B> {
    pub(super) fn conditional(&mut self, operator: &Operator) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let condition = self.read(operator.inputs[0])?;
        let rows = self.slots[condition.0].shape.first().copied().unwrap_or(Extent::Fixed(1));
        let &[yes, no] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let splits = program.block(yes).forward.is_none();
        let spaces = match (program.block(yes).rows, program.block(no).rows) {
            (Some(yes), Some(no)) => {
                Some([self.space(yes, rows, operator)?, self.space(no, rows, operator)?])
            }
            _ => None,
        };
        // Gradients run in reverse, as loops in both branches share the tape.
        let mut branches = [0; 2];
        for side in if splits { [0, 1] } else { [1, 0] } {
            branches[side] = self.nested(operator.blocks[side])?;
        }
        self.now += 1;
        for space in spaces.into_iter().flatten() {
            self.touch(self.spaces[space].index);
        }
        let mut joins = Vec::with_capacity(operator.outputs.len());
        for (k, &output) in operator.outputs.iter().enumerate() {
            let result = |block: BlockId| program.block(block).results[k];
            let join = If::join(program.block(yes).rows, program.ty(result(yes)));
            let from = [self.read(result(yes))?, self.read(result(no))?];
            joins.push(JoinCode { join, from, to: self.define(output)? });
        }
        Ok(Instruction::If(Box::new(IfCode { condition, spaces, splits, rows, branches, joins })))
    }

    /// The space of a row space; on first sight with a slot for the row numbers.
    pub(super) fn space(
        &mut self,
        rows: RowsId,
        parent: Extent,
        operator: &Operator,
    ) -> Result<usize, PlanError> {
        if let Some(&space) = self.space_of.get(&rows) {
            self.touch(self.spaces[space].index);
            return Ok(space);
        }
        let around = operator.blocks.first().and_then(|&block| self.recorded_around(block));
        let slot = Slot {
            name: format!("row numbers of {}", self.program.row_space(rows).name),
            shape: vec![parent],
            element_bytes: size_of::<u32>(),
            dtype: None,
            home: around.map_or(Home::Arena, Home::Frame),
            life: (self.now, self.now),
        };
        let (index, size) = (self.add_slot(slot), self.program.row_space(rows).size);
        self.spaces.push(Space { size, index });
        self.space_of.insert(rows, self.spaces.len() - 1);
        if let Some(around) = around {
            self.loops[around.0].sizes.push(size);
        }
        Ok(self.spaces.len() - 1)
    }

    pub(super) fn while_loop(
        &mut self,
        operator: &Operator,
        limit: i64,
    ) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let &[condition_block, body_block] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let recorded = self.recorded.get(&body_block).copied();
        if let (Some(inner), Some(around)) = (recorded, self.recorded_around_parent(body_block)) {
            self.loops[around.0].inner.push(inner);
        }
        let enter = self.enter(&operator.inputs, &operator.outputs)?;
        self.begin_loop();
        let states: Vec<SlotId> = enter.iter().map(|copy| copy.to).collect();
        for (k, &param) in program.block(condition_block).params.iter().enumerate() {
            self.slot_of.insert(param, states[k]);
        }
        let condition = self.nested(condition_block)?;
        let holds = self.read(program.block(condition_block).results[0])?;
        let mut save = Vec::new();
        for (k, &param) in program.block(body_block).params.iter().enumerate() {
            if recorded.is_some() && self.is_saved(param) {
                save.push(Copy { from: states[k], to: self.define(param)? });
            } else {
                self.slot_of.insert(param, states[k]);
            }
        }
        let body = self.nested(body_block)?;
        self.now += 1;
        let advance = self.advance(&program.block(body_block).results, &states)?;
        for &state in &states {
            self.touch(state);
        }
        self.end_loop();
        for &state in &states {
            self.touch(state);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let origin = self.origin(operator);
        let code = WhileCode { limit, origin, condition, holds, body, enter, save, advance, recorded };
        Ok(Instruction::While(Box::new(code)))
    }

    /// Copies of what comes in to the slots of what comes out, which hold the state of a loop.
    pub(super) fn enter(&mut self, from: &[VarId], to: &[VarId]) -> Result<Vec<Copy>, PlanError> {
        let from = from.iter().map(|&var| self.read(var)).collect::<Result<Vec<_>, _>>()?;
        let to = to.iter().map(|&var| self.define(var)).collect::<Result<Vec<_>, _>>()?;
        Ok(from.into_iter().zip(to).map(|(from, to)| Copy { from, to }).collect())
    }

    /// Copies of results to the state, all at once: a result that is itself a part of the state goes by a detour.
    pub(super) fn advance(&mut self, results: &[VarId], states: &[SlotId]) -> Result<Vec<Copy>, PlanError> {
        let (mut detours, mut copies) = (Vec::new(), Vec::new());
        for (&result, &state) in results.iter().zip(states) {
            let mut from = self.read(result)?;
            if from == state {
                continue;
            }
            if states.contains(&from) {
                let detour = self.slot_like(result, Home::Arena);
                detours.push(Copy { from, to: detour });
                from = detour;
            }
            copies.push(Copy { from, to: state });
        }
        detours.extend(copies);
        Ok(detours)
    }

    pub(super) fn recorded_around_parent(&self, block: BlockId) -> Option<LoopId> {
        self.program.block(block).parent.and_then(|parent| self.recorded_around(parent))
    }

    pub(super) fn while_grad(&mut self, operator: &Operator) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let block = program.block(operator.blocks[0]);
        let Some(&recorded) = block.forward.and_then(|forward| self.recorded.get(&forward)) else {
            return Err(self.unsupported(operator, "the loop that it differentiates is not run".into()));
        };
        if !self.unwound.insert(recorded) {
            return Err(
                self.unsupported(operator, "the tape of a loop unwinds once, for one gradient".into())
            );
        }
        let (states, sums) = operator.outputs.split_at(operator.inputs.len());
        let enter = self.enter(&operator.inputs, states)?;
        let totals = sums.iter().map(|&var| self.define(var)).collect::<Result<Vec<_>, _>>()?;
        self.begin_loop();
        let states: Vec<SlotId> = enter.iter().map(|copy| copy.to).collect();
        for (k, &param) in block.params.iter().enumerate() {
            self.slot_of.insert(param, states[k]);
        }
        let body = self.nested(operator.blocks[0])?;
        self.now += 1;
        let (next, added) = block.results.split_at(states.len());
        let mut sums = Vec::with_capacity(totals.len());
        for (&result, &to) in added.iter().zip(&totals) {
            sums.push(Copy { from: self.read(result)?, to });
        }
        let advance = self.advance(next, &states)?;
        for &slot in states.iter().chain(&totals) {
            self.touch(slot);
        }
        self.end_loop();
        for &slot in states.iter().chain(&totals) {
            self.touch(slot);
        }
        Ok(Instruction::WhileGrad(Box::new(WhileGradCode { recorded, body, enter, advance, sums })))
    }
}
