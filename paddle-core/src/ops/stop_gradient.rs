//! `share_data`: a value that no gradient passes.

use super::{AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema};
use crate::program::{Type, VarId};

/// `X`, of any type, as a constant: gradients stop here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopGradient;

attributes!(StopGradient {});

impl Operation for StopGradient {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "share_data",
            doc: "x, which no gradient passes.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::ELEMENT_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None])
    }

    fn passes_gradient(&self, _k: usize) -> bool {
        false
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn stops_gradient(&self) -> bool {
        true
    }

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        true
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("a copy")
    }

    fn prototypes() -> Vec<Self> {
        vec![StopGradient]
    }

    fn samples() -> Vec<Sample> {
        let op = || Sample::of(StopGradient);
        vec![op().rows(3, &[2]), op().rows(0, &[2]), op().dense(&[])]
    }
}
