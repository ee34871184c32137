//! `while`: a loop that runs as long as a condition holds, for all rows together or for each row by itself.

use super::loops::{self, Parts};
use super::{
    AccuracyClass, ControlFlow, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Op,
    Operation, Operator, Program, Schema, Slot,
};
use crate::program::{DType, RowsId, Type, VarId};

/// Runs its second block, the body, as long as its first block, the condition, gives true.
///
/// Both blocks have the loop state as parameters. The condition is evaluated before each iteration. The body's first
/// results are the next state.
///
/// * The condition is a bool scalar: the loop runs on everything.
/// * The blocks have rows of their own, and the condition is bool `[_]` or `[_, 1]`: each row leaves when its condition
///   turns false, and the others go on. Further results of the body are collected.
///
/// `X`: the initial state; `Out`: the state at the end, for each row that when it left; then the values that the
/// iterations gave, in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct While {
    /// The largest number of iterations; more are an error.
    pub limit: i64,
}

attributes!(While { limit = While::DEFAULT_LIMIT });

impl While {
    /// The limit of a loop that does not set one.
    pub const DEFAULT_LIMIT: i64 = 100_000;
}

impl Operation for While {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "while",
                doc: "A block for as long as a condition holds.",
                inputs: &[Slot::of("X").variadic()],
                outputs: &[Slot::of("Out").variadic()],
                accuracy: AccuracyClass::Exact("what its blocks compute is judged by itself"),
                effects: Effects::BLOCKS,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let &[condition, body] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`while` owns two blocks, condition and body"));
        };
        let (condition, body) = (cx.program.block(condition), cx.program.block(body));
        let steps = |rows| cx.program.steps_of_loop(rows);
        match (condition.rows, body.rows) {
            (None, None) => {}
            (Some(a), Some(b)) if a != b && steps(a).is_some() && steps(a) == steps(b) => {}
            _ => {
                return Err(
                    cx.fail(MismatchKind::Rows, "the blocks of a loop do not run on rows of one loop")
                );
            }
        }
        let parts = Parts { items: 0, states: cx.types.len(), collected: 0 };
        loops::check_params(cx, condition, parts)?;
        loops::check_params(cx, body, parts)?;
        let &[holds] = &condition.results[..] else {
            return Err(cx.fail(MismatchKind::Count, "the condition of `while` has one result"));
        };
        let ty = cx.program.ty(holds);
        let fits = match condition.rows {
            None => ty.is_scalar(),
            rows => {
                ty.rows == rows && ty.dims.len() <= 1 && ty.dims.iter().all(|dim| dim.constant() == Some(1))
            }
        };
        if ty.dtype != DType::Bool || !fits {
            let message = format!(
                "the condition of `while` is {}, but it has to be a truth value for each row, or a bool scalar",
                cx.program.show(ty)
            );
            return Err(cx.fail(MismatchKind::Shape, message));
        }
        loops::check_states(cx, body, parts)?;
        if self.limit < 0 {
            return Err(cx.fail(MismatchKind::Attribute, "the limit of a loop is not negative"));
        }
        let mut types = cx.types.to_vec();
        types.extend(loops::collected(cx, body, &body.results[parts.states..])?);
        Ok(types)
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (states, body) = (g.operator().inputs.len(), g.operator().blocks[1]);
        loops::gradient(g, Parts { items: 0, states, collected: 0 }, body)
    }

    /// The collected values are sequences, one for each row.
    fn makes(&self, program: &Program, operator: &Operator) -> Vec<RowsId> {
        let rows = operator.blocks.last().and_then(|&body| program.block(body).rows);
        let steps = rows.and_then(|rows| program.steps_of_loop(rows));
        steps.and_then(|steps| program.source_of(steps)).into_iter().collect()
    }

    fn control(&self) -> Option<&dyn ControlFlow> {
        Some(self)
    }
}

impl ControlFlow for While {
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        loops::flow(program, operator, Parts { items: 0, states: operator.inputs.len(), collected: 0 })
    }

    fn decided_by(&self, program: &Program, operator: &Operator) -> Option<VarId> {
        program.block(operator.blocks[0]).results.first().copied()
    }

    fn iterates(&self, operator: &Operator) -> Option<Parts> {
        let parts = Parts { items: 0, states: operator.inputs.len(), collected: 0 };
        Some(parts.with_outputs(operator.outputs.len()))
    }

    fn with_parts(&self, parts: Parts) -> Option<Op> {
        (parts.items == 0).then(|| (*self).into())
    }
}
