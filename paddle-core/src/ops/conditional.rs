//! `if`: two blocks. Each runs on its rows, or one of them runs on everything.

use std::collections::BTreeSet;

use super::{
    AccuracyClass, ControlFlow, Effects, Fill, Gradient, GradientError, Infer, Mismatch, MismatchKind,
    Number, Operation, Operator, Program, Schema, Slot,
};
use crate::program::{DType, RowsId, Type, VarId};

/// Runs its first block where `Cond` is true and its second where it is false.
///
/// * `Cond` is bool `[_]` or `[_, 1]`: each block runs on the rows that the condition chooses. Results are merged in
///   the order of the rows. A block without rows is not run.
/// * `Cond` is a bool scalar: one block runs, on everything.
///
/// In a gradient, a result without rows is the sum over the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct If;

attributes!(If {});

/// How a result of an [`If`] follows from the results of the two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The rows of both, in order. If the rows are tokens, those of whole sequences.
    Merge,
    /// The sum; a block that was not run adds nothing.
    Sum,
    /// The result of the block that was run.
    Select,
}

impl If {
    /// How results of type `ty` are joined, for an operator in a block on `rows`.
    pub fn join(program: &Program, rows: Option<RowsId>, ty: &Type) -> Join {
        match (rows, ty.rows) {
            (None, _) => Join::Select,
            (Some(rows), Some(of)) if program.outside_of(of, rows).is_some() => Join::Merge,
            (Some(_), _) => Join::Sum,
        }
    }
}

impl Operation for If {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "if",
                doc: "One block where the condition is true, another where it is false.",
                inputs: &[Slot::of("Cond")],
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
        cx.need_dtype(0, DType::Bool)?;
        let condition = cx.ty(0);
        let &[yes, no] = cx.blocks else {
            return Err(cx.fail(MismatchKind::Count, "`if` owns two blocks"));
        };
        let (yes, no) = (cx.program.block(yes), cx.program.block(no));
        if yes.results.len() != no.results.len() {
            return Err(
                cx.fail(MismatchKind::Count, "the branches of `if` have different numbers of results")
            );
        }
        let per_row = yes.rows.is_some();
        let fits = match per_row {
            true => {
                let parent = |rows: Option<RowsId>| rows.and_then(|rows| cx.program.row_space(rows).parent);
                condition.rows.is_some()
                    && parent(yes.rows) == condition.rows
                    && parent(no.rows) == condition.rows
                    && yes.rows != no.rows
                    && matches!(&condition.dims[..], [] | [_])
                    && condition.dims.iter().all(|dim| dim.constant() == Some(1))
            }
            false => condition.is_scalar() && no.rows.is_none(),
        };
        if !fits {
            let message = format!("{}, but a condition is one truth value per row, or a scalar", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        }
        let gradient = yes.forward.is_some();
        let mut types = Vec::with_capacity(yes.results.len());
        for (&a, &b) in yes.results.iter().zip(&no.results) {
            let (a, b) = (cx.program.ty(a), cx.program.ty(b));
            let joins = (If::join(cx.program, yes.rows, a), If::join(cx.program, no.rows, b));
            let outside = |ty: &Type, rows: Option<RowsId>| cx.program.outside_of(ty.rows?, rows?);
            let change = || {
                let (a, b) = (cx.program.show(a), cx.program.show(b));
                let message = format!("a result is {a} in one branch and {b} in the other");
                cx.fail(MismatchKind::Change, message)
            };
            if a.dtype != b.dtype || joins.0 != joins.1 {
                return Err(change());
            }
            cx.need_equal_dims(&a.dims, &b.dims, change)?;
            let rows = match joins.0 {
                Join::Merge if outside(a, yes.rows) == outside(b, no.rows) => outside(a, yes.rows),
                Join::Sum if !gradient => {
                    let message =
                        format!("{} is one value for all rows, but the rows split here", cx.program.show(a));
                    return Err(cx.fail(MismatchKind::Rows, message));
                }
                Join::Merge | Join::Sum | Join::Select if a.rows != b.rows => {
                    return Err(cx.fail(MismatchKind::Rows, "a result has other rows in each branch"));
                }
                Join::Merge | Join::Sum | Join::Select => a.rows,
            };
            types.push(Type { rows, ..a.clone() });
        }
        Ok(types)
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let operator = g.operator().clone();
        let mut sides = Vec::with_capacity(2);
        for &forward in &operator.blocks {
            let block = g.gradient_block(forward)?;
            let mut seeds = Vec::new();
            for (k, &result) in g.program().block(forward).results.clone().iter().enumerate() {
                if g.has_grad(k) && g.is_active(result) {
                    let grad = g.grad(k)?;
                    seeds.push((result, g.localize(block, grad)?));
                }
            }
            sides.push((block, g.differentiate(forward, block, &seeds)?));
        }
        let captured: BTreeSet<VarId> = sides.iter().flat_map(|(_, grads)| grads.keys().copied()).collect();
        for side in 0..sides.len() {
            let mut results = Vec::with_capacity(captured.len());
            for value in &captured {
                results.push(match sides[side].1.get(value) {
                    Some(&grad) => grad,
                    // Only the other block has a gradient. The gradient of this one is zero, of the same type on this
                    // block's rows.
                    None => {
                        let (other, grads) = &sides[1 - side];
                        let mut ty = g.program().ty(grads[value]).clone();
                        let (from, to) =
                            (g.program().block(*other).rows, g.program().block(sides[side].0).rows);
                        if let (Some(of), Some(from), Some(to)) = (ty.rows, from, to) {
                            ty.rows = Some(g.counterpart(of, from, to));
                        }
                        g.emit_into(sides[side].0, Fill { value: Number::Float(0.0), ty }, &[])?
                    }
                });
            }
            g.set_results(sides[side].0, results)?;
        }
        let blocks = [sides[0].0, sides[1].0];
        let grads = g.emit_blocks(If, &[operator.inputs[0]], &blocks)?;
        for (&value, grad) in captured.iter().zip(grads) {
            g.add_captured(value, grad);
        }
        Ok(vec![None])
    }

    fn control(&self) -> Option<&dyn ControlFlow> {
        Some(self)
    }
}

impl ControlFlow for If {
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)> {
        let results = operator.blocks.iter().map(|&block| &program.block(block).results);
        results.flat_map(|results| results.iter().copied().zip(operator.outputs.iter().copied())).collect()
    }

    fn decided_by(&self, _: &Program, operator: &Operator) -> Option<VarId> {
        Some(operator.inputs[0])
    }
}
