//! Fusion: chains of element-wise operators over one shape become one group.

use std::collections::BTreeSet;

use super::live::At;
use super::numbers::Numbers;
use crate::ops::{Block, Operator, Program};
use crate::program::{BlockId, Role};

/// Operators that are launched together, by position in their block.
pub(super) type Unit = Vec<usize>;

/// The most operators of a group: a backend holds a tile of each of its values at a time.
const LONGEST: usize = 32;

/// Whether the operator is a constant that groups absorb instead of reading it from memory.
pub(super) fn is_constant(operator: &Operator) -> bool {
    let effects = operator.op.effects();
    effects.pure && effects.element_wise && operator.inputs.is_empty()
}

/// Cuts the live operators of a block into units. Where numbers are checked, each operator is a unit of its own.
pub(super) fn units(program: &Program, id: BlockId, live: &BTreeSet<At>, numbers: Numbers) -> Vec<Unit> {
    let block: &Block = program.block(id);
    let mut units: Vec<Unit> = Vec::new();
    let longest = if numbers == Numbers::Any { LONGEST } else { 1 };
    // The unit that the next operator may join, if it is of this shape and role.
    let mut open = None;
    for (i, operator) in block.ops.iter().enumerate().filter(|(i, _)| live.contains(&(id, *i))) {
        if is_constant(operator) {
            // A unit of its own, which does not end a chain: groups that read the constant have a copy of it inside.
            let at = units.len() - usize::from(open.is_some());
            units.insert(at, vec![i]);
            continue;
        }
        let shape = operator.op.effects().element_wise.then(|| {
            let ty = program.ty(operator.outputs[0]);
            (ty.rows, &ty.dims, operator.site.role == Role::Optimize)
        });
        match units.last_mut() {
            Some(unit) if shape.is_some() && shape == open && unit.len() < longest => unit.push(i),
            _ => units.push(vec![i]),
        }
        open = shape;
    }
    units
}
