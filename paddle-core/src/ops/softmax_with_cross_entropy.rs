//! `softmax_with_cross_entropy`: the loss of a classifier, from logits and class ids.

use super::cross_entropy::loss_type;
use super::{
    AccuracyClass, Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample,
    Schema, Slot, SoftmaxGrad, labels,
};
use crate::program::{DType, Type, VarId};

/// `Loss[i] = -ln softmax(Logits)[i, Label[i]]`, or `-Σⱼ Label[i, j] · ln softmax(Logits)[i, j]` with `soft_label`, and
/// the softmax itself.
///
/// `Logits`: floating point `[_, classes]`; `Label`: i64 ids `[_, 1]` or `[_]`, with `soft_label` a probability for each
/// class; `Loss`: `[_, 1]`. The loss of a row whose id is `ignore_index` is 0; another id out of range is an error at run
/// time. No gradient passes to labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxWithCrossEntropy {
    /// Whether labels are probabilities.
    pub soft_label: bool,
    /// The id that marks rows without a class.
    pub ignore_index: i64,
}

/// Gradient of [`SoftmaxWithCrossEntropy`] with respect to the logits:
/// `(Softmax - onehot(Label)) · Loss@GRAD`; with `soft_label`, `(Softmax · Σⱼ Label[.., j] - Label) · Loss@GRAD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxWithCrossEntropyGrad(
    /// The operator that is differentiated.
    pub SoftmaxWithCrossEntropy,
);

attributes!(SoftmaxWithCrossEntropy { soft_label = false, ignore_index = -100 });
attributes!(SoftmaxWithCrossEntropyGrad(SoftmaxWithCrossEntropy));

impl SoftmaxWithCrossEntropy {
    /// The loss with class ids as labels.
    pub const HARD: Self = SoftmaxWithCrossEntropy { soft_label: false, ignore_index: -100 };
}

impl SoftmaxWithCrossEntropyGrad {
    /// The gradient of the loss with class ids as labels.
    pub const HARD: Self = SoftmaxWithCrossEntropyGrad(SoftmaxWithCrossEntropy::HARD);
}

impl Operation for SoftmaxWithCrossEntropy {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "softmax_with_cross_entropy",
                doc: "`-ln softmax(logits)[label]`.",
                inputs: &[Slot::of("Logits"), Slot::of("Label").without_gradient()],
                outputs: &[Slot::of("Softmax"), Slot::of("Loss")],
                accuracy: AccuracyClass::Accumulating("a sum of exponentials"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        labels::check(cx, 0, 1, self.soft_label)?;
        Ok(vec![cx.ty(0).clone(), loss_type(cx.ty(0))])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (softmax, label) = (g.output(0), g.input(1));
        let mut parts = Vec::new();
        if g.has_grad(1) {
            let loss = g.grad(1)?;
            let op = SoftmaxWithCrossEntropyGrad(*self);
            parts.push(g.emit(op, &[softmax, label, loss])?);
        }
        if g.has_grad(0) {
            let grad = g.grad(0)?;
            parts.push(g.emit(SoftmaxGrad, &[softmax, grad])?);
        }
        let logits = match parts[..] {
            [one] => one,
            _ => g.emit(Binary { kind: BinaryKind::Add }, &parts)?,
        };
        Ok(vec![Some(logits), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let ids = |sample: Sample, rows, dims: &[i64], classes: i64| {
            sample.rows(rows, dims).dtype(DType::I64).within(0.0, classes as f64)
        };
        let of = |op: SoftmaxWithCrossEntropy, rows, classes| Sample::of(op).rows(rows, &[classes]);
        let logits = |rows, classes| of(Self::HARD, rows, classes);
        let ignoring = SoftmaxWithCrossEntropy { ignore_index: 1, ..Self::HARD };
        let soft = |rows, classes| {
            let op = SoftmaxWithCrossEntropy { soft_label: true, ..Self::HARD };
            of(op, rows, classes).rows(rows, &[classes]).within(0.0, 1.0)
        };
        vec![
            ids(logits(3, 4), 3, &[1], 4),
            ids(logits(5, 2), 5, &[], 2),
            ids(logits(0, 4), 0, &[1], 4),
            ids(of(ignoring, 7, 3), 7, &[1], 3),
            soft(3, 4),
            soft(5, 40),
            soft(0, 4),
        ]
    }
}

impl Operation for SoftmaxWithCrossEntropyGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "softmax_with_cross_entropy_grad",
                doc: "Gradient of `softmax_with_cross_entropy`.",
                inputs: &[Slot::of("Softmax"), Slot::of("Label"), Slot::of("Loss@GRAD")],
                outputs: &[Slot::of("Logits@GRAD")],
                accuracy: AccuracyClass::Accumulating("a difference of probabilities"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        labels::check(cx, 0, 1, self.0.soft_label)?;
        cx.need_type(2, &loss_type(cx.ty(0)))?;
        Ok(vec![cx.ty(0).clone()])
    }
}
