//! `gather_nd`, `scatter_nd_add`: slices by their positions, and sums at positions.

use super::{
    AccuracyClass, Effects, Fill, Gradient, GradientError, Infer, Mismatch, MismatchKind, Number, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// The slices of `X` at the positions in `Index`: `Out[.., j] = X[Index[.., :], j]`.
///
/// `X` has no rows. `Index`: i64, `[.., n]`; its last dimension holds indices along the first `n` axes of `X`. `Out`:
/// the dimensions of `Index` but the last, then those of `X` from axis `n` on. An index out of range is an error at run
/// time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatherNd;

/// `X` plus `Updates`, which are added in order at the positions in `Index`: the adjoint of [`GatherNd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatterNdAdd;

attributes!(GatherNd {});
attributes!(ScatterNdAdd {});

/// The type of the slices of a value (input 0) at positions (input 1).
fn parts(cx: &Infer<'_>) -> Result<Type, Mismatch> {
    cx.need_dtype(1, DType::I64)?;
    let (x, index) = (cx.ty(0), cx.ty(1));
    if x.rows.is_some() {
        let message = format!("{}, and `{}` does not go along rows", cx.is(0), cx.operator);
        return Err(cx.wrong(0, MismatchKind::Rows, message));
    }
    let length = index.dims.split_last().and_then(|(last, outer)| {
        let length = usize::try_from(last.constant()?).ok().filter(|length| *length <= x.dims.len())?;
        Some((length, outer))
    });
    let Some((length, outer)) = length else {
        let message = format!(
            "{}, but `{}` needs positions in {}: [.., n] with n at most {}",
            cx.is(1),
            cx.operator,
            cx.names[0],
            x.dims.len()
        );
        return Err(cx.wrong(1, MismatchKind::Shape, message));
    };
    Ok(Type { dtype: x.dtype, rows: index.rows, dims: [outer, &x.dims[length..]].concat() })
}

impl Operation for GatherNd {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "gather_nd",
                doc: "The parts of x at positions.",
                inputs: &[Slot::of("X").picked(), Slot::of("Index")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![parts(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (ty, index, grad) = (g.ty(g.input(0)).clone(), g.input(1), g.grad(0)?);
        let zeros = g.emit(Fill { value: Number::Float(0.0), ty }, &[])?;
        Ok(vec![Some(g.emit(ScatterNdAdd, &[zeros, index, grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let case = |x: &[i64], rows: Option<usize>, index: &[i64]| {
            let sample = Sample::of(GatherNd).dense(x);
            let sample = match rows {
                Some(rows) => sample.rows(rows, index),
                None => sample.dense(index),
            };
            sample.dtype(DType::I64).within(0.0, 2.0)
        };
        vec![
            case(&[3, 2, 2], None, &[4, 2]),
            case(&[2, 3], None, &[5, 1]),
            case(&[2, 2], Some(6), &[2]),
            case(&[2, 2], Some(1), &[3, 1]),
            case(&[2, 3], None, &[2, 0]),
            case(&[2, 3], Some(0), &[1]),
        ]
    }
}

impl Operation for ScatterNdAdd {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "scatter_nd_add",
                doc: "x with updates added at positions.",
                inputs: &[Slot::of("X"), Slot::of("Index"), Slot::of("Updates")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum over what is put in one place"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        cx.need_type(2, &parts(cx)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (index, grad) = (g.input(1), g.grad(0)?);
        let of_updates = if g.wants(2) { Some(g.emit(GatherNd, &[grad, index])?) } else { None };
        Ok(vec![Some(grad), None, of_updates])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |x: &[i64]| Sample::of(ScatterNdAdd).dense(x);
        let positions = |sample: Sample| sample.dtype(DType::I64).within(0.0, 2.0);
        vec![
            positions(op(&[3, 2, 2]).dense(&[4, 2])).dense(&[4, 2]),
            positions(op(&[2, 3]).dense(&[9, 1])).dense(&[9, 3]),
            positions(op(&[2, 2]).rows(6, &[2])).rows(6, &[]),
            positions(op(&[2, 3]).rows(1, &[1])).rows(1, &[3]),
            positions(op(&[2, 3]).rows(0, &[1])).rows(0, &[3]),
        ]
    }
}
