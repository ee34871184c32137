//! `sgd`: stochastic gradient descent.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Schema,
};
use crate::program::{Type, VarId};

/// `Param -= LearningRate · Grad`, in place. `LearningRate` is a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd;

attributes!(Sgd {});

impl Operation for Sgd {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sgd",
            doc: "param -= learning_rate · grad.",
            inputs: &["Param", "LearningRate", "Grad"],
            outputs: &[],
            effects: Effects::STATE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        if !cx.ty(1).is_scalar() {
            let message = format!("{}, but a learning rate is a scalar", cx.is(1));
            return Err(cx.wrong(1, MismatchKind::Shape, message));
        }
        if cx.ty(0) != cx.ty(2) {
            let message = format!("{}, but {}: a gradient has its parameter's type", cx.is(2), cx.is(0));
            return Err(cx.wrong(2, MismatchKind::Shape, message));
        }
        Ok(Vec::new())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Accumulating("a product and a difference")
    }

    fn prototypes() -> Vec<Self> {
        vec![Sgd]
    }
}
