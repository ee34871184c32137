//! `fill_constant`: a constant that is written in the source, or made by a pass.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Number, Operation, Sample, Schema, Slot};
use crate::program::{DType, Type};

/// A tensor of type `ty` with the same value everywhere. The type may have rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The value, which is rounded to the element type.
    pub value: Number,
    /// The type of the result.
    pub ty: Type,
}

attributes!(Fill { value: Number::Float(0.0), ty: Type::scalar(DType::F32) });

impl Fill {
    /// Zeros of this type; `false` for truth values.
    pub fn zeros(ty: Type) -> Self {
        let value = match ty.dtype {
            DType::Bool => Number::Bool(false),
            DType::I32 | DType::I64 => Number::Int(0),
            DType::F32 | DType::F64 => Number::Float(0.0),
        };
        Fill { value, ty }
    }
}

impl Operation for Fill {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "fill_constant",
                doc: "A tensor of one value.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("a constant, rounded once"),
                effects: Effects::ELEMENT_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if !self.value.fits(self.ty.dtype) {
            let message = format!("`{}` is not a value of type {}", self.value, self.ty.dtype);
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message });
        }
        if self.ty.dims.iter().any(|dim| dim.constant().is_some_and(|size| size < 0)) {
            let message = format!("{} has a negative size", cx.program.show(&self.ty));
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message });
        }
        Ok(vec![self.ty.clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        vec![
            Sample::of(Fill { value: Number::Float(0.1), ty: Type::new(DType::F32, [2, 3]) }),
            Sample::of(Fill { value: Number::Int(-7), ty: Type::scalar(DType::I64) }),
            Sample::of(Fill { value: Number::Bool(true), ty: Type::new(DType::Bool, [0]) }),
        ]
    }
}
