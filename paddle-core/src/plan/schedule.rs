//! The schedule: the launches of a block's operators on a backend.
//!
//! Fusion says which operators any device may launch together. The schedule asks the backend the rest: on which side
//! each operator runs, in which layouts values lie, and which chains of element-wise operators become the epilogue of
//! the operator whose result they read.

use std::collections::{BTreeMap, BTreeSet};

use super::backend::{Backend, Layout, Side};
use super::facts::Facts;
use super::fuse::{LONGEST, chains, is_constant};
use super::live::At;
use super::numbers::Numbers;
use crate::ops::{Operator, Program};
use crate::program::{BlockId, Definition, Role, VarId};

/// Chooses the layouts of values that are not in row-major order. A value gets the layout that one operator prefers,
/// if all operators that touch the value take it. A value that leaves the run, goes through a branch or a loop, or is
/// checked by the host, stays in row-major order.
pub(super) fn layouts<B: Backend>(
    backend: &B,
    program: &Program,
    facts: &Facts,
    numbers: Numbers,
) -> BTreeMap<VarId, Layout> {
    let mut layouts = BTreeMap::new();
    if numbers != Numbers::Any {
        return layouts;
    }
    let operators = || facts.live.iter().map(|at| &program.block(at.0).ops[at.1]);
    let makers: BTreeMap<VarId, &Operator> = operators()
        .flat_map(|operator| operator.outputs.iter().map(move |&output| (output, operator)))
        .collect();
    let takes = |operator: &Operator, layout: &Layout| {
        Side::of(backend, &operator.op) == Some(Side::Own) && backend.takes(&operator.op, layout)
    };
    for operator in operators() {
        let Some(layout) = backend.prefers(&operator.op) else { continue };
        for &var in operator.inputs.iter().chain(&operator.outputs) {
            let ty = program.ty(var);
            let is_inner = program.var(var).definition == Definition::Operator
                && !facts.kept.contains(&var)
                && !facts.results.contains_key(&var)
                && !facts.parts.contains_key(&var);
            let readers = facts.readers.get(&var).into_iter().flatten();
            let mut touching =
                readers.map(|at| &program.block(at.0).ops[at.1]).chain(makers.get(&var).copied());
            if layout.rank() == Some(program.shape(ty).len())
                && is_inner
                && touching.all(|operator| takes(operator, &layout))
            {
                layouts.entry(var).or_insert_with(|| layout.clone());
            }
        }
    }
    layouts
}

/// A unit: the operators of one launch.
#[derive(Debug)]
pub(super) struct Unit {
    /// The positions of the operators in the block. If the first is not element-wise, the others are its epilogue.
    pub(super) operators: Vec<usize>,
    /// The side that they run on.
    pub(super) side: Side,
}

/// Cuts the live operators of a block into units.
pub(super) fn schedule<B: Backend>(
    backend: &B,
    program: &Program,
    id: BlockId,
    live: &BTreeSet<At>,
    numbers: Numbers,
) -> Vec<Unit> {
    let side = |operator: &Operator| Side::of(backend, &operator.op).unwrap_or_default();
    let ops = &program.block(id).ops;
    let mut units: Vec<Unit> = Vec::new();
    // The unit that the next chain may be the epilogue of.
    let mut body: Option<usize> = None;
    for operators in chains(program, id, live, numbers, &side) {
        let first = &ops[operators[0]];
        let unit = Unit { side: side(first), operators };
        if is_constant(first) {
            units.push(unit);
            continue;
        }
        let joined = body.filter(|&body| is_epilogue(backend, program, id, &units[body], &unit));
        match joined {
            // The unit moves to the place of the chain, which reads constants in between.
            Some(body) => {
                let Unit { mut operators, side } = units.remove(body);
                operators.extend(unit.operators);
                units.push(Unit { operators, side });
            }
            None => units.push(unit),
        }
        body = (joined.is_none() && numbers == Numbers::Any).then(|| units.len() - 1);
    }
    units
}

/// Whether a chain becomes the epilogue of the operator `body`.
fn is_epilogue<B: Backend>(backend: &B, program: &Program, id: BlockId, body: &Unit, chain: &Unit) -> bool {
    let ops = &program.block(id).ops;
    let ([at], Some(first)) = (&body.operators[..], chain.operators.first()) else { return false };
    let (operator, first) = (&ops[*at], &ops[*first]);
    let &[result] = &operator.outputs[..] else { return false };
    let fuses = match body.side {
        Side::Own => backend.fuses(&operator.op),
        Side::Fallback => backend.fallback().is_some_and(|fallback| fallback.fuses(&operator.op)),
    };
    let is_optimize = |operator: &Operator| operator.site.role == Role::Optimize;
    let shape = |var| (program.ty(var).rows, &program.ty(var).dims);
    let effects = operator.op.effects();
    fuses
        && effects.pure
        && !effects.element_wise
        && first.op.effects().element_wise
        && body.side == chain.side
        && is_optimize(operator) == is_optimize(first)
        && shape(result) == shape(first.outputs[0])
        && chain.operators.len() < LONGEST
        && chain.operators.iter().any(|&at| ops[at].inputs.contains(&result))
}
