//! The schedule: the launches of a block's operators on a backend.
//!
//! Fusion says which operators any device may launch together. The schedule asks the backend the rest: on which side
//! each operator runs, and which chains of element-wise operators become the epilogue of the operator whose result they
//! read.

use std::collections::BTreeSet;

use super::arrange::Arrangement;
use super::backend::{Backend, Side};
use super::fuse::{LONGEST, chains, is_constant};
use super::gather::gather;
use super::live::At;
use crate::ops::{Operator, Program};
use crate::passes::{Switch, Switches};
use crate::program::{BlockId, Role};

/// A unit: the operators of one launch.
#[derive(Debug)]
pub(super) struct Unit {
    /// The positions of the operators in the block. If the first is not element-wise, the others are its epilogue, or updates
    /// as it is.
    pub(super) operators: Vec<usize>,
    /// Whether they are several updates.
    pub(super) is_gathered: bool,
    /// The side that they run on.
    pub(super) side: Side,
}

/// Cuts the live operators of a block into units.
pub(super) fn schedule<B: Backend>(
    backend: &B,
    program: &Program,
    id: BlockId,
    live: &BTreeSet<At>,
    arrangement: &Arrangement,
    switches: Switches,
) -> Vec<Unit> {
    let side = |operator: &Operator| Side::of(backend, program, operator).unwrap_or_default();
    let ops = &program.block(id).ops;
    let mut units: Vec<Unit> = Vec::new();
    for operators in chains(program, id, live, arrangement, switches, &side) {
        let first = &ops[operators[0]];
        let unit = Unit { side: side(first), operators, is_gathered: false };
        let body =
            switches.has(Switch::Epilogue).then(|| body_of(backend, program, id, arrangement, &units, &unit));
        match body.flatten() {
            // The unit moves to the place of the chain, which reads what is computed in between.
            Some(body) => {
                let mut unit_of_body = units.remove(body);
                unit_of_body.operators.extend(unit.operators);
                units.push(unit_of_body);
            }
            None => units.push(unit),
        }
    }
    match switches.has(Switch::Updates) {
        true => gather(backend, ops, units),
        false => units,
    }
}

/// The last of the units that a chain may be the epilogue of. Units in between neither read nor change what that one
/// computes from, and have no blocks, which may read anything.
fn body_of<B: Backend>(
    backend: &B,
    program: &Program,
    id: BlockId,
    arrangement: &Arrangement,
    units: &[Unit],
    chain: &Unit,
) -> Option<usize> {
    let ops = &program.block(id).ops;
    let is_constant = |unit: &Unit| is_constant(&ops[unit.operators[0]]);
    if is_constant(chain) || !ops[chain.operators[0]].op.effects().element_wise {
        return None;
    }
    // What the units behind the candidate read, and what they change.
    let (mut read, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for (at, unit) in units.iter().enumerate().rev().filter(|(_, unit)| !is_constant(unit)) {
        let operators = || unit.operators.iter().map(|&at| &ops[at]);
        if operators().any(|operator| operator.op.effects().blocks) {
            return None;
        }
        let stays = || {
            let mut made =
                operators().flat_map(|operator| operator.changed().chain(operator.outputs.iter().copied()));
            made.any(|var| read.contains(&var))
                || operators().any(|operator| operator.read().any(|var| changed.contains(&var)))
        };
        if is_epilogue(backend, program, id, arrangement, unit, chain) && !stays() {
            return Some(at);
        }
        read.extend(operators().flat_map(Operator::read));
        changed.extend(operators().flat_map(Operator::changed));
    }
    None
}

/// Whether a chain becomes the epilogue of the operator `body`.
fn is_epilogue<B: Backend>(
    backend: &B,
    program: &Program,
    id: BlockId,
    arrangement: &Arrangement,
    body: &Unit,
    chain: &Unit,
) -> bool {
    let ops = &program.block(id).ops;
    let ([at], Some(begin)) = (&body.operators[..], chain.operators.first()) else { return false };
    let (operator, first) = (&ops[*at], &ops[*begin]);
    let Some(&result) = operator.outputs.first() else { return false };
    let layout = |at: usize| arrangement.of_operand((id, at), result);
    let fuses = match body.side {
        Side::Own => backend.fuses(&operator.op),
        Side::Fallback => backend.fallback().is_some_and(|fallback| fallback.fuses(&operator.op)),
    };
    let is_optimize = |operator: &Operator| operator.site.role == Role::Optimize;
    let shape = |var| (program.ty(var).rows, &program.ty(var).dims);
    let effects = operator.op.effects();
    fuses
        && !effects.element_wise
        && first.op.effects().element_wise
        && body.side == chain.side
        && is_optimize(operator) == is_optimize(first)
        && shape(result) == shape(first.outputs[0])
        && layout(*at) == layout(*begin)
        && chain.operators.iter().all(|&at| program.ty(ops[at].outputs[0]).dtype == program.ty(result).dtype)
        && chain.operators.len() < LONGEST
        && chain.operators.iter().any(|&at| ops[at].read().any(|var| var == result))
}
