//! `gather_rows` and `scatter_rows`: values from one row space to another.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, OfShards, Operation,
    Schema,
};
use crate::program::{Operator, Program, RowsId, Type, VarId};

/// The rows of `X` that `rows` are taken from it, in their order: those that a block runs on, whole sequences, or all of
/// them in another order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatherRows {
    /// The row space of the result.
    pub rows: RowsId,
}

/// The rows of `X`, which are all those of another row space in another order, in the order of that one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatterRows;

attributes!(GatherRows { rows });
attributes!(ScatterRows {});

impl Operation for GatherRows {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "gather_rows",
            doc: "The rows of x that another row space has, in its order.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if (self.rows.0 as usize) >= cx.program.row_spaces().len() {
            return Err(cx.fail(MismatchKind::Attribute, "there is no such row space"));
        }
        let ty = cx.ty(0);
        if ty.rows.is_none() || cx.program.source_of(self.rows) != ty.rows {
            let message =
                format!("{}: its rows are not those that the rows of this block are drawn from", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        }
        Ok(vec![Type { rows: Some(self.rows), ..ty.clone() }])
    }

    /// Where rows are left out, the gradient stays in the block's row space; the gradient of the operator that owns the
    /// block puts it together with that of the other rows.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        let grad = if g.program().is_reordered(self.rows) { g.emit(ScatterRows, &[grad])? } else { grad };
        Ok(vec![Some(grad)])
    }

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        true
    }

    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![GatherRows { rows: RowsId(0) }]
    }
}

impl Operation for ScatterRows {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "scatter_rows",
            doc: "Rows that were put into another order, in the order that they had.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.ty(0).rows.filter(|&rows| cx.program.is_reordered(rows));
        match rows.and_then(|rows| cx.program.source_of(rows)) {
            Some(rows) => Ok(vec![Type { rows: Some(rows), ..cx.ty(0).clone() }]),
            None => {
                let message =
                    format!("{}: its rows are not those of another value in another order", cx.is(0));
                Err(cx.wrong(0, MismatchKind::Rows, message))
            }
        }
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![match g.ty(g.input(0)).rows {
            Some(rows) => Some(g.emit(GatherRows { rows }, &[grad])?),
            None => None,
        }])
    }

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        true
    }

    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![ScatterRows]
    }
}
