//! `cast`: the same numbers as another element type.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// `X` as another element type. A fraction is rounded to floating point and truncated to integers, which saturate; a
/// truth value is 0 or 1, and a number is true if it is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cast {
    /// The element type of the result.
    pub dtype: DType,
}

attributes!(Cast { dtype: DType::F32 });

impl Operation for Cast {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "cast",
                doc: "x as another element type.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("one rounding"),
                effects: Effects::ELEMENT_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![cx.ty(0).with_dtype(self.dtype)])
    }

    /// Only a cast from floating point to floating point has a gradient.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let dtype = g.ty(g.input(0)).dtype;
        if !dtype.is_float() || !self.dtype.is_float() {
            return Ok(vec![None]);
        }
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(Cast { dtype }, &[grad])?)])
    }

    /// Casts to integers round, so they are not linear.
    fn linear(&self) -> Linear {
        if self.dtype.is_float() { Linear::In(&[0]) } else { Linear::No }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let all = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];
        let pairs = all.into_iter().flat_map(|from| all.map(|to| (from, to)));
        pairs.map(|(from, dtype)| Sample::of(Cast { dtype }).rows(3, &[5]).dtype(from)).collect()
    }
}
