//! A `for` along the tokens of sequences.

use super::EmitLoops;
use crate::ops::{For, GatherRows, ScatterRows};
use crate::program::{Type, VarId};

/// What a step gives.
#[derive(Default)]
pub(crate) struct Step {
    /// The next state.
    pub(crate) state: Vec<VarId>,
    /// What it gives for its token.
    pub(crate) given: Vec<VarId>,
}

/// What steps give for each token, and the state behind the last token of each sequence. A step gets a token of each of
/// `items`, which are on the same tokens, and the state. `None` if the items are no sequences.
pub(crate) fn for_each_token<A: EmitLoops>(
    at: &mut A,
    called: &str,
    items: &[VarId],
    initial: &[VarId],
    step: impl FnOnce(&[VarId], &[VarId], &mut A) -> Result<Step, A::Error>,
) -> Result<Option<Step>, A::Error> {
    let Some(tokens) = items.first().and_then(|&item| at.ty(item).rows) else { return Ok(None) };
    let program = at.program();
    let steps = program.steps_of(tokens);
    let rows = program.local_rows(tokens, steps);
    let outside = at.block();
    let block = at.program().create_iteration(outside, steps)?;
    let Some(inside) = at.program().block(block).rows else { return Ok(None) };
    let mut inputs = Vec::with_capacity(items.len() + initial.len());
    let mut params = Vec::with_capacity(items.len() + initial.len());
    for &item in items {
        let item = at.emit(GatherRows { rows }.into(), &[item])?;
        let ty = at.ty(item).clone();
        let rows = ty.rows.and_then(|of| at.program().iteration_of(of, inside));
        params.push(at.create_parameter(block, "x", Type { rows, ..ty })?);
        inputs.push(item);
    }
    for &value in initial {
        let ty = Type { rows: Some(inside), ..at.ty(value).clone() };
        params.push(at.create_parameter(block, "state", ty)?);
        inputs.push(value);
    }
    let (of_token, state) = params.split_at(items.len());
    let results = at.within(block, |at| step(of_token, state, at))?;
    at.program().set_results(block, &[results.state, results.given].concat())?;
    let count = at.program().block(block).results.len();
    let op = For { items: items.len() as i64 };
    let mut state = at.emit_loop(op.into(), &inputs, &[block], called, count)?;
    let given = state.split_off(initial.len());
    let given = given.into_iter().map(|given| at.emit(ScatterRows.into(), &[given]));
    Ok(Some(Step { given: given.collect::<Result<_, _>>()?, state }))
}
