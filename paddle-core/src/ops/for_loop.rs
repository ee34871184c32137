//! `for`: along sequences, token by token.

use super::loops::{self, Parts};
use super::{
    AccuracyClass, ControlFlow, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Op,
    Operation, Operator, Program, Schema, Slot,
};
use crate::program::{Type, VarId};

/// Runs its block, the body, once for each token of sequences: in every iteration on the rows whose sequences have a token
/// left, so the longest sequence says how often.
///
/// `X`: first what comes to the iterations, values of all tokens in the order of the iterations
/// ([`RowOrigin::Steps`](crate::program::RowOrigin::Steps)); then the initial state, a value for each row.
/// `Out`: the state at the end, that of each row after its last token; then what the iterations gave, in their order. Of
/// rows without tokens the state stays as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct For {
    /// How many inputs come to the iterations.
    pub items: i64,
}

attributes!(For { items = 0 });

impl For {
    fn parts(&self, inputs: usize) -> Parts {
        // Others are refused by the shape rule.
        Parts::new(self.items, inputs).unwrap_or(Parts { items: inputs, states: 0, collected: 0 })
    }
}

impl Operation for For {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "for",
                doc: "A block for each token of sequences, on the rows that have it.",
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
        let &[body] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`for` owns one block"));
        };
        let body = cx.program.block(body);
        let Some(parts) = Parts::new(self.items, cx.types.len()) else {
            return Err(cx.fail(MismatchKind::Attribute, "`for` has fewer inputs than items"));
        };
        if body.rows.and_then(|rows| cx.program.steps_of_loop(rows)).is_none() {
            return Err(cx.fail(MismatchKind::Rows, "the block of `for` does not run along sequences"));
        }
        loops::check_params(cx, body, parts)?;
        loops::check_states(cx, body, parts)?;
        let mut types = cx.types[parts.items..].to_vec();
        types.extend(loops::collected(cx, body, &body.results[parts.states..])?);
        Ok(types)
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let body = g.operator().blocks[0];
        loops::gradient(g, self.parts(g.operator().inputs.len()), body)
    }

    fn control(&self) -> Option<&dyn ControlFlow> {
        Some(self)
    }
}

impl ControlFlow for For {
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        loops::flow(program, operator, self.parts(operator.inputs.len()))
    }

    /// What comes to the iterations: which sequences have a token left.
    fn decided_by(&self, _: &Program, operator: &Operator) -> Option<VarId> {
        operator.inputs.first().copied().filter(|_| self.items > 0)
    }

    fn iterates(&self, operator: &Operator) -> Option<Parts> {
        let parts = Parts::new(self.items, operator.inputs.len())?;
        Some(parts.with_outputs(operator.outputs.len()))
    }

    fn with_parts(&self, parts: Parts) -> Option<Op> {
        Some(For { items: parts.items as i64 }.into())
    }
}
