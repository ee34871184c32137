//! `assign_value`: a value whose elements are written in the source.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Number, Operation, Sample, Schema, Slot};
use crate::program::{DType, Dim, Type};

/// A tensor with these elements, the last axis fastest. Its type `ty` has no rows, and its sizes are numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignValue {
    /// The elements.
    pub values: Vec<Number>,
    /// The type of the result.
    pub ty: Type,
}

attributes!(AssignValue { values: vec![Number::Float(0.0)], ty: Type::scalar(DType::F32) } rounded);

impl AssignValue {
    /// Rounds the elements to numbers of the element type.
    pub fn rounded(mut self) -> Self {
        if self.ty.dtype.is_float() {
            for value in &mut self.values {
                let exact = value.as_f64();
                let single = self.ty.dtype == DType::F32;
                *value = Number::Float(if single { f64::from(exact as f32) } else { exact });
            }
        }
        self
    }
}

impl Operation for AssignValue {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "assign_value",
                doc: "A tensor of these elements.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("numbers are rounded to the element type"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let fail = |message| Err(cx.fail(MismatchKind::Attribute, message));
        if let Some(value) = self.values.iter().find(|value| !value.fits(self.ty.dtype)) {
            return fail(format!("`{value}` is not a value of type {}", self.ty.dtype));
        }
        let size = |count: Option<i64>, dim: &Dim| count?.checked_mul(dim.constant()?);
        let count = self.ty.dims.iter().fold(Some(1), size);
        if self.ty.rows.is_some() || count != i64::try_from(self.values.len()).ok() {
            let found = self.values.len();
            return fail(format!("{} does not have {found} elements", cx.program.show(&self.ty)));
        }
        Ok(vec![self.ty.clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |values: &[Number], dtype, dims: &[i64]| {
            let ty = Type::new(dtype, dims.iter().copied());
            Sample::of(AssignValue { values: values.into(), ty }.rounded())
        };
        vec![
            of(&[0.5, -1.0, 0.1, 7.0, 0.0, 3.0].map(Number::Float), DType::F32, &[2, 3]),
            of(&[3, -1].map(Number::Int), DType::I64, &[2]),
            of(&[2].map(Number::Int), DType::I32, &[1, 1]),
            of(&[true, false, true].map(Number::Bool), DType::Bool, &[3]),
            of(&[], DType::F64, &[0]),
        ]
    }
}
