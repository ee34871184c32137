//! Preparation: the operators that depend on nothing but parameters which the program does not change.
//!
//! Their results are the same in every run until parameters change. So they have memory of their own, and are computed once
//! for each version of the parameters, by instructions in front of those of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::live::At;
use crate::ops::{Operator, Program};
use crate::program::{BlockId, Role, VarId};

/// The live operators of the global block that depend on unchanged parameters alone. `kept` are the values that leave the
/// run, `constants` those that readers may absorb, and `is_fixed` says whether a value is a parameter that nothing changes.
pub(super) fn prepared(
    program: &Program,
    live: &BTreeSet<At>,
    kept: &BTreeSet<VarId>,
    constants: &BTreeMap<VarId, At>,
    is_fixed: impl Fn(VarId) -> bool,
) -> BTreeSet<At> {
    let mut prepared: BTreeSet<At> = BTreeSet::new();
    let mut values: BTreeSet<VarId> = BTreeSet::new();
    let of_block = (Program::GLOBAL, 0)..(BlockId(Program::GLOBAL.0 + 1), 0);
    for &at in live.range(of_block) {
        let operator = &program.block(at.0).ops[at.1];
        let is_known = |var: &VarId| is_fixed(*var) || values.contains(var);
        let depends = operator.inputs.iter().any(is_known)
            && operator.inputs.iter().all(|input| is_known(input) || constants.contains_key(input));
        if depends && is_preparable(program, operator, kept) {
            // A constant that the operator reads from memory has to be there, too.
            prepared.extend(operator.inputs.iter().filter_map(|input| constants.get(input)));
            prepared.insert(at);
            values.extend(&operator.outputs);
        }
    }
    prepared
}

/// Whether an operator computes values of fixed sizes, which do not leave the run, and nothing else.
fn is_preparable(program: &Program, operator: &Operator, kept: &BTreeSet<VarId>) -> bool {
    let effects = operator.op.effects();
    let is_fixed = |output: &VarId| {
        let ty = program.ty(*output);
        ty.rows.is_none() && ty.dims.iter().all(|dim| dim.constant().is_some()) && !kept.contains(output)
    };
    effects.pure
        && !effects.blocks
        && operator.site.role != Role::Optimize
        && operator.op.operation().makes(program, operator).is_empty()
        && operator.outputs.iter().all(is_fixed)
}
