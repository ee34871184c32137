//! `sink`: moves operators behind a loop if no iteration needs their results.
//!
//! A row-wise product whose result is only collected is computed for all iterations at once, such as the output layer
//! of a recurrent network. A gradient to which each iteration adds a sum over its rows is one sum over the rows of all
//! iterations, so the gradient of a weight is one product.

use std::collections::{BTreeMap, BTreeSet};

use super::loop_edits::{LoopAt, bodies, drop_unread, is_inside, is_read};
use crate::ops::{OfShards, Operator, Parts, Program};
use crate::program::{BlockId, BuildError, VarId};

/// Sinks operators behind all loops over rows, inner loops first.
pub fn sink(program: &mut Program) -> Result<(), BuildError> {
    let mut found = Vec::new();
    bodies(program, Program::GLOBAL, &mut found);
    for body in found {
        if let Some(at) = LoopAt::with_body(program, body)
            && program.block(body).rows.is_some()
        {
            let sinking = Sinking { body, behind: at.at + 1, sunk: BTreeMap::new() };
            sinking.run(program)?;
        }
    }
    Ok(())
}

struct Sinking {
    body: BlockId,
    /// The position of the next operator behind the loop.
    behind: usize,
    /// Values of the body, each with the value behind the loop that holds it for all iterations.
    sunk: BTreeMap<VarId, VarId>,
}

impl Sinking {
    fn run(mut self, program: &mut Program) -> Result<(), BuildError> {
        let Some(at) = LoopAt::with_body(program, self.body) else { return Ok(()) };
        let states: Vec<VarId> = program.block(self.body).results[..at.parts.states].to_vec();
        // An iteration needs what the next state depends on, and what nested blocks read.
        let needed = needed(program, self.body, &states);
        let products = self.products(program, &needed);
        let mut result = at.parts.states;
        while result < program.block(self.body).results.len() {
            let Some(mut at) = LoopAt::with_body(program, self.body) else { return Ok(()) };
            let inner = program.block(self.body).results[result];
            let is_sum = result >= at.parts.states + at.parts.collected;
            let whole = match is_sum {
                true => self.sum_over_iterations(program, inner)?,
                false if products.contains(&inner) => self.over_all_rows(program, inner, &products)?,
                false => None,
            };
            // Collecting adds results in front of the sums, so the loop is looked up again.
            at = LoopAt::with_body(program, self.body).unwrap_or(at);
            let Some(whole) = whole else {
                result += 1;
                continue;
            };
            let place =
                program.block(self.body).results.iter().skip(at.parts.states).position(|&var| var == inner);
            let Some(place) = place.map(|place| place + at.parts.states) else {
                result += 1;
                continue;
            };
            let outer = at.operator(program).outputs[place];
            program.swap_names(outer, whole);
            program.replace(outer, whole);
            at.drop_result(program, place);
            result = at.parts.states.max(result.min(place));
        }
        drop_unread(program, self.body);
        // Values that were collected for an operator that could not be moved after all are dropped again.
        for body in std::iter::once(self.body).chain(program.block(self.body).forward) {
            drop_uncollected(program, body);
        }
        Ok(())
    }

    /// The results of products over rows, and the values computed from them, that no iteration needs.
    fn products(&self, program: &Program, needed: &BTreeSet<VarId>) -> BTreeSet<VarId> {
        let mut products = BTreeSet::new();
        for operator in &program.block(self.body).ops {
            let operation = operator.op.operation();
            let effects = operator.op.effects();
            let is_product = operator.contraction(program).is_some()
                || operator.inputs.iter().any(|input| products.contains(input));
            let rows = |k| operation.of_shards(program, operator, k) == OfShards::Rows;
            let keeps = (0..operator.outputs.len())
                .all(|k| rows(k) && program.ty(operator.outputs[k]).rows.is_some());
            let is_free = !operator.outputs.iter().any(|output| needed.contains(output));
            let names_rows =
                operator.op.attributes().iter().any(|(_, attribute)| !attribute.rows().is_empty());
            if is_product && effects.pure && !effects.blocks && !names_rows && keeps && is_free {
                products.extend(operator.outputs.iter().copied());
            }
        }
        products
    }

    /// The counterpart, behind the loop, of a value on the rows of an iteration: it is on the rows of all iterations.
    fn over_all_rows(
        &mut self,
        program: &mut Program,
        inner: VarId,
        products: &BTreeSet<VarId>,
    ) -> Result<Option<VarId>, BuildError> {
        if let Some(&known) = self.sunk.get(&inner) {
            return Ok(Some(known));
        }
        let home = program.var(inner).block;
        if !is_inside(program, home, self.body) && !self.is_forward(program, home) {
            return Ok(program.ty(inner).rows.is_none().then_some(inner));
        }
        if !products.contains(&inner) {
            return self.collect_value(program, inner);
        }
        let Some(operator) = writer(program, self.body, inner) else { return Ok(None) };
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for &input in &operator.inputs {
            match self.over_all_rows(program, input, products)? {
                Some(whole) => inputs.push(whole),
                None => return Ok(None),
            }
        }
        self.append(program, &operator, &inputs, inner).map(Some)
    }

    /// The counterpart of a value with rows, collected from the iterations. A value without rows has to be a constant.
    fn collect_value(&mut self, program: &mut Program, inner: VarId) -> Result<Option<VarId>, BuildError> {
        if program.ty(inner).rows.is_none() {
            return self.copy_constant(program, inner);
        }
        let home = program.var(inner).block;
        let Some(mut at) = LoopAt::with_body(program, home) else { return Ok(None) };
        at.collect(program, inner)
    }

    /// A constant of the body, created once more behind the loop.
    fn copy_constant(&mut self, program: &mut Program, inner: VarId) -> Result<Option<VarId>, BuildError> {
        let Some(operator) = program.writer(inner).cloned() else { return Ok(None) };
        if !operator.inputs.is_empty() || !operator.op.effects().pure {
            return Ok(None);
        }
        self.append(program, &operator, &[], inner).map(Some)
    }

    /// The sum of a value without rows over all iterations.
    fn sum_over_iterations(
        &mut self,
        program: &mut Program,
        inner: VarId,
    ) -> Result<Option<VarId>, BuildError> {
        // A sunk value with rows is that of all iterations, not its sum.
        if program.ty(inner).rows.is_some() || program.var(inner).block != self.body {
            return Ok(None);
        }
        if let Some(&known) = self.sunk.get(&inner) {
            return Ok(Some(known));
        }
        let Some(operator) = writer(program, self.body, inner) else { return Ok(None) };
        let (operation, effects) = (operator.op.operation(), operator.op.effects());
        if !effects.pure || effects.blocks || operator.outputs.len() != 1 {
            return Ok(None);
        }
        let sums = operation.of_shards(program, &operator, 0) == OfShards::Sum;
        let varying: Vec<usize> = (0..operator.inputs.len())
            .filter(|&k| is_inside(program, program.var(operator.inputs[k]).block, self.body))
            .collect();
        let is_linear = !varying.is_empty() && operation.linear().is_in(&varying);
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for (k, &input) in operator.inputs.iter().enumerate() {
            let has_rows = program.ty(input).rows.is_some();
            let whole = match has_rows {
                true if sums => self.over_all_rows(program, input, &BTreeSet::new())?,
                false if !varying.contains(&k) && !self.is_forward(program, program.var(input).block) => {
                    Some(input)
                }
                false if !sums && is_linear => self.sum_over_iterations(program, input)?,
                _ => None,
            };
            match whole {
                Some(whole) => inputs.push(whole),
                None => return Ok(None),
            }
        }
        if !sums && !is_linear {
            return Ok(None);
        }
        self.append(program, &operator, &inputs, inner).map(Some)
    }

    /// Whether a block is the forward block of the body, or inside of it.
    fn is_forward(&self, program: &Program, block: BlockId) -> bool {
        program.block(self.body).forward.is_some_and(|forward| is_inside(program, block, forward))
    }

    fn append(
        &mut self,
        program: &mut Program,
        operator: &Operator,
        inputs: &[VarId],
        inner: VarId,
    ) -> Result<VarId, BuildError> {
        let block = program.block(self.body).parent.unwrap_or(Program::GLOBAL);
        let behind = LoopAt::with_body(program, self.body).map_or(self.behind, |at| at.at + 1);
        self.behind = self.behind.max(behind);
        let outputs = program.insert_at(block, self.behind, operator.op.clone(), inputs, operator.site)?;
        self.behind += 1;
        for (&inner, &whole) in operator.outputs.iter().zip(&outputs) {
            self.sunk.insert(inner, whole);
        }
        let at = operator.outputs.iter().position(|&output| output == inner).unwrap_or(0);
        Ok(outputs[at])
    }
}

/// Removes collected outputs of a loop that nothing reads.
fn drop_uncollected(program: &mut Program, body: BlockId) {
    let Some(mut at) = LoopAt::with_body(program, body) else { return };
    let Parts { states, collected, .. } = at.parts;
    for result in (states..states + collected).rev() {
        if !is_read(program, at.operator(program).outputs[result]) {
            at.drop_result(program, result);
        }
    }
}

/// The operator of a block that writes a value, as a copy.
fn writer(program: &Program, block: BlockId, var: VarId) -> Option<Operator> {
    program.block(block).ops.iter().find(|operator| operator.outputs.contains(&var)).cloned()
}

/// The values of a block that `roots` depend on, or that nested blocks read.
fn needed(program: &Program, block: BlockId, roots: &[VarId]) -> BTreeSet<VarId> {
    let mut needed: BTreeSet<VarId> = roots.iter().copied().collect();
    for operator in program.block(block).ops.iter().rev() {
        for &inner in &operator.blocks {
            note_reads(program, inner, &mut needed);
        }
        let effects = operator.op.effects();
        let runs =
            effects.blocks || !effects.pure || operator.outputs.iter().any(|output| needed.contains(output));
        if runs {
            needed.extend(operator.inputs.iter().copied());
        }
    }
    // Gradient blocks read values of their forward blocks.
    let others = (0..program.blocks().len() as u32)
        .map(BlockId)
        .filter(|&other| program.block(other).forward == Some(block));
    others.for_each(|other| note_reads(program, other, &mut needed));
    needed
}

fn note_reads(program: &Program, block: BlockId, needed: &mut BTreeSet<VarId>) {
    needed.extend(program.block(block).results.iter().copied());
    for operator in &program.block(block).ops {
        needed.extend(operator.inputs.iter().copied());
        operator.blocks.iter().for_each(|&inner| note_reads(program, inner, needed));
    }
}
