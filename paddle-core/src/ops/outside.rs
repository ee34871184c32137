//! A constant that stands in the code around a network: its value is bound when the network is made.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Schema,
};
use crate::program::{Type, VarId};

/// A tensor whose elements are not known yet. [`Program::bind_constants`](crate::program::Program::bind_constants) puts
/// [`AssignValue`](super::AssignValue) in its place; before, it cannot be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// What it is called there: `crate::GATE`.
    pub name: String,
    /// Its type, which has no rows and sizes that are numbers.
    pub ty: Type,
}

attributes!(Outside { name, ty });

impl Operation for Outside {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "outside",
            doc: "A constant that is bound when the network is made.",
            inputs: &[],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let is_known = self.ty.rows.is_none() && self.ty.dims.iter().all(|dim| dim.constant() >= Some(0));
        match is_known {
            true => Ok(vec![self.ty.clone()]),
            false => {
                Err(cx.fail(MismatchKind::Attribute, "a constant has no rows, and sizes that are numbers"))
            }
        }
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(Vec::new())
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("numbers are rounded to the element type")
    }

    fn prototypes() -> Vec<Self> {
        vec![Outside { name: "crate::GATE".into(), ty: Type::scalar(crate::program::DType::F32) }]
    }
}
