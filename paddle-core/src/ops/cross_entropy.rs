//! `cross_entropy`: the loss of a classifier that gives probabilities.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema, Slot, labels,
};
use crate::program::{DType, Dim, Type, VarId};

/// `Y[i] = -ln X[i, Label[i]]`, or `-Σⱼ Label[i, j] · ln X[i, j]` with `soft_label`; logarithms are no less than -10²⁰.
///
/// `X`: probabilities, floating point `[_, classes]`; `Label`: i64 ids `[_, 1]` or `[_]`, with `soft_label` a
/// probability for each class; `Y`: `[_, 1]`. The loss of a row whose id is `ignore_index` is 0; another id out of range
/// is an error at run time. No gradient passes to labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    /// Whether labels are probabilities.
    pub soft_label: bool,
    /// The id that marks rows without a class.
    pub ignore_index: i64,
}

/// Gradient of [`CrossEntropy`] with respect to the probabilities: `-onehot(Label) · Y@GRAD / X`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropyGrad(
    /// The loss that is differentiated.
    pub CrossEntropy,
);

attributes!(CrossEntropy { soft_label = false, ignore_index = -100 });
attributes!(CrossEntropyGrad(CrossEntropy));

/// The type of the losses: one for each row of values.
pub(super) fn loss_type(values: &Type) -> Type {
    let mut loss = values.clone();
    loss.dims.pop();
    loss.dims.push(Dim::from(1));
    loss
}

impl Operation for CrossEntropy {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "cross_entropy",
                doc: "`-ln x[label]`.",
                inputs: &[Slot::of("X"), Slot::of("Label").without_gradient()],
                outputs: &[Slot::of("Y")],
                accuracy: AccuracyClass::Accumulating(
                    "a sum of products, of logarithms that are near 0 at 1",
                ),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        labels::check(cx, 0, 1, self.soft_label)?;
        Ok(vec![loss_type(cx.ty(0))])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, label, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let op = CrossEntropyGrad(*self);
        Ok(vec![Some(g.emit(op, &[x, label, grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |soft_label, ignore_index, rows, classes: i64| {
            let op = CrossEntropy { soft_label, ignore_index };
            Sample::of(op).rows(rows, &[classes]).within(0.1, 0.9)
        };
        let ids = |rows, classes: i64, ignore_index| {
            let sample = of(false, ignore_index, rows, classes).rows(rows, &[1]);
            sample.dtype(DType::I64).within(0.0, classes as f64)
        };
        let soft = |rows, classes: i64| of(true, -100, rows, classes).rows(rows, &[classes]).within(0.0, 1.0);
        vec![ids(3, 4, -100), ids(7, 3, 1), ids(0, 4, -100), soft(3, 4), soft(5, 40), soft(0, 4)]
    }
}

impl Operation for CrossEntropyGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "cross_entropy_grad",
                doc: "Gradient of `cross_entropy`.",
                inputs: &[Slot::of("X"), Slot::of("Label"), Slot::of("Y@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Rounding("a product and a quotient"),
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
