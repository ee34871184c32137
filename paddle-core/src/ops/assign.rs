//! `assign`: a copy.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// Copies `X`, of any type, to `Out`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assign;

attributes!(Assign {});

impl Operation for Assign {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "assign",
                doc: "x.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), same_elements: true, ..Effects::ELEMENT_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![Some(g.grad(0)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        vec![Sample::of(Assign).rows(3, &[2]), Sample::of(Assign).dense(&[])]
    }
}
