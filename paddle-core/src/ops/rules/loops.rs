//! The rules that `for`, `while` and their gradient share. A loop has state that goes from iteration to iteration,
//! items that each iteration gets, and values that each iteration gives.

use crate::ops::{
    Block, Fill, Gradient, GradientError, Infer, LoopGrad, Mismatch, MismatchKind, Number, Operator, Program,
};
use crate::program::{BlockId, RowsId, Type, VarId};

/// How the inputs and the outputs of a loop correspond to the parameters and the results of its body.
///
/// | | |
/// | --- | --- |
/// | inputs | items, state before the loop |
/// | parameters of the body | items of the iteration, state before it |
/// | results of the body | state after the iteration, collected values |
/// | outputs | state after the loop, values collected over all iterations |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The number of items.
    pub items: usize,
    /// The number of values that make up the state.
    pub states: usize,
    /// The number of values that are collected.
    pub collected: usize,
}

impl Parts {
    /// The parts of a loop of which the first `items` inputs are items; `None` if it has fewer inputs.
    pub(crate) fn new(items: i64, inputs: usize) -> Option<Self> {
        let items = usize::try_from(items).ok().filter(|&items| items <= inputs)?;
        Some(Parts { items, states: inputs - items, collected: 0 })
    }

    /// The parts of the loop with this many outputs: those behind the state are collected values.
    pub(in crate::ops) fn with_outputs(self, outputs: usize) -> Self {
        Parts { collected: outputs.saturating_sub(self.states), ..self }
    }
}

/// Checks that two types are the same. Sizes that cannot be compared yet are checked once they have values.
fn need_same(cx: &Infer<'_>, a: &Type, b: &Type, wrong: impl Fn() -> Mismatch) -> Result<(), Mismatch> {
    if (a.dtype, a.rows) != (b.dtype, b.rows) {
        return Err(wrong());
    }
    cx.need_equal_dims(&a.dims, &b.dims, wrong)
}

/// The type of a state within a block on `rows`. The block takes its rows from those on which the state stands outside.
fn state_inside(cx: &Infer<'_>, ty: &Type, rows: Option<RowsId>) -> Option<Type> {
    match rows {
        None => Some(ty.clone()),
        Some(rows) => (ty.rows.is_some() && cx.program.source_of(rows) == ty.rows)
            .then(|| Type { rows: Some(rows), ..ty.clone() }),
    }
}

/// Checks that the parameters of a block have the types of the operator's inputs, as they are on the block's rows.
pub(in crate::ops) fn check_params(cx: &Infer<'_>, block: &Block, parts: Parts) -> Result<(), Mismatch> {
    let wrong = || {
        cx.fail(MismatchKind::Change, "a block's parameters are not of the types of what comes into the loop")
    };
    if block.params.len() != cx.types.len() {
        return Err(wrong());
    }
    for (k, (&param, ty)) in block.params.iter().zip(cx.types).enumerate() {
        let inside = if k < parts.items {
            let rows = block.rows.zip(ty.rows).and_then(|(rows, of)| cx.program.find_iteration(of, rows));
            rows.map(|rows| Type { rows: Some(rows), ..ty.clone() })
        } else {
            state_inside(cx, ty, block.rows)
        };
        let Some(inside) = inside else {
            let message = format!("{}, but the loop does not run on its rows", cx.is(k));
            return Err(cx.wrong(k, MismatchKind::Rows, message));
        };
        need_same(cx, cx.program.ty(param), &inside, wrong)?;
    }
    Ok(())
}

/// Checks that the first results are the state, and have the types of the state before an iteration.
pub(in crate::ops) fn check_states(cx: &Infer<'_>, block: &Block, parts: Parts) -> Result<(), Mismatch> {
    for (k, &param) in block.params.iter().enumerate().skip(parts.items) {
        let expected = cx.program.ty(param);
        match block.results.get(k - parts.items).map(|&result| cx.program.ty(result)) {
            Some(found) => need_same(cx, found, expected, || {
                let (found, expected) = (cx.program.show(found), cx.program.show(expected));
                let message =
                    format!("{} is {expected} before the loop, but {found} after an iteration", cx.names[k]);
                cx.wrong(k, MismatchKind::Change, message)
            })?,
            None => {
                return Err(
                    cx.fail(MismatchKind::Count, "the body has fewer results than the loop has state")
                );
            }
        }
    }
    Ok(())
}

/// The types of values collected over all iterations.
pub(in crate::ops) fn collected(
    cx: &Infer<'_>,
    block: &Block,
    results: &[VarId],
) -> Result<Vec<Type>, Mismatch> {
    let over = |&result: &VarId| {
        let ty = cx.program.ty(result);
        let rows = ty.rows.zip(block.rows).and_then(|(of, rows)| cx.program.over_iterations(of, rows));
        match rows {
            Some(rows) => Ok(Type { rows: Some(rows), ..ty.clone() }),
            None => {
                let found = cx.program.show(ty);
                let message =
                    format!("{found} is collected, but a loop collects a value for each of its rows");
                Err(cx.fail(MismatchKind::Rows, message))
            }
        }
    };
    results.iter().map(over).collect()
}

/// The gradient of a loop with this body: appends a [`LoopGrad`].
pub(in crate::ops) fn gradient(
    g: &mut Gradient<'_>,
    parts: Parts,
    forward: BlockId,
) -> Result<Vec<Option<VarId>>, GradientError> {
    let operator = g.operator().clone();
    let body = g.program().block(forward).clone();
    let items: Vec<usize> = (0..parts.items).filter(|&k| g.is_active(body.params[k])).collect();
    // A part of the state that the body writes but never reads is active at the end only.
    let active = |&k: &usize| g.is_active(body.params[parts.items + k]) || g.is_active(operator.outputs[k]);
    let states: Vec<usize> = (0..parts.states).filter(active).collect();
    let used = |&k: &usize| g.has_grad(k) && g.is_active(body.results[k]);
    let collected: Vec<usize> = (parts.states..body.results.len()).filter(used).collect();
    let block = g.gradient_block(forward)?;
    let (mut seeds, mut inputs) = (Vec::new(), Vec::new());
    for &k in collected.iter().chain(&states) {
        let name = format!("{}@GRAD", g.program().var(body.results[k]).name);
        let ty = g.ty(body.results[k]).clone();
        seeds.push((body.results[k], g.block_parameter(block, &name, ty)?));
        inputs.push(g.grad(k)?);
    }
    let mut grads = g.differentiate(forward, block, &seeds)?;
    let mut results = Vec::new();
    for param in
        states.iter().map(|&k| body.params[parts.items + k]).chain(items.iter().map(|&k| body.params[k]))
    {
        results.push(match grads.remove(&param) {
            Some(grad) => grad,
            None => {
                let ty = g.ty(param).clone();
                g.emit_into(block, Fill { value: Number::Float(0.0), ty }, &[])?
            }
        });
    }
    results.extend(grads.values());
    g.set_results(block, results)?;
    let op = LoopGrad { items: collected.len() as i64, collected: items.len() as i64 };
    let out = g.emit_blocks(op, &inputs, &[block])?;
    let (initial, rest) = out.split_at(states.len());
    let (of_items, captured) = rest.split_at(items.len());
    for (&value, &grad) in grads.keys().zip(captured) {
        g.add_captured(value, grad);
    }
    let mut of_inputs = vec![None; operator.inputs.len()];
    for (&k, &grad) in items.iter().zip(of_items) {
        of_inputs[k] = Some(grad);
    }
    for (&k, &grad) in states.iter().zip(initial) {
        of_inputs[parts.items + k] = Some(grad);
    }
    Ok(of_inputs)
}

/// How values pass between a loop and its blocks, of which the last is the body.
pub(in crate::ops) fn flow(program: &Program, operator: &Operator, parts: Parts) -> Vec<(VarId, VarId)> {
    let mut flow = Vec::new();
    let Some(body) = operator.blocks.last().map(|&body| program.block(body)) else { return flow };
    for &block in &operator.blocks {
        for (k, &param) in program.block(block).params.iter().enumerate() {
            flow.push((operator.inputs[k], param));
            if k >= parts.items {
                flow.push((body.results[k - parts.items], param));
            }
        }
    }
    for (k, &out) in operator.outputs.iter().enumerate() {
        flow.push((body.results[k], out));
        if k < parts.states {
            flow.push((operator.inputs[parts.items + k], out));
        }
    }
    flow
}
