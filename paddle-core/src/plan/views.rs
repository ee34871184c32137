//! Views: values that are neighbours in another value, in the same order, and need no memory of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::live::At;
use crate::ops::{Operator, Program};
use crate::program::VarId;

/// The results of live operators that may be views: for each, the value whose memory they are in, and the number of elements
/// there in front of them. What `escapes` its block has memory of its own.
pub(super) fn views(
    program: &Program,
    live: &BTreeSet<At>,
    escapes: impl Fn(VarId) -> bool,
) -> BTreeMap<VarId, (VarId, usize)> {
    let mut views = BTreeMap::new();
    for operator in live.iter().map(|at| &program.block(at.0).ops[at.1]) {
        if !operator.outputs.iter().any(|&output| escapes(output)) {
            views.extend(views_of(program, operator).into_iter().flatten());
        }
    }
    views
}

/// The results of an operator as views of its first input; none if one of them is no view.
fn views_of(program: &Program, operator: &Operator) -> Option<Vec<(VarId, (VarId, usize))>> {
    let operation = operator.op.operation();
    let &of = operator.inputs.first()?;
    let outputs = operator.outputs.iter().enumerate();
    outputs.map(|(k, &output)| Some((output, (of, operation.begins_at(program, operator, k)?)))).collect()
}
