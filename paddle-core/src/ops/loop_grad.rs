//! `loop_grad`: the iterations of a loop, in reverse.

use super::loops::{self, Parts};
use super::{
    AccuracyClass, ControlFlow, Effects, Infer, Mismatch, MismatchKind, Op, Operation, Operator, Program,
    Schema, Slot,
};
use crate::program::{RowsId, Type, VarId};

/// Runs its only block, the gradient of a loop's body, once per iteration of that loop. The last iteration comes first,
/// and the block runs on the rows of the iteration.
///
/// The block's parameters are the gradients of the values that the iteration gave to be collected, then those of the
/// state after it. Its results are the gradients of the state before the iteration; then those of its items, which are
/// collected; then those of values captured from outside, which are added up over the iterations as [`Captured`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopGrad {
    /// The number of inputs that are gradients of collected values.
    pub items: i64,
    /// The number of outputs that are gradients of items.
    pub collected: i64,
}

attributes!(LoopGrad { items = 0, collected = 0 });

/// How the iterations' gradients of a captured value are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// Each iteration adds to the rows on which it ran.
    Rows {
        /// The row space in the iteration.
        inside: RowsId,
        /// The row space of the sum, from which that of the iteration is taken.
        outside: RowsId,
    },
    /// Each iteration adds to the whole value.
    Whole,
}

impl LoopGrad {
    pub(crate) fn parts(&self, inputs: usize) -> Option<Parts> {
        Parts::new(self.items, inputs)
    }

    /// The number of outputs behind the state that are gradients of items.
    pub(crate) fn of_items(&self) -> usize {
        usize::try_from(self.collected).unwrap_or(usize::MAX)
    }

    /// How the iterations' gradients of this type are added up, for a loop in a block on `rows`.
    pub fn captured(program: &Program, ty: &Type, rows: Option<RowsId>) -> Captured {
        let outside = |inside| Some((inside, program.outside_of(inside, rows?)?));
        match ty.rows.and_then(outside) {
            Some((inside, outside)) => Captured::Rows { inside, outside },
            None => Captured::Whole,
        }
    }
}

impl Operation for LoopGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "loop_grad",
                doc: "Gradient of `for` and `while`.",
                inputs: &[Slot::of("Out@GRAD").variadic()],
                outputs: &[Slot::of("X@GRAD").variadic()],
                accuracy: AccuracyClass::Exact("what its blocks compute is judged by itself"),
                effects: Effects::BLOCKS,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let &[block] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`loop_grad` owns one block"));
        };
        let block = cx.program.block(block);
        if block.forward.is_none() {
            return Err(
                cx.fail(MismatchKind::Attribute, "the block of `loop_grad` differentiates no other block")
            );
        }
        let (Some(parts), of_items) = (self.parts(cx.types.len()), self.of_items()) else {
            return Err(cx.fail(MismatchKind::Attribute, "`loop_grad` has fewer inputs than it says"));
        };
        loops::check_params(cx, block, parts)?;
        loops::check_states(cx, block, parts)?;
        let Some((of_items, captured)) = block.results[parts.states..].split_at_checked(of_items) else {
            return Err(cx.fail(MismatchKind::Attribute, "`loop_grad` has fewer results than it says"));
        };
        let mut types = cx.types[parts.items..].to_vec();
        types.extend(loops::collected(cx, block, of_items)?);
        for &result in captured {
            let ty = cx.program.ty(result);
            types.push(match LoopGrad::captured(cx.program, ty, block.rows) {
                Captured::Rows { outside, .. } => Type { rows: Some(outside), ..ty.clone() },
                Captured::Whole => ty.clone(),
            });
        }
        Ok(types)
    }

    fn control(&self) -> Option<&dyn ControlFlow> {
        Some(self)
    }
}

impl ControlFlow for LoopGrad {
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        let block = program.block(operator.blocks[0]);
        let mut flow = Vec::new();
        if let Some(parts) = self.parts(operator.inputs.len()) {
            flow = loops::flow(program, operator, parts);
        }
        flow.extend(block.results.iter().copied().zip(operator.outputs.iter().copied()));
        flow
    }

    fn iterates(&self, operator: &Operator) -> Option<Parts> {
        Some(Parts { collected: self.of_items(), ..self.parts(operator.inputs.len())? })
    }

    fn with_parts(&self, parts: Parts) -> Option<Op> {
        Some(LoopGrad { items: parts.items as i64, collected: parts.collected as i64 }.into())
    }

    fn differentiates(&self, op: &Op) -> bool {
        matches!(op, Op::For(_) | Op::While(_))
    }
}
