//! `for`: a loop over the tokens of sequences.

use super::loops::{self, Parts};
use super::{
    AccuracyClass, ControlFlow, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Op,
    Operation, Operator, Program, Schema, Slot,
};
use crate::program::{Type, VarId};

/// Runs its block, the body, once for each token of sequences. Iteration `t` runs on the rows whose sequences have a
/// token `t`, so the longest sequence determines the number of iterations.
///
/// `X`: first the items, which are values of all tokens in the order of the iterations
/// ([`RowOrigin::Steps`](crate::program::RowOrigin::Steps)); then the initial state, a value for each row. `Out`: the
/// state at the end, for each row that after its last token; then the values that the iterations gave, in their order.
/// The state of rows without tokens stays as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct For {
    /// The number of inputs that are items.
    pub items: i64,
}

attributes!(For { items = 0 });

impl For {
    fn parts(&self, inputs: usize) -> Parts {
        // The shape rule refuses all other numbers.
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

    /// The first item decides which sequences have a token left.
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
