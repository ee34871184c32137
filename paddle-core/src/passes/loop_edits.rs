//! Edits of loops that several passes need: values brought to each iteration, and values collected from each.

use crate::ops::{Operator, Parts, Program};
use crate::program::{BlockId, BuildError, Definition, Type, VarId};

/// A loop: the block that it stands in, and its position there.
#[derive(Clone, Copy)]
pub(super) struct LoopAt {
    pub(super) block: BlockId,
    pub(super) at: usize,
    pub(super) body: BlockId,
    pub(super) parts: Parts,
}

impl LoopAt {
    /// The operator at a place, if it is a loop.
    pub(super) fn find(program: &Program, block: BlockId, at: usize) -> Option<Self> {
        let operator = &program.block(block).ops[at];
        let parts = operator.op.operation().control()?.iterates(operator)?;
        Some(LoopAt { block, at, body: *operator.blocks.last()?, parts })
    }

    /// The loop with this body.
    pub(super) fn with_body(program: &Program, body: BlockId) -> Option<Self> {
        let block = program.block(body).parent?;
        let at =
            program.block(block).ops.iter().position(|operator| operator.blocks.last() == Some(&body))?;
        LoopAt::find(program, block, at)
    }

    pub(super) fn operator<'p>(&self, program: &'p Program) -> &'p Operator {
        &program.block(self.block).ops[self.at]
    }

    /// Sets the parts of the operator. `false` if the operator cannot have them.
    fn set_parts(&mut self, program: &mut Program, parts: Parts) -> bool {
        let control = self.operator(program).op.operation().control();
        let Some(op) = control.and_then(|control| control.with_parts(parts)) else { return false };
        self.parts = parts;
        program.block_mut(self.block).ops[self.at].op = op;
        true
    }

    /// Brings a value to the iterations: returns the parameter of the body that has an iteration's part of it. `None`
    /// if the loop takes no such values.
    pub(super) fn bring(&mut self, program: &mut Program, outer: VarId) -> Result<Option<VarId>, BuildError> {
        let known = self.operator(program).inputs[..self.parts.items].iter().position(|&item| item == outer);
        if let Some(known) = known {
            return Ok(Some(program.block(self.body).params[known]));
        }
        let ty = program.ty(outer).clone();
        let rows = ty.rows.zip(program.block(self.body).rows);
        let Some(inside) = rows.and_then(|(of, rows)| program.iteration_of(of, rows)) else {
            return Ok(None);
        };
        let at = self.parts.items;
        if !self.set_parts(program, Parts { items: at + 1, ..self.parts }) {
            return Ok(None);
        }
        let name = program.var(outer).name.clone();
        let param = program.create_block_parameter(self.body, &name, Type { rows: Some(inside), ..ty })?;
        let params = &mut program.block_mut(self.body).params;
        params.pop();
        params.insert(at, param);
        program.block_mut(self.block).ops[self.at].inputs.insert(at, outer);
        Ok(Some(param))
    }

    /// Collects a value of the body: returns the value, behind the loop, that holds it for all iterations. `None` if it
    /// cannot be collected.
    pub(super) fn collect(
        &mut self,
        program: &mut Program,
        inner: VarId,
    ) -> Result<Option<VarId>, BuildError> {
        let Parts { items, states, collected } = self.parts;
        let params = &program.block(self.body).params[..items];
        if let Some(item) = params.iter().position(|&param| param == inner) {
            return Ok(Some(self.operator(program).inputs[item]));
        }
        let known = program.block(self.body).results[states..states + collected].iter();
        if let Some(known) = known.clone().position(|&result| result == inner) {
            return Ok(Some(self.operator(program).outputs[states + known]));
        }
        let ty = program.ty(inner).clone();
        let rows = ty.rows.zip(program.block(self.body).rows);
        let Some(rows) = rows.and_then(|(of, rows)| program.over_iterations(of, rows)) else {
            return Ok(None);
        };
        if !self.set_parts(program, Parts { collected: collected + 1, ..self.parts }) {
            return Ok(None);
        }
        let at = states + collected;
        let name = program.fresh_name(&program.var(inner).name);
        let output =
            program.add_var(&name, Type { rows: Some(rows), ..ty }, self.block, Definition::Operator)?;
        program.block_mut(self.body).results.insert(at, inner);
        program.block_mut(self.block).ops[self.at].outputs.insert(at, output);
        Ok(Some(output))
    }

    /// Removes the values brought to the iterations that the body does not read.
    pub(super) fn drop_unread_items(&mut self, program: &mut Program) {
        for item in (0..self.parts.items).rev() {
            let param = program.block(self.body).params[item];
            if !is_read(program, param)
                && self.set_parts(program, Parts { items: self.parts.items - 1, ..self.parts })
            {
                program.block_mut(self.body).params.remove(item);
                program.block_mut(self.block).ops[self.at].inputs.remove(item);
            }
        }
    }

    /// Removes a result of the body that is not loop state, and the output of the loop that belongs to it.
    pub(super) fn drop_result(&mut self, program: &mut Program, result: usize) {
        let Parts { states, collected, .. } = self.parts;
        if result < states + collected {
            self.set_parts(program, Parts { collected: collected - 1, ..self.parts });
        }
        program.block_mut(self.body).results.remove(result);
        program.block_mut(self.block).ops[self.at].outputs.remove(result);
    }
}

/// Whether `block` is `outer` or inside of it.
pub(super) fn is_inside(program: &Program, block: BlockId, outer: BlockId) -> bool {
    let mut at = Some(block);
    while let Some(id) = at.filter(|&id| id != outer) {
        at = program.block(id).parent;
    }
    at.is_some()
}

/// The bodies of the loops in a block and its nested blocks, inner loops first.
pub(super) fn bodies(program: &Program, block: BlockId, found: &mut Vec<BlockId>) {
    for (at, operator) in program.block(block).ops.iter().enumerate() {
        operator.blocks.iter().for_each(|&inner| bodies(program, inner, found));
        found.extend(LoopAt::find(program, block, at).map(|found| found.body));
    }
}

/// Whether anything reads a value.
pub(super) fn is_read(program: &Program, var: VarId) -> bool {
    let in_blocks = program.blocks().iter().any(|block| {
        block.results.contains(&var) || block.ops.iter().any(|operator| operator.inputs.contains(&var))
    });
    in_blocks
        || program.gradients().iter().any(|pair| pair.gradient == var)
        || program.taps().iter().any(|tap| tap.var == var)
}

/// Removes operators whose results nothing reads.
pub(super) fn drop_unread(program: &mut Program, block: BlockId) {
    for at in (0..program.block(block).ops.len()).rev() {
        let operator = &program.block(block).ops[at];
        let is_pure = operator.op.effects().pure && !operator.op.effects().blocks;
        if is_pure && !operator.outputs.iter().any(|&output| is_read(program, output)) {
            program.block_mut(block).ops.remove(at);
        }
    }
}
