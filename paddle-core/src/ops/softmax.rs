//! `softmax`: normalised exponentials along the last axis.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// `Out[.., i] = exp X[.., i] / Σⱼ exp X[.., j]`, computed with the maximum subtracted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax;

/// Gradient of [`Softmax`]: `Out · (Out@GRAD - Σⱼ Out[.., j] · Out@GRAD[.., j])`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxGrad;

attributes!(Softmax {});
attributes!(SoftmaxGrad {});

impl Operation for Softmax {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "softmax",
                doc: "Normalised exponentials along the last axis.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of exponentials"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (out, grad) = (g.output(0), g.grad(0)?);
        Ok(vec![Some(g.emit(SoftmaxGrad, &[out, grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(Softmax);
        vec![
            op().rows(3, &[4]),
            op().rows(2, &[1]),
            op().dense(&[2, 3]),
            op().rows(0, &[4]),
            op().rows(2, &[3]).within(80.0, 120.0),
        ]
    }
}

impl Operation for SoftmaxGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "softmax_grad",
                doc: "Gradient of `softmax`.",
                inputs: &[Slot::of("Out"), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }
}
