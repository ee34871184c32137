//! `range`: evenly spaced numbers.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Number, Operation, Sample, Schema, Slot};
use crate::program::{DType, Dim, Type};

/// `start + i · step` for each element `i` of the result, which has one dimension and no rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The first number.
    pub start: Number,
    /// The difference between neighbours.
    pub step: Number,
    /// The type of the result.
    pub ty: Type,
}

attributes!(Range { start = Number::Int(0), step = Number::Int(1), ty: Type { dtype: DType::I64, rows: None, dims: vec![Dim::from(1)] } });

impl Operation for Range {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "range",
                doc: "Evenly spaced numbers.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("computed in double precision and rounded once"),
                effects: Effects::PURE,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let fail = |message| Err(cx.fail(MismatchKind::Attribute, message));
        let dtype = self.ty.dtype;
        if dtype == DType::Bool || !self.start.fits(dtype) || !self.step.fits(dtype) {
            return fail(format!("a range of {dtype} does not go from {} by {}", self.start, self.step));
        }
        match (self.ty.rows, &self.ty.dims[..]) {
            (None, [size]) if size.constant().is_none_or(|size| size >= 0) => Ok(vec![self.ty.clone()]),
            _ => fail(format!("{} is not a list of numbers", cx.program.show(&self.ty))),
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of =
            |start, step, dtype, size: i64| Sample::of(Range { start, step, ty: Type::new(dtype, [size]) });
        vec![
            of(Number::Int(3), Number::Int(-2), DType::I64, 7),
            of(Number::Int(0), Number::Int(1), DType::I32, 1),
            of(Number::Float(0.5), Number::Float(0.1), DType::F32, 40),
            of(Number::Int(1), Number::Int(1), DType::F32, 0),
        ]
    }
}
