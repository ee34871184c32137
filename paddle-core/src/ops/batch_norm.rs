//! `batch_norm`: normalises each channel by its mean and its variance over the batch.

use super::{
    AccuracyClass, Binary, BinaryKind, Composition, Effects, Gradient, GradientError, Infer, Mismatch,
    MismatchKind, Mode, OfShards, Op, Operation, Reshape, Sample, Scale, Schema, Slot, Statistics, Unary,
    UnaryKind,
};
use crate::program::{BuildError, Dim, ParameterGradient, Type, VarId};

/// `Y = (X - mean) / √(variance + epsilon) · Scale + Bias`, for each channel, the dimension behind the rows.
///
/// In training, mean and variance are those of the batch. `Mean` and `Variance` then become
/// `momentum · before + (1 - momentum) · of the batch`, unless the batch has no elements. With `is_test`, mean and
/// variance are `Mean` and `Variance`, which do not change. With a momentum of 1 they do not change in training, either.
///
/// Where a batch is computed in shards, mean and variance are those of the shard, and `Mean` and `Variance` move once a
/// step, by the mean over all shards, weighted by rows.
///
/// The gradient needs `SavedMean`, the mean, and `SavedVariance`, which is `1 / √(variance + epsilon)` as in
/// PaddlePaddle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    /// A number that is added to variances, so that none is 0.
    pub epsilon: f64,
    /// The share of the moving statistics that stays.
    pub momentum: f64,
    /// Whether the operator normalises by the moving statistics.
    pub is_test: bool,
}

attributes!(BatchNorm { epsilon = 1e-5, momentum = 0.9, is_test = false });

/// Gradient of [`BatchNorm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormGrad {
    /// Whether mean and variance are constants.
    pub is_test: bool,
}

attributes!(BatchNormGrad { is_test = false });

/// Checks that input 0 has channels, and that each of `others` has its element type and one floating-point number for
/// each channel.
fn channels(cx: &Infer<'_>, others: &[usize]) -> Result<Type, Mismatch> {
    cx.need_float(0)?;
    let ty = cx.ty(0);
    let Some(channels) = ty.dims.get(usize::from(ty.rows.is_none())) else {
        let message = format!("{}, but `{}` needs rows with channels", cx.is(0), cx.operator);
        return Err(cx.wrong(0, MismatchKind::Shape, message));
    };
    for &other in others {
        cx.same_dtype(0, other)?;
        let wrong = || {
            let message = format!(
                "{}, but {}: `{}` needs one number for each channel",
                cx.is(other),
                cx.is(0),
                cx.operator
            );
            cx.wrong(other, MismatchKind::Shape, message)
        };
        let own = cx.ty(other);
        if own.rows.is_some() {
            return Err(wrong());
        }
        cx.need_equal_dims(&own.dims, std::slice::from_ref(channels), wrong)?;
    }
    Ok(Type { dtype: ty.dtype, rows: None, dims: vec![Dim::clone(channels)] })
}

impl Operation for BatchNorm {
    fn schema(&self) -> &'static Schema {
        const SCHEMA: Schema = Schema {
            name: "batch_norm",
            doc: "Channels normalised by their mean and variance.",
            // The gradient reads the moving statistics only if the operator normalises by them.
            inputs: &[
                Slot::of("X"),
                Slot::of("Scale"),
                Slot::of("Bias"),
                Slot::of("Mean").without_gradient().changed(),
                Slot::of("Variance").without_gradient().changed(),
            ],
            outputs: &[
                Slot::of("Y"),
                Slot::of("SavedMean").intermediate(),
                Slot::of("SavedVariance").intermediate(),
            ],
            accuracy: AccuracyClass::Accumulating(
                "sums over the rows of a batch, and distances from their mean",
            ),
            effects: Effects { of_shards: &[OfShards::OwnRows, OfShards::Other], ..Effects::STATE },
        };
        const FROZEN: Schema = Schema {
            inputs: IN_TEST.inputs,
            effects: Effects { of_shards: SCHEMA.effects.of_shards, ..Effects::PURE },
            ..SCHEMA
        };
        const IN_TEST: Schema = Schema {
            inputs: &[
                Slot::of("X"),
                Slot::of("Scale"),
                Slot::of("Bias"),
                Slot::of("Mean"),
                Slot::of("Variance"),
            ],
            effects: Effects::ROW_WISE,
            ..SCHEMA
        };
        match (self.is_test, self.keeps_statistics()) {
            (true, _) => &IN_TEST,
            (false, true) => &FROZEN,
            (false, false) => &SCHEMA,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let fail = |message: &str| {
            Err(cx.fail(MismatchKind::Attribute, format!("`{}` needs {message}", cx.operator)))
        };
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return fail("an epsilon above 0");
        }
        if !(0.0..=1.0).contains(&self.momentum) {
            return fail("a momentum from 0 to 1");
        }
        let channels = channels(cx, &[1, 2, 3, 4])?;
        Ok(vec![cx.ty(0).clone(), channels.clone(), channels])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.output(1), g.output(2), g.grad(0)?];
        let grads = g.emit_blocks(BatchNormGrad { is_test: self.is_test }, &inputs, &[])?;
        let mut grads: Vec<Option<VarId>> = grads.into_iter().map(Some).collect();
        grads.extend([None, None]);
        let [scale, inverse] = [inputs[1], inputs[3]];
        let product = |g: &mut Gradient<'_>, a, b| g.emit(Binary { kind: BinaryKind::Mul }, &[a, b]);
        // Gradients of the moving statistics exist only here. They follow from the sums that are computed already.
        if let ([_, Some(of_scale), Some(of_bias), ..], true) = (&grads[..], self.is_test) {
            let (of_scale, of_bias) = (*of_scale, *of_bias);
            if g.wants(3) {
                let sum = product(g, of_bias, scale)?;
                let sum = product(g, sum, inverse)?;
                grads[3] = Some(g.negate(sum)?);
            }
            if g.wants(4) {
                let sum = product(g, of_scale, scale)?;
                let sum = product(g, sum, inverse)?;
                let sum = product(g, sum, inverse)?;
                grads[4] = Some(g.emit(Scale { scale: -0.5, bias: 0.0 }, &[sum])?);
            }
        }
        Ok(grads)
    }

    /// `factor · X + shift`: both follow from the parameters.
    fn composed(&self, c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        if !self.is_test {
            return Ok(None);
        }
        let [x, scale, bias, mean, variance] = std::array::from_fn(|k| c.input(k));
        let binary = |kind| Binary { kind };
        let positive = c.emit(Scale { scale: 1.0, bias: self.epsilon }, &[variance])?;
        let inverse = c.emit(Unary::of(UnaryKind::Rsqrt), &[positive])?;
        let mut factor = c.emit(binary(BinaryKind::Mul), &[inverse, scale])?;
        let moved = c.emit(binary(BinaryKind::Mul), &[mean, factor])?;
        let mut shift = c.emit(binary(BinaryKind::Sub), &[bias, moved])?;
        let ty = c.ty(x);
        // The channels are in front of the elements of an image.
        let behind = ty.dims.len() - 1 - usize::from(ty.rows.is_none());
        if behind > 0 {
            let ones = std::iter::repeat_n(Dim::from(1), behind);
            let dims: Vec<Dim> = c.ty(scale).dims.iter().cloned().chain(ones).collect();
            factor = c.emit(Reshape { dims: dims.clone() }, &[factor])?;
            shift = c.emit(Reshape { dims }, &[shift])?;
        }
        let scaled = c.emit(binary(BinaryKind::Mul), &[x, factor])?;
        c.emit(binary(BinaryKind::Add), &[scaled, shift]).map(Some)
    }

    fn in_mode(&self, mode: Mode) -> Option<Op> {
        let op = match mode {
            Mode::Test => BatchNorm { is_test: true, ..*self },
            Mode::Frozen => BatchNorm { momentum: 1.0, ..*self },
        };
        Some(op.into())
    }

    fn moved(&self, s: &mut Statistics<'_>) -> Result<Vec<ParameterGradient>, BuildError> {
        if self.keeps_statistics() {
            return Ok(Vec::new());
        }
        let (mean, inverse) = (s.output(1), s.output(2));
        let binary = |kind| Binary { kind };
        let squared = s.emit(binary(BinaryKind::Mul), &[inverse, inverse])?;
        let positive = s.emit(Unary::of(UnaryKind::Reciprocal), &[squared])?;
        let variance = s.emit(Scale { scale: 1.0, bias: -self.epsilon }, &[positive])?;
        let mut moved = Vec::new();
        for (parameter, now) in [(s.input(3), mean), (s.input(4), variance)] {
            let distance = s.emit(binary(BinaryKind::Sub), &[parameter, now])?;
            let gradient = s.emit(Scale { scale: 1.0 - self.momentum, bias: 0.0 }, &[distance])?;
            moved.push(ParameterGradient { parameter, gradient });
        }
        Ok(moved)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |(is_test, momentum)| {
            let op = BatchNorm { epsilon: 1e-3, momentum, is_test };
            let with = |sample: Sample, channels: i64| {
                let sample = sample.dense(&[channels]).dense(&[channels]).dense(&[channels]);
                sample.dense(&[channels]).within(0.5, 1.5)
            };
            [
                with(Sample::of(op).rows(5, &[3]), 3),
                with(Sample::of(op).rows(3, &[2, 2, 3]), 2),
                with(Sample::of(op).dense(&[4, 1]), 1),
                with(Sample::of(op).rows(0, &[3]), 3),
                with(Sample::of(op).rows(1, &[2]), 2),
            ]
        };
        [(false, 0.75), (true, 0.75), (false, 1.0)].into_iter().flat_map(cases).collect()
    }
}

impl BatchNorm {
    /// Whether the moving statistics stay as they are.
    pub fn keeps_statistics(&self) -> bool {
        self.is_test || self.momentum == 1.0
    }
}

impl Operation for BatchNormGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "batch_norm_grad",
                doc: "Gradient of `batch_norm`.",
                inputs: &[
                    Slot::of("X"),
                    Slot::of("Scale"),
                    Slot::of("SavedMean"),
                    Slot::of("SavedVariance"),
                    Slot::of("Y@GRAD"),
                ],
                outputs: &[Slot::of("X@GRAD"), Slot::of("Scale@GRAD"), Slot::of("Bias@GRAD")],
                accuracy: AccuracyClass::Accumulating("sums over the rows of a batch"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let channels = channels(cx, &[1, 2, 3])?;
        if cx.ty(4) != cx.ty(0) {
            let message = format!("{}, but {}: a gradient has the type of its value", cx.is(4), cx.is(0));
            return Err(cx.wrong(4, MismatchKind::Shape, message));
        }
        Ok(vec![cx.ty(0).clone(), channels.clone(), channels])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |is_test| {
            let op = || Sample::of(BatchNormGrad { is_test });
            let with = |sample: Sample, channels: i64, dims: &[i64]| {
                let sample = sample.dense(&[channels]).dense(&[channels]);
                sample.dense(&[channels]).within(0.5, 1.5).like(dims)
            };
            [
                with(op().rows(5, &[3]), 3, &[3]),
                with(op().rows(3, &[2, 2, 3]), 2, &[2, 2, 3]),
                with(op().rows(0, &[3]), 3, &[3]),
            ]
        };
        [false, true].into_iter().flat_map(cases).collect()
    }
}
