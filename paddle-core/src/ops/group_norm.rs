//! `group_norm`: normalises groups of channels of each row by their own mean and variance.

use super::layer_norm::{need_gradient, need_one_for_each};
use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// `Y = (X - mean) / √(variance + epsilon) · Scale + Bias`, of floating-point `[rows, channels, ..]`. Each group of
/// neighbouring channels of a row has its own mean and variance; `Scale` and `Bias` have one number for each channel.
/// (Wu, He: Group Normalization, 2018.) With one channel in each group, this is instance normalisation.
///
/// The gradient needs `Mean` and `Variance`, `[rows, groups]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNorm {
    /// A number that is added to variances, so that none is 0.
    pub epsilon: f64,
    /// The number of groups, which have equal sizes.
    pub groups: i64,
}

/// Gradients of [`GroupNorm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNormGrad(
    /// The operator that is differentiated.
    pub GroupNorm,
);

attributes!(GroupNorm { epsilon = 1e-5, groups = 1 });
attributes!(GroupNormGrad(GroupNorm));

/// The types of values with one number for each group of a row, and with one for each channel.
fn parts(cx: &Infer<'_>, groups: i64) -> Result<[Type; 2], Mismatch> {
    cx.need_float(0)?;
    let ty = cx.ty(0);
    let at = usize::from(ty.rows.is_none());
    let Some(channels) = ty.dims.get(at) else {
        let message = format!("{}, but `{}` needs rows with channels", cx.is(0), cx.operator);
        return Err(cx.wrong(0, MismatchKind::Shape, message));
    };
    let uneven = || {
        let message = format!(
            "{}, but `{}` cuts its {} channels into {groups} groups, which has to come out even",
            cx.is(0),
            cx.operator,
            cx.program.show_dim(channels)
        );
        cx.wrong(0, MismatchKind::Attribute, message)
    };
    if groups < 1 {
        return Err(uneven());
    }
    cx.need_quotient(channels, &Dim::from(groups), uneven)?;
    let dims = ty.dims[..at].iter().cloned().chain([Dim::from(groups)]).collect();
    let dtype = ty.dtype;
    Ok([Type { dtype, rows: ty.rows, dims }, Type { dtype, rows: None, dims: vec![channels.clone()] }])
}

impl Operation for GroupNorm {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "group_norm",
                doc: "Groups of channels of each row, normalised by their mean and variance.",
                inputs: &[Slot::of("X"), Slot::of("Scale"), Slot::of("Bias")],
                outputs: &[
                    Slot::of("Y"),
                    Slot::of("Mean").intermediate(),
                    Slot::of("Variance").intermediate(),
                ],
                accuracy: AccuracyClass::Accumulating("by sums over the elements of a group"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let [mean, scale] = parts(cx, self.groups)?;
        need_one_for_each(cx, 1, &scale, "channel")?;
        need_one_for_each(cx, 2, &scale, "channel")?;
        Ok(vec![cx.ty(0).clone(), mean.clone(), mean])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.output(1), g.output(2), g.grad(0)?];
        let grads = g.emit_all(GroupNormGrad(*self), &inputs)?;
        Ok(grads.into_iter().map(Some).collect())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |groups| Sample::of(GroupNorm { epsilon: 0.1, groups });
        let with = |sample: Sample, channels: i64| sample.dense(&[channels]).dense(&[channels]);
        vec![
            with(op(2).rows(3, &[4, 2, 3]), 4),
            with(op(4).rows(2, &[4, 3]), 4),
            with(op(2).rows(3, &[6]), 6),
            with(op(1).dense(&[2, 3, 2]), 3),
            with(op(2).rows(0, &[4, 2]), 4),
            with(op(3).rows(1, &[3, 2]), 3),
        ]
    }
}

impl Operation for GroupNormGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "group_norm_grad",
                doc: "Gradients of `group_norm`.",
                inputs: &[
                    Slot::of("X"),
                    Slot::of("Scale"),
                    Slot::of("Mean"),
                    Slot::of("Variance"),
                    Slot::of("Y@GRAD"),
                ],
                outputs: &[Slot::of("X@GRAD"), Slot::of("Scale@GRAD"), Slot::of("Bias@GRAD")],
                accuracy: AccuracyClass::Accumulating(
                    "by sums over the elements of a group, and over all rows",
                ),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let [mean, scale] = parts(cx, self.0.groups)?;
        need_one_for_each(cx, 1, &scale, "channel")?;
        need_one_for_each(cx, 2, &mean, "mean")?;
        need_one_for_each(cx, 3, &mean, "mean")?;
        need_gradient(cx, 4)?;
        Ok(vec![cx.ty(0).clone(), scale.clone(), scale])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |groups| Sample::of(GroupNormGrad(GroupNorm { epsilon: 1e-3, groups }));
        let with = |sample: Sample, dims: &[i64], mean: &[i64], channels: i64| {
            sample.dense(&[channels]).like(mean).like(mean).within(0.5, 1.5).like(dims)
        };
        vec![
            with(op(2).rows(3, &[4, 2, 3]), &[4, 2, 3], &[2], 4),
            with(op(2).rows(3, &[6]), &[6], &[2], 6),
            with(op(2).rows(0, &[4, 2]), &[4, 2], &[2], 4),
        ]
    }
}
