//! The schedule: the launches of a block's operators on a backend.
//!
//! Fusion says which operators any device may launch together. The schedule asks the backend the rest: on which side
//! each operator runs, and which chains of element-wise operators become the epilogue of the operator whose result they
//! read.

use std::collections::BTreeSet;

use super::arrange::Arrangement;
use super::backend::{Backend, Side};
use super::fuse::{LONGEST, chains, is_constant};
use super::live::At;
use crate::ops::{Operator, Program};
use crate::passes::{Switch, Switches};
use crate::program::{BlockId, Role};

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
    arrangement: &Arrangement,
    switches: Switches,
) -> Vec<Unit> {
    let side = |operator: &Operator| Side::of(backend, &operator.op).unwrap_or_default();
    let ops = &program.block(id).ops;
    let mut units: Vec<Unit> = Vec::new();
    // The unit that the next chain may be the epilogue of.
    let mut body: Option<usize> = None;
    for operators in chains(program, id, live, arrangement, switches, &side) {
        let first = &ops[operators[0]];
        let unit = Unit { side: side(first), operators };
        if is_constant(first) {
            units.push(unit);
            continue;
        }
        let joined = body.filter(|&body| is_epilogue(backend, program, id, arrangement, &units[body], &unit));
        match joined {
            // The unit moves to the place of the chain, which reads constants in between.
            Some(body) => {
                let Unit { mut operators, side } = units.remove(body);
                operators.extend(unit.operators);
                units.push(Unit { operators, side });
            }
            None => units.push(unit),
        }
        body = (joined.is_none() && switches.has(Switch::Epilogue)).then(|| units.len() - 1);
    }
    units
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
        && chain.operators.iter().any(|&at| ops[at].inputs.contains(&result))
}
