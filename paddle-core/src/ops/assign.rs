//! `assign`: a copy.

use super::{AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema};
use crate::program::{Type, VarId};

/// Copies `X`, of any type, to `Out`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assign;

attributes!(Assign {});

impl Operation for Assign {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "assign",
            doc: "x.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::ELEMENT_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![Some(g.grad(0)?)])
    }

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        true
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![Assign]
    }

    fn samples() -> Vec<Sample> {
        vec![Sample::of(Assign).rows(3, &[2]), Sample::of(Assign).dense(&[])]
    }
}
