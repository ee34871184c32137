//! `gather`: elements along an axis, by their indices.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// The elements of `X` along an axis with the indices `Index`. The dimensions of `Index` replace the axis.
///
/// A value with rows is read row by row; a value without rows is the same for every row. So there are four forms:
///
/// | `X` | `Index` | `Out` | |
/// | --- | --- | --- | --- |
/// | `[A, B]` | `[K]` | `[A, K]` | axis 1 |
/// | `[_, A, B]` | `[K]` | `[_, K, B]` | axis 1; the same elements of each row |
/// | `[A, B]` | `[_, K]` | `[_, K, B]` | axis 0, as in an embedding |
/// | `[_, A, B]` | `[_, K]` | `[_, K, B]` | axis 1; each row has indices of its own, as where beams are reordered |
///
/// `Index` is i64. An index out of range is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gather {
    /// The axis of `X`. The axis of the rows counts as 0.
    pub axis: i64,
}

/// Gradient of [`Gather`] with respect to `X`: each element of `Out@GRAD` is added to the element that it was taken
/// from, in order. `X` is read for its shape only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatherGrad(
    /// The operator that is differentiated.
    pub Gather,
);

attributes!(Gather { axis = 0 });
attributes!(GatherGrad(Gather));

fn gathered(cx: &Infer<'_>, axis: i64) -> Result<Type, Mismatch> {
    cx.need_dtype(1, DType::I64)?;
    let at = cx.need_axis(0, axis)?;
    let rows = cx.common_rows(0, 1)?;
    let (x, index) = (cx.ty(0), cx.ty(1));
    if x.rows.is_none() && rows.is_some() && at > 0 {
        let message = format!(
            "{}, but {} has no rows: of such a value, rows are gathered along axis 0 only",
            cx.is(1),
            cx.names[0]
        );
        return Err(cx.wrong(1, MismatchKind::Rows, message));
    }
    let dims = [&x.dims[..at], &index.dims, &x.dims[at + 1..]].concat();
    Ok(Type { dtype: x.dtype, rows, dims })
}

impl Operation for Gather {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "gather",
                doc: "The elements of x along an axis at the indices in index.",
                inputs: &[Slot::of("X").picked(), Slot::of("Index")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![gathered(cx, self.axis)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.grad(0)?];
        Ok(vec![Some(g.emit(GatherGrad(*self), &inputs)?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axis| Sample::of(Gather { axis });
        let ids = |sample: Sample, below: i64| sample.dtype(DType::I64).within(0.0, below as f64);
        vec![
            ids(op(0).dense(&[4, 3]).dense(&[7]), 4),
            ids(op(1).dense(&[2, 3, 2]).dense(&[2, 2]), 3),
            ids(op(1).rows(3, &[4, 2]).dense(&[5]), 4),
            ids(op(0).dense(&[4, 3]).rows(5, &[]), 4),
            ids(op(0).dense(&[3]).rows(2, &[2]), 3),
            ids(op(1).rows(3, &[4, 2]).rows(3, &[3]), 4),
            ids(op(2).rows(2, &[2, 3, 2]).rows(2, &[]), 3),
            ids(op(1).rows(1, &[2]).rows(1, &[6]), 2),
            ids(op(1).rows(0, &[4, 2]).rows(0, &[3]), 4),
        ]
    }
}

impl Operation for GatherGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "gather_grad",
                doc: "Gradient of `gather`.",
                inputs: &[Slot::of("X").shape_only(), Slot::of("Index"), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over what is put in one place"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_type(2, &gathered(cx, self.0.axis)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let ids = |sample: Sample, below: i64| sample.dtype(DType::I64).within(0.0, below as f64);
        let op = |axis| Sample::of(GatherGrad(Gather { axis }));
        vec![
            ids(op(0).dense(&[4, 3]).dense(&[7]), 4).dense(&[7, 3]),
            ids(op(0).dense(&[4, 3]).rows(5, &[2]), 4).rows(5, &[2, 3]),
            ids(op(1).rows(3, &[4, 2]).dense(&[5]), 4).rows(3, &[5, 2]),
            ids(op(1).rows(3, &[4, 2]).rows(3, &[3]), 4).rows(3, &[3, 2]),
            ids(op(1).rows(0, &[4, 2]).rows(0, &[3]), 4).rows(0, &[3, 2]),
        ]
    }
}
