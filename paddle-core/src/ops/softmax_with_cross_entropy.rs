//! `softmax_with_cross_entropy`: the loss of a classifier, from logits and class ids.

use super::{
    Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, SoftmaxGrad,
};
use crate::program::{DType, Dim, Type, VarId};

/// `Loss[i] = -ln softmax(Logits)[i, Label[i]]` and the softmax itself.
///
/// `Logits`: floating point `[_, classes]`; `Label`: i64 ids `[_, 1]` or `[_]`; `Loss`: `[_, 1]`. An id out of range
/// is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxWithCrossEntropy;

/// Gradient of [`SoftmaxWithCrossEntropy`] with respect to the logits:
/// `(Softmax - onehot(Label)) · Loss@GRAD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxWithCrossEntropyGrad;

attributes!(SoftmaxWithCrossEntropy {});
attributes!(SoftmaxWithCrossEntropyGrad {});

/// Class ids for logits: the same rows, one id each.
fn check_label(cx: &Infer<'_>, logits: usize, label: usize) -> Result<(), Mismatch> {
    let ty = cx.ty(label);
    let needs = format!("`{}` needs class ids [_, 1]", cx.operator);
    if ty.dtype != DType::I64 {
        let message = format!("{}, but {needs} of element type i64", cx.is(label));
        return Err(cx.wrong(label, MismatchKind::ElementType, message));
    }
    // One id for each row of logits; without rows, for each of the dimensions before the classes.
    let classes_at = cx.ty(logits).dims.len() - 1;
    let outer = &cx.ty(logits).dims[..classes_at];
    let (before, last) = ty.dims.split_at(ty.dims.len().min(classes_at));
    let wrong = || cx.wrong(label, MismatchKind::Shape, format!("{}, but {needs}", cx.is(label)));
    cx.need_equal_dims(before, outer, wrong)?;
    match last {
        [] => {}
        [one] => cx.need_equal(one, &Dim::from(1), wrong)?,
        _ => return Err(wrong()),
    }
    if ty.rows != cx.ty(logits).rows {
        cx.common_rows(logits, label)?;
        let message = format!("{}, but {}: every row needs an id", cx.is(label), cx.is(logits));
        return Err(cx.wrong(label, MismatchKind::Rows, message));
    }
    Ok(())
}

impl Operation for SoftmaxWithCrossEntropy {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "softmax_with_cross_entropy",
            doc: "-ln softmax(logits)[label].",
            inputs: &["Logits", "Label"],
            outputs: &["Softmax", "Loss"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        check_label(cx, 0, 1)?;
        let logits = cx.ty(0);
        let mut loss = logits.clone();
        loss.dims.pop();
        loss.dims.push(Dim::from(1));
        Ok(vec![logits.clone(), loss])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (softmax, label) = (g.output(0), g.input(1));
        let mut parts = Vec::new();
        if g.has_grad(1) {
            let loss = g.grad(1)?;
            parts.push(g.emit(SoftmaxWithCrossEntropyGrad, &[softmax, label, loss])?);
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

    fn prototypes() -> Vec<Self> {
        vec![SoftmaxWithCrossEntropy]
    }

    fn samples() -> Vec<Sample> {
        let ids = |sample: Sample, rows, dims: &[i64], classes: i64| {
            sample.rows(rows, dims).dtype(DType::I64).within(0.0, classes as f64)
        };
        let logits = |rows, classes| Sample::of(SoftmaxWithCrossEntropy).rows(rows, &[classes]);
        vec![ids(logits(3, 4), 3, &[1], 4), ids(logits(5, 2), 5, &[], 2), ids(logits(0, 4), 0, &[1], 4)]
    }
}

impl Operation for SoftmaxWithCrossEntropyGrad {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "softmax_with_cross_entropy_grad",
            doc: "Gradient of `softmax_with_cross_entropy`.",
            inputs: &["Softmax", "Label", "Loss@GRAD"],
            outputs: &["Logits@GRAD"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        check_label(cx, 0, 1)?;
        cx.same_dtype(0, 2)?;
        Ok(vec![cx.broadcast(0, 2)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn prototypes() -> Vec<Self> {
        vec![SoftmaxWithCrossEntropyGrad]
    }
}
