//! `hoist`: moves operators that do not depend on the state of a loop in front of the loop.
//!
//! A pure row-wise operator that reads only values from outside gives the same results on the rows of all iterations at
//! once. So the input projection of a recurrent network becomes one product over all tokens. An operator that reads
//! only values of the rows around the loop is computed once for each of these rows.

use std::collections::BTreeMap;

use super::loop_edits::{LoopAt, bodies, drop_unread, is_inside, is_read};
use crate::ops::{OfShards, Operator, Program};
use crate::program::{BlockId, BuildError, VarId};

/// How a value of the body relates to its counterpart outside of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// The counterpart is the value itself.
    Same,
    /// The counterpart is on the rows of all iterations.
    Items,
    /// The counterpart is on the rows around the loop.
    Captured,
}

/// Hoists operators out of all loops, inner loops first.
pub fn hoist(program: &mut Program) -> Result<(), BuildError> {
    let mut found = Vec::new();
    bodies(program, Program::GLOBAL, &mut found);
    for body in found {
        let Some(at) = LoopAt::with_body(program, body) else { continue };
        if program.block(body).forward.is_some() {
            continue;
        }
        for block in at.operator(program).blocks.clone() {
            let Some(at) = LoopAt::with_body(program, body) else { continue };
            Hoisting { at, block, outside: BTreeMap::new() }.run(program)?;
        }
    }
    Ok(())
}

struct Hoisting {
    at: LoopAt,
    /// The block that operators are taken from: the body or the condition.
    block: BlockId,
    /// Values of the block, each with its counterpart outside.
    outside: BTreeMap<VarId, (View, VarId)>,
}

impl Hoisting {
    fn run(mut self, program: &mut Program) -> Result<(), BuildError> {
        if self.block == self.at.body {
            let items = self.at.operator(program).inputs.iter().zip(&program.block(self.block).params);
            let items = items.take(self.at.parts.items).map(|(&outer, &param)| (param, (View::Items, outer)));
            self.outside.extend(items);
        }
        let mut kept = Vec::new();
        for operator in program.block(self.block).ops.clone() {
            match self.hoisted(program, &operator) {
                Some((view, inputs)) => {
                    let outputs = program.insert_at(
                        self.at.block,
                        self.at.at,
                        operator.op.clone(),
                        &inputs,
                        operator.site,
                    )?;
                    self.at.at += 1;
                    for (&inner, outer) in operator.outputs.iter().zip(outputs) {
                        program.swap_names(inner, outer);
                        self.outside.insert(inner, (view, outer));
                    }
                }
                None => kept.push(operator),
            }
        }
        // A value whose operator was kept, such as a `gather_rows`, need not be brought into the block.
        let count = kept.len();
        program.block_mut(self.block).ops = kept;
        let mut bring: Vec<VarId> = Vec::new();
        let hoisted: Vec<VarId> = self.outside.keys().copied().collect();
        for inner in hoisted {
            let is_param = program.block(self.block).params.contains(&inner);
            let is_kept = program.block(self.block).ops[..count]
                .iter()
                .any(|operator| operator.outputs.contains(&inner));
            if !is_param && !is_kept && is_read(program, inner) {
                bring.push(inner);
            }
        }
        for inner in bring {
            let (view, outer) = self.outside[&inner];
            let site = crate::program::Site::default();
            let local = match view {
                View::Same => Some(outer),
                View::Items => self.at.bring(program, outer)?,
                View::Captured => Some(program.localize(self.block, outer, site)?),
            };
            if let Some(local) = local {
                program.replace(inner, local);
            }
        }
        drop_unread(program, self.block);
        if self.block == self.at.body {
            self.at.drop_unread_items(program);
        }
        Ok(())
    }

    /// The place that an operator can be hoisted to, and the values that it reads there.
    fn hoisted(&mut self, program: &Program, operator: &Operator) -> Option<(View, Vec<VarId>)> {
        let effects = operator.op.effects();
        // An operator with a row space among its attributes makes sense only where that space exists.
        let names_rows = operator.op.attributes().iter().any(|(_, attribute)| !attribute.rows().is_empty());
        let is_moved = effects.pure && !effects.blocks && !names_rows && !operator.inputs.is_empty();
        let inputs: Vec<(View, VarId)> =
            operator.inputs.iter().map(|&input| self.view(program, input)).collect::<Option<_>>()?;
        // An operator that brings rows into the block is not moved; its output has its input as counterpart.
        if let (&[(View::Same, outer)], &[local]) = (&inputs[..], &operator.outputs[..])
            && self.is_brought(program, outer, local)
        {
            self.outside.insert(local, (View::Captured, outer));
            return None;
        }
        let mut views = inputs.iter().map(|(view, _)| *view).filter(|view| *view != View::Same);
        let view = views.next().unwrap_or(View::Same);
        let one_view = views.all(|other| other == view);
        let keeps_rows = |k: usize| {
            let rows = program.ty(operator.outputs[k]).rows;
            match view {
                View::Same => rows.is_none() || program.block(self.block).rows.is_none(),
                View::Items | View::Captured => {
                    rows.is_some()
                        && operator.op.operation().of_shards(program, operator, k) == OfShards::Rows
                }
            }
        };
        let fits = is_moved && one_view && (0..operator.outputs.len()).all(keeps_rows);
        fits.then(|| (view, inputs.into_iter().map(|(_, outer)| outer).collect()))
    }

    /// Whether `local` has those rows of `outer` that the block runs on.
    fn is_brought(&self, program: &Program, outer: VarId, local: VarId) -> bool {
        let (from, to) = (program.ty(outer).rows, program.ty(local).rows);
        let outside = to.zip(program.block(self.block).rows);
        from.is_some() && outside.and_then(|(to, rows)| program.outside_of(to, rows)) == from
    }

    /// The counterpart, outside of the loop, of a value that the block reads.
    fn view(&self, program: &Program, var: VarId) -> Option<(View, VarId)> {
        let is_outside = !is_inside(program, program.var(var).block, self.block);
        if is_outside { Some((View::Same, var)) } else { self.outside.get(&var).copied() }
    }
}
