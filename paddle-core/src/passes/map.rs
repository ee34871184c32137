//! `map`: runs on all tokens at once what an iteration of a `for` computes without the state of the loop.
//!
//! The tokens become the rows of what is moved in front of the loop. So the sentences of a text go through a recurrent
//! network together, in as many steps as the longest sentence has words. A loop without state is left without results, so the
//! plan drops it. Other loops keep what depends on their state; of these, only what inner loops and branches compute is moved, with
//! what that depends on, because `hoist` moves the rest.

mod row_map;

use std::collections::{BTreeMap, BTreeSet};

use self::row_map::RowMap;
use super::loop_edits::{LoopAt, bodies, drop_unread, is_inside, is_read};
use crate::ops::{GatherRows, Op, Operator, Program, ScatterRows, SequenceExpandAs, SequenceLength};
use crate::program::{BlockId, BuildError, OpInterface, RowOrigin, RowsId, VarId};

/// Maps the bodies of all loops along sequences, inner loops first.
pub fn map(program: &mut Program) -> Result<(), BuildError> {
    let mut found = Vec::new();
    bodies(program, Program::GLOBAL, &mut found);
    for body in found {
        if program.block(body).forward.is_none()
            && let Some(at) = LoopAt::with_body(program, body)
            && let Some(rows) = RowMap::of_body(program, body)
        {
            Mapping { at, rows, outside: BTreeMap::new(), loose: Vec::new() }.run(program)?;
        }
    }
    Ok(())
}

struct Mapping {
    at: LoopAt,
    rows: RowMap,
    /// Values of the body, each with its counterpart for all tokens.
    outside: BTreeMap<VarId, VarId>,
    /// Values in front of the loop that may not be read any more.
    loose: Vec<VarId>,
}

impl Mapping {
    fn run(mut self, program: &mut Program) -> Result<(), BuildError> {
        let body = self.at.body;
        let moved = self.moved(program);
        if moved.is_empty() && self.at.parts.states > 0 {
            return Ok(());
        }
        let mut kept = Vec::new();
        for (at, operator) in program.block(body).ops.clone().into_iter().enumerate() {
            match moved.contains(&at) {
                true if is_copied(&operator) => {
                    self.move_out(program, &operator)?;
                    kept.push(operator);
                }
                true => self.move_out(program, &operator)?,
                false => kept.push(operator),
            }
        }
        let remaining: BTreeSet<VarId> = kept.iter().flat_map(|operator| operator.outputs.clone()).collect();
        program.block_mut(body).ops = kept;
        self.replace_results(program)?;
        let gone = self
            .outside
            .iter()
            .filter(|(inner, _)| !remaining.contains(inner) && !program.block(body).params.contains(inner));
        for (inner, outer) in gone.map(|(&inner, &outer)| (inner, outer)).collect::<Vec<_>>() {
            if is_read(program, inner) {
                let local = self.bring(program, outer, program.ty(inner).rows)?;
                program.replace(inner, local);
            }
        }
        drop_unread(program, body);
        self.at.drop_unread_items(program);
        // A loop that is left without results stays until the plan drops it, as it owns its body.
        for var in std::mem::take(&mut self.loose).into_iter().rev() {
            let writer = program.writer(var).filter(|_| !is_read(program, var));
            let is_pure = writer.is_some_and(|writer| writer.op.effects().pure);
            let ops = &mut program.block_mut(self.at.block).ops;
            ops.retain(|operator| !is_pure || operator.outputs != [var]);
        }
        Ok(())
    }

    /// The positions of the operators that are moved.
    fn moved(&self, program: &Program) -> BTreeSet<usize> {
        let block = program.block(self.at.body);
        let mut known: BTreeSet<VarId> = block.params[..self.at.parts.items].iter().copied().collect();
        known.retain(|&item| self.rows.has_counterpart(program, program.ty(item)));
        // The first item says which tokens there are.
        if !block.params.first().is_some_and(|first| known.contains(first)) {
            return BTreeSet::new();
        }
        let mut movable = BTreeSet::new();
        for (at, operator) in block.ops.iter().enumerate() {
            if self.is_movable(program, operator, &known) {
                known.extend(&operator.outputs);
                movable.insert(at);
            }
        }
        if self.at.parts.states == 0 {
            return movable;
        }
        // What the operators with blocks need.
        let mut needed: BTreeSet<VarId> = BTreeSet::new();
        let mut moved = BTreeSet::new();
        for &at in movable.iter().rev() {
            let operator = &block.ops[at];
            if operator.op.effects().blocks || operator.outputs.iter().any(|output| needed.contains(output)) {
                needed.extend(reads(program, operator));
                moved.insert(at);
            }
        }
        moved
    }

    /// Whether an operator of the body can run on all tokens. `known` are the values that have counterparts.
    fn is_movable(&self, program: &Program, operator: &Operator, known: &BTreeSet<VarId>) -> bool {
        let reads_known = reads(program, operator)
            .iter()
            .all(|&var| !is_inside(program, program.var(var).block, self.at.body) || known.contains(&var));
        let nested = nested(program, operator);
        let all = nested.iter().flat_map(|&block| &program.block(block).ops).chain([operator]);
        let defined = nested.iter().flat_map(|&block| &program.block(block).params);
        let defined = defined.chain(all.clone().flat_map(|operator| &operator.outputs));
        let rows = self.rows.with_own(program, &nested);
        let gives_rows = |output: &VarId| program.ty(*output).rows.is_some();
        let makes = operator.op.operation().makes(program, operator);
        let is_made = |output: &VarId| {
            let rows =
                std::iter::successors(program.ty(*output).rows, |&rows| program.row_space(rows).parent);
            rows.into_iter().any(|rows| makes.contains(&rows))
        };
        reads_known
            && !operator.outputs.iter().any(is_made)
            && (nested.is_empty() || operator.outputs.iter().any(gives_rows))
            && all.clone().all(|operator| rows.is_by_row(program, operator))
            && defined.clone().all(|&var| rows.has_counterpart(program, program.ty(var)))
            && nested.iter().all(|&block| program.block(block).rows.is_none_or(|own| rows.maps(program, own)))
    }

    /// Computes the counterparts of an operator's results in front of the loop.
    fn move_out(&mut self, program: &mut Program, operator: &Operator) -> Result<(), BuildError> {
        let nested = nested(program, operator);
        self.rows = self.rows.with_own(program, &nested);
        if let (&[input], &[output]) = (&operator.inputs[..], &operator.outputs[..])
            && program.ty(output).rows == Some(self.rows.iteration)
            && program.ty(input).rows == program.source_of(self.rows.iteration)
            && program.ty(input).rows.is_some()
        {
            // A value of the rows around the loop is repeated for the tokens of each.
            let tokens = self.any_on_tokens(program, operator)?;
            let repeated = self.insert(program, SequenceExpandAs.into(), &[input, tokens], &[], operator)?;
            self.outside.insert(output, repeated[0]);
            self.loose.push(repeated[0]);
            return Ok(());
        }
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for &input in &operator.inputs {
            inputs.push(self.counterpart(program, input)?);
        }
        let mut spaces = BTreeMap::new();
        for &block in &nested {
            let body = program.block(block);
            let inner = body.ops.iter().flat_map(|operator| &operator.outputs).chain(&body.params);
            let named = body.ops.iter().flat_map(|operator| operator.op.row_spaces());
            let of_values = inner.filter_map(|&var| program.ty(var).rows);
            let all: BTreeSet<RowsId> = of_values.chain(named).chain(body.rows).collect();
            for rows in all {
                spaces.insert(rows, self.rows.counterpart(program, rows));
            }
            for var in reads_of_block(program, block) {
                if is_inside(program, program.var(var).block, self.at.body)
                    && !nested.iter().any(|&inner| program.var(var).block == inner)
                {
                    self.counterpart(program, var)?;
                }
            }
        }
        for rows in operator.op.row_spaces() {
            spaces.insert(rows, self.rows.counterpart(program, rows));
        }
        for &block in &nested {
            program.change_rows(block, &spaces);
            let outside = &self.outside;
            let block = program.block_mut(block);
            for operator in &mut block.ops {
                operator.op = operator.op.with_rows(&spaces);
            }
            let read = block.ops.iter_mut().flat_map(|operator| &mut operator.inputs);
            for var in read.chain(&mut block.results) {
                *var = outside.get(var).copied().unwrap_or(*var);
            }
        }
        for &block in &operator.blocks {
            program.block_mut(block).parent = Some(self.at.block);
        }
        let op = operator.op.with_rows(&spaces);
        let outputs = self.insert(program, op, &inputs, &operator.blocks, operator)?;
        for (&inner, outer) in operator.outputs.iter().zip(outputs) {
            if !is_copied(operator) {
                program.swap_names(inner, outer);
            }
            self.outside.insert(inner, outer);
        }
        Ok(())
    }

    /// Some value of all tokens. Its elements are not read.
    fn any_on_tokens(&mut self, program: &mut Program, reader: &Operator) -> Result<VarId, BuildError> {
        let mut value = self.counterpart(program, program.block(self.at.body).params[0])?;
        while program.ty(value).rows != Some(self.rows.tokens) {
            value = self.insert(program, SequenceLength.into(), &[value], &[], reader)?[0];
        }
        Ok(value)
    }

    fn insert(
        &mut self,
        program: &mut Program,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        origin: &Operator,
    ) -> Result<Vec<VarId>, BuildError> {
        let outputs = program.insert_block_op(self.at.block, self.at.at, op, inputs, blocks, origin.site)?;
        self.at.at += 1;
        Ok(outputs)
    }

    /// The counterpart of a value that a moved operator reads.
    fn counterpart(&mut self, program: &mut Program, var: VarId) -> Result<VarId, BuildError> {
        if let Some(&known) = self.outside.get(&var) {
            return Ok(known);
        }
        let Some(item) = program.block(self.at.body).params.iter().position(|&param| param == var) else {
            return Ok(var);
        };
        let item = self.at.operator(program).inputs[item];
        self.loose.push(item);
        let tokens = self.unordered(program, item)?;
        self.outside.insert(var, tokens);
        Ok(tokens)
    }

    /// Takes what the loop collects of moved values from their counterparts.
    fn replace_results(&mut self, program: &mut Program) -> Result<(), BuildError> {
        let states = self.at.parts.states;
        for result in (states..states + self.at.parts.collected).rev() {
            let inner = program.block(self.at.body).results[result];
            let output = self.at.operator(program).outputs[result];
            let params = &program.block(self.at.body).params;
            let ordered = match params.iter().position(|&param| param == inner) {
                Some(item) => self.at.operator(program).inputs[item],
                None => match (self.outside.get(&inner), program.ty(output).rows) {
                    (Some(&whole), Some(steps)) => self.ordered(program, whole, steps)?,
                    _ => continue,
                },
            };
            self.at.drop_result(program, result);
            program.replace(output, ordered);
            self.loose.push(ordered);
            self.skip_reordering(program, ordered);
        }
        Ok(())
    }

    /// Reads a value as it was before it was brought to the order of the loop, where it would be brought back.
    fn skip_reordering(&mut self, program: &mut Program, ordered: VarId) {
        let Some(whole) = program.before_reordering(ordered) else { return };
        let back = |operator: &&Operator| {
            operator.inputs == [ordered] && program.before_reordering(operator.outputs[0]) == Some(ordered)
        };
        let back: Vec<VarId> = program
            .block(self.at.block)
            .ops
            .iter()
            .filter(back)
            .map(|operator| operator.outputs[0])
            .collect();
        for output in back {
            program.replace(output, whole);
            program.block_mut(self.at.block).ops.retain(|operator| operator.outputs != [output]);
        }
    }

    /// The tokens of a value in the order of the loop.
    fn unordered(&mut self, program: &mut Program, ordered: VarId) -> Result<VarId, BuildError> {
        if let Some(tokens) = program.before_reordering(ordered) {
            return Ok(tokens);
        }
        let site = self.at.operator(program).site;
        let tokens = program.insert_at(self.at.block, self.at.at, ScatterRows.into(), &[ordered], site)?[0];
        self.at.at += 1;
        Ok(tokens)
    }

    /// The value of all tokens in the order of the loop.
    fn ordered(&mut self, program: &mut Program, tokens: VarId, to: RowsId) -> Result<VarId, BuildError> {
        if let Some(ordered) = program.before_reordering(tokens)
            && program.ty(ordered).rows == Some(to)
        {
            return Ok(ordered);
        }
        let site = self.at.operator(program).site;
        let op = GatherRows { rows: to };
        let ordered = program.insert_at(self.at.block, self.at.at, op.into(), &[tokens], site)?[0];
        self.at.at += 1;
        Ok(ordered)
    }

    /// The value that an iteration has of a value of all tokens.
    fn bring(
        &mut self,
        program: &mut Program,
        outer: VarId,
        inside: Option<RowsId>,
    ) -> Result<VarId, BuildError> {
        let (Some(_), Some(inside)) = (program.ty(outer).rows, inside) else { return Ok(outer) };
        if program.row_space(inside).origin == RowOrigin::Steps {
            // What is in the order of an inner loop comes in that of the tokens.
            let tokens = self.unordered(program, outer)?;
            let local = self.bring(program, tokens, program.source_of(inside))?;
            let site = self.at.operator(program).site;
            return Ok(program.insert_at(
                self.at.body,
                0,
                GatherRows { rows: inside }.into(),
                &[local],
                site,
            )?[0]);
        }
        let Some(steps) = program.over_iterations(inside, self.rows.iteration) else { return Ok(outer) };
        let ordered = self.ordered(program, outer, steps)?;
        Ok(self.at.bring(program, ordered)?.unwrap_or(outer))
    }
}

/// Whether an operator is so cheap that the body computes it again, if it reads the result.
fn is_copied(operator: &Operator) -> bool {
    operator.inputs.is_empty() || !operator.op.row_spaces().is_empty()
}

/// The blocks of an operator, and those below them.
fn nested(program: &Program, operator: &Operator) -> Vec<BlockId> {
    let mut all = operator.blocks.clone();
    let mut next = 0;
    while let Some(&block) = all.get(next) {
        all.extend(program.block(block).ops.iter().flat_map(|operator| operator.blocks.iter().copied()));
        next += 1;
    }
    all
}

/// What an operator reads from outside of its own blocks.
fn reads(program: &Program, operator: &Operator) -> BTreeSet<VarId> {
    let nested = nested(program, operator);
    let inner = nested.iter().flat_map(|&block| reads_of_block(program, block));
    let mut all: BTreeSet<VarId> = inner.chain(operator.inputs.iter().copied()).collect();
    all.retain(|&var| !nested.contains(&program.var(var).block));
    all
}

fn reads_of_block(program: &Program, block: BlockId) -> Vec<VarId> {
    let block = program.block(block);
    block.ops.iter().flat_map(|operator| &operator.inputs).chain(&block.results).copied().collect()
}
