//! `layer_norm`: normalises the elements of each row by their own mean and variance, or those of each position in a
//! row.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// `Y = (X - mean) / √(variance + epsilon) · Scale + Bias`, of floating-point numbers. The elements along the axes from
/// `begin_norm_axis` on are normalised together; `Scale` and `Bias`, `[elements]`, have one number for each of them.
/// (Ba, Kiros, Hinton: Layer Normalization, 2016.)
///
/// The gradient needs `Mean` and `Variance`, which have the axes before `begin_norm_axis`. In PaddlePaddle these axes
/// are flattened into one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// A number that is added to variances, so that none is 0.
    pub epsilon: f64,
    /// The first axis that is normalised. The axis of the rows counts as 0.
    pub begin_norm_axis: i64,
}

/// Gradients of [`LayerNorm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormGrad(
    /// The operator that is differentiated.
    pub LayerNorm,
);

attributes!(LayerNorm { epsilon = 1e-5, begin_norm_axis = 1 });
attributes!(LayerNormGrad(LayerNorm));

/// The types of values with one number for each mean, and with one for each element that is normalised together.
fn parts(cx: &Infer<'_>, begin: i64) -> Result<[Type; 2], Mismatch> {
    cx.need_float(0)?;
    let ty = cx.ty(0);
    let (before, behind) = ty.dims.split_at(cx.need_axis(0, begin)?);
    let count = behind.iter().try_fold(Dim::from(1), |product, dim| &product * dim)?;
    let dtype = ty.dtype;
    Ok([Type { dtype, rows: ty.rows, dims: before.to_vec() }, Type { dtype, rows: None, dims: vec![count] }])
}

/// Checks that input `k` is of this type. `what` names the things that have one number each.
pub(super) fn need_one_for_each(cx: &Infer<'_>, k: usize, ty: &Type, what: &str) -> Result<(), Mismatch> {
    cx.same_dtype(0, k)?;
    let found = cx.ty(k);
    let wrong = || {
        let message =
            format!("{}, but {}: `{}` needs one number for each {what}", cx.is(k), cx.is(0), cx.operator);
        cx.wrong(k, MismatchKind::Shape, message)
    };
    if found.rows != ty.rows {
        return Err(wrong());
    }
    cx.need_equal_dims(&found.dims, &ty.dims, wrong)
}

/// Checks that input `k`, a gradient, has the type of input 0.
pub(super) fn need_gradient(cx: &Infer<'_>, k: usize) -> Result<(), Mismatch> {
    if cx.ty(k) == cx.ty(0) {
        return Ok(());
    }
    let message = format!("{}, but {}: a gradient has the type of its value", cx.is(k), cx.is(0));
    Err(cx.wrong(k, MismatchKind::Shape, message))
}

impl Operation for LayerNorm {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "layer_norm",
                doc: "Elements from an axis on, normalised by their mean and variance.",
                inputs: &[Slot::of("X"), Slot::of("Scale"), Slot::of("Bias")],
                outputs: &[
                    Slot::of("Y"),
                    Slot::of("Mean").intermediate(),
                    Slot::of("Variance").intermediate(),
                ],
                accuracy: AccuracyClass::Accumulating(
                    "by sums over the elements that are normalised together",
                ),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let [mean, scale] = parts(cx, self.begin_norm_axis)?;
        need_one_for_each(cx, 1, &scale, "element that is normalised with others")?;
        need_one_for_each(cx, 2, &scale, "element that is normalised with others")?;
        Ok(vec![cx.ty(0).clone(), mean.clone(), mean])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.output(1), g.output(2), g.grad(0)?];
        let grads = g.emit_all(LayerNormGrad(*self), &inputs)?;
        Ok(grads.into_iter().map(Some).collect())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |begin_norm_axis| Sample::of(LayerNorm { epsilon: 0.1, begin_norm_axis });
        vec![
            op(1).rows(3, &[4]).dense(&[4]).dense(&[4]),
            op(2).rows(3, &[2, 5]).dense(&[5]).dense(&[5]),
            op(1).rows(2, &[3, 2]).dense(&[6]).dense(&[6]),
            op(0).dense(&[2, 3]).dense(&[6]).dense(&[6]),
            op(1).rows(0, &[4]).dense(&[4]).dense(&[4]),
            op(1).rows(1, &[3]).dense(&[3]).dense(&[3]),
        ]
    }
}

impl Operation for LayerNormGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "layer_norm_grad",
                doc: "Gradients of `layer_norm`.",
                inputs: &[
                    Slot::of("X"),
                    Slot::of("Scale"),
                    Slot::of("Mean"),
                    Slot::of("Variance"),
                    Slot::of("Y@GRAD"),
                ],
                outputs: &[Slot::of("X@GRAD"), Slot::of("Scale@GRAD"), Slot::of("Bias@GRAD")],
                accuracy: AccuracyClass::Accumulating(
                    "by sums over the elements that are normalised together, and over all rows",
                ),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let [mean, scale] = parts(cx, self.0.begin_norm_axis)?;
        need_one_for_each(cx, 1, &scale, "element that is normalised with others")?;
        need_one_for_each(cx, 2, &mean, "mean")?;
        need_one_for_each(cx, 3, &mean, "mean")?;
        need_gradient(cx, 4)?;
        Ok(vec![cx.ty(0).clone(), scale.clone(), scale])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |begin_norm_axis| Sample::of(LayerNormGrad(LayerNorm { epsilon: 1e-3, begin_norm_axis }));
        let with = |sample: Sample, scale: i64, mean: &[i64], dims: &[i64]| {
            sample.dense(&[scale]).like(mean).like(mean).within(0.5, 1.5).like(dims)
        };
        vec![
            with(op(1).rows(3, &[4]), 4, &[], &[4]),
            with(op(2).rows(3, &[2, 5]), 5, &[2], &[2, 5]),
            with(op(0).dense(&[2, 3]), 6, &[], &[2, 3]),
            with(op(1).rows(0, &[4]), 4, &[], &[4]),
        ]
    }
}
