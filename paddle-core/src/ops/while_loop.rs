//! `while` on a scalar condition.

use super::{
    AccuracyClass, Effects, Fill, Gradient, GradientError, Infer, Mismatch, MismatchKind, Number, Operation,
    Schema,
};
use crate::program::{Block, DType, Operator, Program, Type, VarId};

/// Runs its second block, the body, for as long as the first, the condition, says so.
///
/// Both blocks have the loop state as parameters. The condition's result is a bool scalar, evaluated before each
/// iteration; the body's results are the next state. `X`: the initial state; `Out`: the state at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct While {
    /// More iterations than this are an error.
    pub limit: i64,
}

/// Runs the gradient of a body, its only block, once per iteration of the forward loop, last iteration first.
///
/// The block's parameters are the gradients of the state after an iteration, its first results those before it; its
/// further results are gradients of values captured from outside, summed over the iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhileGrad;

attributes!(While { limit = While::DEFAULT_LIMIT });
attributes!(WhileGrad {});

impl While {
    /// The limit of a loop that does not set one.
    pub const DEFAULT_LIMIT: i64 = 100_000;
}

/// The blocks of a loop on a scalar condition run on all rows.
fn check_rows(cx: &Infer<'_>, block: &Block) -> Result<(), Mismatch> {
    match block.rows {
        None => Ok(()),
        Some(_) => Err(cx.fail(MismatchKind::Rows, "a block of a loop has rows of its own")),
    }
}

/// The types have to be the same; sizes, when they have their values.
fn need_same(cx: &Infer<'_>, a: &Type, b: &Type, wrong: impl Fn() -> Mismatch) -> Result<(), Mismatch> {
    if (a.dtype, a.rows) != (b.dtype, b.rows) {
        return Err(wrong());
    }
    cx.need_equal_dims(&a.dims, &b.dims, wrong)
}

/// The types of a block's parameters have to be those of the operator's inputs.
fn check_params(cx: &Infer<'_>, block: &Block) -> Result<(), Mismatch> {
    let wrong =
        || cx.fail(MismatchKind::Change, "a block's parameters are not of the types of the loop state");
    if block.params.len() != cx.types.len() {
        return Err(wrong());
    }
    let params = block.params.iter().map(|&param| cx.program.ty(param));
    params.zip(cx.types).try_for_each(|(param, ty)| need_same(cx, param, ty, wrong))
}

/// The first results have to be of the types of the parameters.
fn check_results(cx: &Infer<'_>, block: &Block) -> Result<(), Mismatch> {
    for (k, &param) in block.params.iter().enumerate() {
        let expected = cx.program.ty(param);
        match block.results.get(k).map(|&result| cx.program.ty(result)) {
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

impl Operation for While {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "while",
            doc: "A block for as long as a condition holds.",
            inputs: &["X*"],
            outputs: &["Out*"],
            effects: Effects::BLOCKS,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let &[condition, body] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`while` owns two blocks, condition and body"));
        };
        let (condition, body) = (cx.program.block(condition), cx.program.block(body));
        check_rows(cx, condition)?;
        check_rows(cx, body)?;
        check_params(cx, condition)?;
        check_params(cx, body)?;
        let &[holds] = &condition.results[..] else {
            return Err(cx.fail(MismatchKind::Count, "the condition of `while` has one result"));
        };
        let ty = cx.program.ty(holds);
        if ty.dtype != DType::Bool || !ty.is_scalar() {
            let message = format!(
                "the condition of `while` is {}, but it has to be a bool scalar",
                cx.program.show(ty)
            );
            return Err(cx.fail(MismatchKind::Shape, message));
        }
        if body.results.len() != body.params.len() {
            return Err(cx.fail(MismatchKind::Count, "the body does not give the whole loop state"));
        }
        check_results(cx, body)?;
        if self.limit < 0 {
            return Err(cx.fail(MismatchKind::Attribute, "the limit of a loop is not negative"));
        }
        Ok(cx.types.to_vec())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let operator = g.operator().clone();
        let forward = operator.blocks[1];
        let body = g.program().block(forward).clone();
        // A part of the state that the body writes but never reads is active at the end only.
        let active = |&k: &usize| g.is_active(body.params[k]) || g.is_active(operator.outputs[k]);
        let states: Vec<usize> = (0..body.params.len()).filter(active).collect();
        let block = g.gradient_block(forward)?;
        let mut seeds = Vec::with_capacity(states.len());
        let mut finals = Vec::with_capacity(states.len());
        for &k in &states {
            let name = format!("{}@GRAD", g.program().var(body.results[k]).name);
            let ty = g.ty(body.results[k]).clone();
            seeds.push((body.results[k], g.block_parameter(block, &name, ty)?));
            finals.push(g.grad(k)?);
        }
        let mut grads = g.differentiate(forward, block, &seeds)?;
        let mut results = Vec::new();
        for &k in &states {
            results.push(match grads.remove(&body.params[k]) {
                Some(grad) => grad,
                None => {
                    let ty = g.ty(body.params[k]).clone();
                    g.emit_into(block, Fill { value: Number::Float(0.0), ty }, &[])?
                }
            });
        }
        results.extend(grads.values());
        g.set_results(block, results)?;
        let out = g.emit_blocks(WhileGrad, &finals, &[block])?;
        let (initial, captured) = out.split_at(states.len());
        for (&value, &grad) in grads.keys().zip(captured) {
            g.add_captured(value, grad);
        }
        let of_state = |k: usize| states.iter().position(|&state| state == k).map(|at| initial[at]);
        Ok((0..operator.inputs.len()).map(of_state).collect())
    }

    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        let mut flow = Vec::new();
        let body = program.block(operator.blocks[1]);
        for &block in &operator.blocks {
            for (k, &param) in program.block(block).params.iter().enumerate() {
                flow.extend([(operator.inputs[k], param), (body.results[k], param)]);
            }
        }
        for (k, &out) in operator.outputs.iter().enumerate() {
            flow.extend([(operator.inputs[k], out), (body.results[k], out)]);
        }
        flow
    }

    fn decided_by(&self, program: &Program, operator: &Operator) -> Option<VarId> {
        program.block(operator.blocks[0]).results.first().copied()
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("what its blocks compute is judged by itself")
    }

    fn prototypes() -> Vec<Self> {
        vec![While { limit: While::DEFAULT_LIMIT }]
    }
}

impl Operation for WhileGrad {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "while_grad",
            doc: "Gradient of `while`.",
            inputs: &["Out@GRAD*"],
            outputs: &["X@GRAD*"],
            effects: Effects::BLOCKS,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let &[block] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`while_grad` owns one block"));
        };
        let block = cx.program.block(block);
        if block.forward.is_none() {
            return Err(
                cx.fail(MismatchKind::Attribute, "the block of `while_grad` differentiates no other block")
            );
        }
        check_rows(cx, block)?;
        check_params(cx, block)?;
        check_results(cx, block)?;
        Ok(block.results.iter().map(|&result| cx.program.ty(result).clone()).collect())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        let block = program.block(operator.blocks[0]);
        let mut flow: Vec<_> = block.results.iter().copied().zip(operator.outputs.iter().copied()).collect();
        for (k, &param) in block.params.iter().enumerate() {
            flow.extend([
                (operator.inputs[k], param),
                (block.results[k], param),
                (operator.inputs[k], operator.outputs[k]),
            ]);
        }
        flow
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("what its blocks compute is judged by itself")
    }

    fn prototypes() -> Vec<Self> {
        vec![WhileGrad]
    }
}
