//! `gather_rows`: a value of an ancestor row space, on the rows that a block runs on.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, OfShards, Operation,
    Schema,
};
use crate::program::{Operator, Program, Type, VarId};

/// The rows of `X` that the block runs on, in order. `X` is of the parent of the block's row space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatherRows;

attributes!(GatherRows {});

impl Operation for GatherRows {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "gather_rows",
            doc: "The rows of x that the block runs on.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let ty = cx.ty(0);
        let rows = cx.block_rows.filter(|rows| {
            let parent = cx.program.row_space(*rows).parent;
            parent.is_some() && parent == ty.rows
        });
        let Some(rows) = rows else {
            let message =
                format!("{}: its rows are not those that the rows of this block are drawn from", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        };
        Ok(vec![Type { rows: Some(rows), ..ty.clone() }])
    }

    /// The gradient stays in the block's row space; the gradient of the operator that owns the block merges it with
    /// that of the other rows.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![Some(g.grad(0)?)])
    }

    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![GatherRows]
    }
}
