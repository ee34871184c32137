//! `accuracy`: the share of rows whose class is among those that were predicted.

use super::{
    AccuracyClass, Effects, Form, Infer, Mismatch, MismatchKind, OfShards, Operation, Operator, Program,
    Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type};

/// The share of rows whose `Label` is among their `Indices`; 0 over no rows.
///
/// `Indices`: the indices that `top_k_v2` gives, i64 `[_, k]`; `Label`: i64 ids `[_, 1]` or `[_]`. `Accuracy`: f32;
/// `Correct` and `Total`, the numbers of rows: i32. All three are scalars. `Out` is not read; PaddlePaddle's operator
/// has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy;

attributes!(Accuracy {});

impl Operation for Accuracy {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "accuracy",
                doc: "The share of rows whose label is among indices.",
                inputs: &[Slot::of("Out").shape_only(), Slot::of("Indices"), Slot::of("Label")],
                outputs: &[Slot::of("Accuracy"), Slot::of("Correct"), Slot::of("Total")],
                accuracy: AccuracyClass::Exact("one division of whole numbers"),
                effects: Effects {
                    differentiable: false,
                    of_shards: &[OfShards::Mean, OfShards::Sum],
                    ..Effects::PURE
                },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(1, DType::I64)?;
        cx.need_dims(1, 1)?;
        let (indices, label) = (cx.ty(1), cx.ty(2));
        let (rows, outer) = (indices.rows, &indices.dims[..indices.dims.len() - 1]);
        let ids = match &label.dims[..] {
            [dims @ .., one] if *one == Dim::from(1) && dims.len() == outer.len() => dims,
            dims => dims,
        };
        let wrong = |kind| {
            let message =
                format!("{}, but `{}` needs class ids [_, 1] of element type i64", cx.is(2), cx.operator);
            cx.wrong(2, kind, message)
        };
        if label.dtype != DType::I64 {
            return Err(wrong(MismatchKind::ElementType));
        }
        cx.need_equal_dims(ids, outer, || wrong(MismatchKind::Shape))?;
        if label.rows != rows {
            cx.common_rows(1, 2)?;
            let message = format!("{}, but {}: every row needs an id", cx.is(2), cx.is(1));
            return Err(cx.wrong(2, MismatchKind::Rows, message));
        }
        let count = Type::scalar(DType::I32);
        Ok(vec![Type::scalar(DType::F32), count.clone(), count])
    }

    fn form(&self, _: &Program, operator: &Operator) -> Option<Form> {
        Some(Form::Quotient([operator.outputs[1], operator.outputs[2]]))
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let case = |rows, k: i64, label: &[i64]| {
            let top =
                Sample::of(Accuracy).rows(rows, &[k]).rows(rows, &[k]).dtype(DType::I64).within(0.0, 4.0);
            top.rows(rows, label).dtype(DType::I64).within(0.0, 4.0)
        };
        vec![case(9, 1, &[1]), case(8, 2, &[]), case(0, 1, &[1])]
    }
}
