//! `scale`: an affine function with constant coefficients.

use super::elementwise::gelu;
use super::{
    AccuracyClass, Before, Combination, Effects, Form, Gradient, GradientError, Infer, Linear, Mismatch,
    Operation, Operator, Program, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// `Out = scale · X + bias`, of numbers. On integers the coefficients are truncated to whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The factor.
    pub scale: f64,
    /// The summand.
    pub bias: f64,
}

attributes!(Scale { scale = 1.0, bias = 0.0 });

impl Operation for Scale {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "scale",
                doc: "scale · x + bias.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a product and a sum"),
                effects: Effects::ELEMENT_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(Scale { scale: self.scale, bias: 0.0 }, &[grad])?)])
    }

    /// A function with a bias is not linear.
    fn linear(&self) -> Linear {
        if self.bias == 0.0 { Linear::In(&[0]) } else { Linear::No }
    }

    fn combined(&self, operator: &Operator, before: Before<'_>) -> Option<Combination> {
        gelu::combined(operator, before)
    }

    fn form(&self, _: &Program, _: &Operator) -> Option<Form> {
        Some(Form::Affine(Scale { bias: 0.0, ..*self }.into(), self.bias))
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = Scale { scale: -1.5, bias: 0.25 };
        vec![Sample::of(op).rows(3, &[2]), Sample::of(op).dense(&[5]), Sample::of(op).rows(0, &[2])]
    }
}
