//! Rows as an axis, and an axis as rows: for computations over all rows of a batch.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Program, Schema, Slot,
};
use crate::program::{Dim, RowOrigin, RowsId, Type, VarId};

/// `X`, of any type, as a value without rows whose first dimension is the number of rows: `[_, D]` becomes `[N, D]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowsToAxis;

/// `X`, which has no rows, with its first dimension as the rows of `Like`: `[N, D]` becomes `[_, D]`. `Like` is read
/// for its rows only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisToRows;

attributes!(RowsToAxis {});
attributes!(AxisToRows {});

/// The number of rows.
fn count(program: &Program, rows: RowsId) -> Dim {
    let space = program.row_space(rows);
    match space.origin {
        RowOrigin::Fixed(count) => Dim::from(i64::from(count)),
        _ => Dim::symbol(space.size),
    }
}

impl Operation for RowsToAxis {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "rows_to_axis",
                doc: "All rows of x as one value without rows.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), same_elements: true, ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let x = cx.ty(0);
        let Some(rows) = x.rows else {
            let message = format!("{}, which has no rows", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        };
        let dims = [&[count(cx.program, rows)], &x.dims[..]].concat();
        Ok(vec![Type { rows: None, dims, ..x.clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        Ok(vec![Some(g.emit(AxisToRows, &[grad, x])?)])
    }
}

impl Operation for AxisToRows {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "axis_to_rows",
                doc: "The parts of x along its first axis, one for each row.",
                inputs: &[Slot::of("X"), Slot::of("Like").shape_only().without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), same_elements: true, ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let (x, like) = (cx.ty(0), cx.ty(1));
        let Some(rows) = like.rows else {
            let message = format!("{}, but `{}` needs rows there", cx.is(1), cx.operator);
            return Err(cx.wrong(1, MismatchKind::Rows, message));
        };
        if x.rows.is_some() {
            let message = format!("{}, which has rows already", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        }
        cx.need_dims(0, 1)?;
        let wrong = || {
            let message = format!("{}, but {}: there is one part for each row", cx.is(0), cx.is(1));
            cx.wrong(0, MismatchKind::Shape, message)
        };
        cx.need_equal(&x.dims[0], &count(cx.program, rows), wrong)?;
        Ok(vec![Type { rows: Some(rows), dims: x.dims[1..].to_vec(), ..x.clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(RowsToAxis, &[grad])?), None])
    }
}
