//! `take_along_axis`: one element along an axis for each place.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// `Result[i, j, k] = Input[i, Index[i, j, k], k]`, with `j` along the axis.
///
/// `Index`: i64, with the rows and dimensions of `Input`, except along the axis, which is not that of the rows. An
/// index out of range is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TakeAlongAxis {
    /// The axis. The axis of the rows counts as 0.
    pub axis: i64,
}

/// Gradient of [`TakeAlongAxis`] with respect to `Input`: each element of `Result@GRAD` is added to the element that it
/// was taken from, in order. `Input` is read for its shape only. It is the gradient of sorting, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TakeAlongAxisGrad(
    /// The operator that is differentiated.
    pub TakeAlongAxis,
);

attributes!(TakeAlongAxis { axis: 1 });
attributes!(TakeAlongAxisGrad(TakeAlongAxis));

fn taken(cx: &Infer<'_>, axis: i64) -> Result<Type, Mismatch> {
    cx.need_dtype(1, DType::I64)?;
    let at = cx.need_axis(0, axis)?;
    cx.common_rows(0, 1)?;
    let (x, index) = (cx.ty(0), cx.ty(1));
    let wrong = || {
        let message = format!("{}, but {}: they agree in all dimensions but axis {axis}", cx.is(1), cx.is(0));
        cx.wrong(1, MismatchKind::Shape, message)
    };
    if x.rows != index.rows || x.dims.len() != index.dims.len() {
        return Err(wrong());
    }
    let others = index.dims.iter().zip(&x.dims).enumerate().filter(|(i, _)| *i != at);
    others.into_iter().try_for_each(|(_, (a, b))| cx.need_equal(a, b, wrong))?;
    Ok(index.with_dtype(x.dtype))
}

impl Operation for TakeAlongAxis {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "take_along_axis",
                doc: "For each place, an element from along an axis.",
                inputs: &[Slot::of("Input").picked(), Slot::of("Index")],
                outputs: &[Slot::of("Result")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![taken(cx, self.axis)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.grad(0)?];
        Ok(vec![Some(g.emit(TakeAlongAxisGrad(*self), &inputs)?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(|axis| Sample::of(TakeAlongAxis { axis }), |sample, _| sample)
    }
}

impl Operation for TakeAlongAxisGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "take_along_axis_grad",
                doc: "Gradient of `take_along_axis`.",
                inputs: &[Slot::of("Input").shape_only(), Slot::of("Index"), Slot::of("Result@GRAD")],
                outputs: &[Slot::of("Input@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over what is put in one place"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_type(2, &taken(cx, self.0.axis)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.grad(0)?, g.input(1)];
        Ok(vec![None, None, Some(g.emit(self.0, &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(
            |axis| Sample::of(TakeAlongAxisGrad(TakeAlongAxis { axis })),
            |sample, index| sample.like(index),
        )
    }
}

/// Samples of the operator. `with` adds an input in the shape of the result.
fn cases(op: impl Fn(i64) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    let index = |sample: Sample, dims: &[i64], below: i64| {
        with(sample.like(dims).dtype(DType::I64).within(0.0, below as f64), dims)
    };
    vec![
        index(op(1).rows(3, &[4]), &[6], 4),
        index(op(1).rows(2, &[4, 3]), &[2, 3], 4),
        index(op(0).dense(&[3, 2]), &[5, 2], 3),
        index(op(1).rows(1, &[2]), &[1], 2),
        index(op(1).rows(0, &[4]), &[2], 4),
    ]
}
