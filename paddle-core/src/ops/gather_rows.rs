//! `gather_rows` and `scatter_rows`: move values from one row space to another.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, OfShards, Op,
    Operation, Operator, Program, Schema, Slot,
};
use crate::program::{BlockId, BuildError, RowsId, Site, Type, VarId};

/// The rows of `X` that belong to another row space, in the order of that space. These are the rows that a block runs
/// on, whole sequences, or all rows in another order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatherRows {
    /// The row space of the result.
    pub rows: RowsId,
}

/// The rows of `X`, put back into the order of the row space from which they were reordered. The result has all rows of
/// that space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatterRows;

attributes!(GatherRows { rows: RowsId(0) });
attributes!(ScatterRows {});

impl Program {
    /// The value on the rows of `block`. This is the value itself, or it is gathered from the blocks around, once per
    /// block. Of tokens, whole sequences are gathered.
    pub fn localize(&mut self, block: BlockId, var: VarId, site: Site) -> Result<VarId, BuildError> {
        let (Some(own), Some(rows)) = (self.rows_of_block(block), self.check_var(var)?.ty.rows) else {
            return Ok(var);
        };
        if self.is_local(rows, own) {
            return Ok(var);
        }
        // The outermost block on these rows holds the only gather.
        let holder = self.holder_of_rows(block);
        let Some(parent) = self.block(holder).parent else { return Ok(var) };
        let outer = self.localize(parent, var, site)?;
        let Some(from) = self.ty(outer).rows else { return Ok(outer) };
        let to = self.local_rows(from, own);
        if to == from {
            return Ok(outer);
        }
        self.gather(holder, outer, to, site)
    }

    /// The value from which `var` was only brought to another order, or back from one.
    pub(crate) fn before_reordering(&self, var: VarId) -> Option<VarId> {
        let writer = self.writer(var)?;
        match writer.op {
            Op::GatherRows(GatherRows { rows }) if self.is_reordered(rows) => Some(writer.inputs[0]),
            Op::ScatterRows(_) => Some(writer.inputs[0]),
            _ => None,
        }
    }

    /// The value on the rows `to`, gathered once at the front of `block`.
    fn gather(&mut self, block: BlockId, var: VarId, to: RowsId, site: Site) -> Result<VarId, BuildError> {
        let op = Op::from(GatherRows { rows: to });
        // What is gathered within the block is not at its front.
        let is_gather = |operator: &&Operator| {
            matches!(operator.op, Op::GatherRows(_)) && self.var(operator.inputs[0]).block != block
        };
        let gathers = self.block(block).ops.iter().take_while(is_gather);
        let found = gathers.clone().find(|operator| operator.op == op && operator.inputs == [var]);
        if let Some(operator) = found {
            return Ok(operator.outputs[0]);
        }
        let at = gathers.count();
        Ok(self.insert_at(block, at, op, &[var], site)?[0])
    }
}

impl Operation for GatherRows {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "gather_rows",
                doc: "The rows of x that another row space has, in its order.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), of_shards: &[OfShards::Rows], ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
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

    /// If only some of the rows were taken, the gradient stays in the block's row space. The gradient of the operator
    /// that owns the block joins it with that of the other rows.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        let grad = if g.program().is_reordered(self.rows) { g.emit(ScatterRows, &[grad])? } else { grad };
        Ok(vec![Some(grad)])
    }
}

impl Operation for ScatterRows {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "scatter_rows",
                doc: "Reordered rows, back in their former order.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), of_shards: &[OfShards::Rows], ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
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
}
