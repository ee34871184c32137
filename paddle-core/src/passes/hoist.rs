//! `hoist`: takes what does not depend on the state of a loop out of its body.
//!
//! An operator that is pure and row-wise, and reads nothing but what comes to the iterations from outside, gives in all
//! iterations together what it gives for all their rows at once: the projections of the inputs of a recurrent network are
//! one product over all tokens. What reads only values of the rows around a loop is computed once for each of these.

use std::collections::BTreeMap;

use super::loops::{LoopAt, bodies, drop_unread, is_inside, is_read};
use crate::ops::{OfShards, Operator, Program};
use crate::program::{BlockId, BuildError, VarId};

/// How a value of a body is known outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// As it is.
    Same,
    /// The rows of all iterations have it.
    Items,
    /// The rows around the loop have it.
    Captured,
}

/// Hoists out of all loops, those further in first.
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
    /// The body, or the condition.
    block: BlockId,
    /// Values of the block that are known outside.
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
        // What was brought from outside remains for those who read it.
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

    /// Where an operator can be hoisted to, and what it reads there.
    fn hoisted(&mut self, program: &Program, operator: &Operator) -> Option<(View, Vec<VarId>)> {
        let effects = operator.op.effects();
        // What names a row space belongs where that is.
        let names_rows = operator.op.attributes().iter().any(|(_, attribute)| !attribute.rows().is_empty());
        let is_moved = effects.pure && !effects.blocks && !names_rows && !operator.inputs.is_empty();
        let inputs: Vec<(View, VarId)> =
            operator.inputs.iter().map(|&input| self.view(program, input)).collect::<Option<_>>()?;
        // Rows that are brought are where they come from.
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

    /// Whether a value is the rows of the block of one from outside.
    fn is_brought(&self, program: &Program, outer: VarId, local: VarId) -> bool {
        let (from, to) = (program.ty(outer).rows, program.ty(local).rows);
        let outside = to.zip(program.block(self.block).rows);
        from.is_some() && outside.and_then(|(to, rows)| program.outside_of(to, rows)) == from
    }

    /// What a value that is read in the block is outside.
    fn view(&self, program: &Program, var: VarId) -> Option<(View, VarId)> {
        let is_outside = !is_inside(program, program.var(var).block, self.block);
        if is_outside { Some((View::Same, var)) } else { self.outside.get(&var).copied() }
    }
}
