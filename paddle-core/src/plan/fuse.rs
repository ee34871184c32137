//! Fusion: chains of element-wise operators over one shape become one group.

use std::collections::BTreeSet;

use super::arrange::Arrangement;
use super::backend::Side;
use super::live::At;
use crate::ops::{Block, Operator, Program};
use crate::passes::{Switch, Switches};
use crate::program::{BlockId, Role};

/// The largest number of operators in a group. A backend holds a tile of each of their values at a time.
pub(super) const LONGEST: usize = 32;

/// Whether the operator makes the same number for all elements, from attributes and sizes alone: a constant in a launch,
/// which groups absorb instead of reading it from memory.
pub(super) fn is_constant(operator: &Operator) -> bool {
    let effects = operator.op.effects();
    effects.pure && effects.element_wise && operator.read().next().is_none()
}

/// Cuts the live operators of a block into chains of positions. Neighbouring element-wise operators over one shape,
/// on one side and in one layout are a chain; each other operator is a chain by itself, and every one is if nothing is fused.
pub(super) fn chains(
    program: &Program,
    id: BlockId,
    live: &BTreeSet<At>,
    arrangement: &Arrangement,
    switches: Switches,
    side: &dyn Fn(&Operator) -> Side,
) -> Vec<Vec<usize>> {
    let block: &Block = program.block(id);
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let longest = if switches.has(Switch::Fuse) { LONGEST } else { 1 };
    // The shape, role, side and layout of the last chain, if the next operator may join it.
    let mut open = None;
    for (i, operator) in block.ops.iter().enumerate().filter(|(i, _)| live.contains(&(id, *i))) {
        if is_constant(operator) {
            // A constant is a chain by itself, in front of the open chain, which goes on: groups that read the
            // constant have a copy of it inside.
            let at = chains.len() - usize::from(open.is_some());
            chains.insert(at, vec![i]);
            continue;
        }
        let shape = operator.op.effects().element_wise.then(|| {
            let ty = program.ty(operator.outputs[0]);
            let is_optimize = operator.site.role == Role::Optimize;
            let layout = arrangement.of_operand((id, i), operator.outputs[0]);
            (ty.rows, &ty.dims, is_optimize, side(operator), layout)
        });
        match chains.last_mut() {
            Some(chain) if shape.is_some() && shape == open && chain.len() < longest => chain.push(i),
            _ => chains.push(vec![i]),
        }
        open = shape;
    }
    chains
}
