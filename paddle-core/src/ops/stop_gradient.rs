//! `share_data`: a value through which no gradient passes.

use super::{AccuracyClass, Effects, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::Type;

/// `X`, of any type, as a constant: gradients stop here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopGradient;

attributes!(StopGradient {});

impl Operation for StopGradient {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "share_data",
                doc: "x, which no gradient passes.",
                inputs: &[Slot::of("X").without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("a copy"),
                effects: Effects {
                    differentiable: false,
                    stops_gradient: true,
                    linear: Linear::In(&[0]),
                    same_elements: true,
                    ..Effects::ELEMENT_WISE
                },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(StopGradient);
        vec![op().rows(3, &[2]), op().rows(0, &[2]), op().dense(&[])]
    }
}
