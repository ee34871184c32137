//! Views: values that are neighbours in another value, in the same order, and need no memory of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::backend::Layout;
use super::live::At;
use crate::ops::{Operator, Program};
use crate::program::VarId;

/// The results of live operators that may be views: for each, the value whose memory they are in, and the number of elements
/// there in front of them. What `escapes` its block has memory of its own. Values may have this layout.
pub(super) fn views(
    program: &Program,
    live: &BTreeSet<At>,
    layout: &Layout,
    escapes: impl Fn(VarId) -> bool,
) -> BTreeMap<VarId, (VarId, usize)> {
    let mut views = BTreeMap::new();
    for operator in live.iter().map(|at| &program.block(at.0).ops[at.1]) {
        if !operator.outputs.iter().any(|&output| escapes(output)) {
            views.extend(views_of(program, operator, layout).into_iter().flatten());
        }
    }
    views
}

/// The results of an operator as views of its first input; none if one of them is no view.
fn views_of(program: &Program, operator: &Operator, layout: &Layout) -> Option<Vec<(VarId, (VarId, usize))>> {
    let operation = operator.op.operation();
    let &of = operator.inputs.first()?;
    let outputs = operator.outputs.iter().enumerate();
    let begins_at = |output| match stays_in(operator, layout) {
        Some(_) => Some(0),
        None => operation.begins_at(program, operator, output),
    };
    outputs.map(|(k, &output)| Some((output, (of, begins_at(k)?)))).collect()
}

/// The operand of an operator that changes nothing in memory if this operand has the layout, and the other is in row-major order:
/// its result has the axes of its input in the order that they have in memory, or the other way round.
pub(super) fn stays_in(operator: &Operator, layout: &Layout) -> Option<VarId> {
    let order = operator.op.operation().reordered()?;
    let (&input, &output) = (operator.inputs.first()?, operator.outputs.first()?);
    match () {
        () if layout.rank() != Some(order.len()) => None,
        () if is_same(order, [layout, &Layout::ROW_MAJOR]) => Some(input),
        () if is_same(order, [&Layout::ROW_MAJOR, layout]) => Some(output),
        () => None,
    }
}

/// Whether the elements of two values are in the same order in memory, if each axis of the second is this one of the first.
pub(super) fn is_same(order: &[i64], [first, second]: [&Layout; 2]) -> bool {
    let of_first = |axis: usize| order[axis] as usize;
    second.axes(order.len()).into_iter().map(of_first).eq(first.axes(order.len()))
}
