//! `scale`: an affine function with constant coefficients.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Op, Operation, Sample, Schema,
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
        &Schema {
            name: "scale",
            doc: "scale · x + bias.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::ELEMENT_WISE,
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

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        self.bias == 0.0
    }

    fn affine(&self) -> Option<(Op, f64)> {
        Some((Scale { bias: 0.0, ..*self }.into(), self.bias))
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Accumulating("a product and a sum")
    }

    fn prototypes() -> Vec<Self> {
        vec![Scale { scale: 1.0, bias: 0.0 }]
    }

    fn samples() -> Vec<Sample> {
        let op = Scale { scale: -1.5, bias: 0.25 };
        vec![Sample::of(op).rows(3, &[2]), Sample::of(op).dense(&[5]), Sample::of(op).rows(0, &[2])]
    }
}
