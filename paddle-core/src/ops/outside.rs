//! Constants of the code around a network. Their values are bound when the network is made.

use super::{
    AccuracyClass, AssignValue, Effects, Fill, Infer, Mismatch, MismatchKind, Number, Op, Operation, Program,
    Schema, Slot,
};
use crate::program::{BindError, DType, Type};

/// A tensor whose elements are not known yet. It cannot run until
/// [`Program::bind_constants`](crate::ops::Program::bind_constants) replaces it by [`AssignValue`](super::AssignValue).
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The name of the constant in the code: `crate::GATE`.
    pub name: String,
    /// The type, which has no rows, and sizes that are numbers.
    pub ty: Type,
}

attributes!(Outside { name: "crate::GATE".into(), ty: Type::scalar(DType::F32) });

impl Program {
    /// The names and types of the constants of the code around the network, each once.
    pub fn outside_constants(&self) -> Vec<(&str, &Type)> {
        let operators = self.blocks().iter().flat_map(|block| &block.ops);
        let constants = operators.filter_map(|operator| match &operator.op {
            Op::Outside(constant) => Some((constant.name.as_str(), &constant.ty)),
            _ => None,
        });
        let mut known: Vec<(&str, &Type)> = Vec::new();
        for (name, ty) in constants {
            if !known.iter().any(|(other, _)| *other == name) {
                known.push((name, ty));
            }
        }
        known
    }

    /// The program with the elements of the constants of the code around the network.
    ///
    /// A constant that has no value here, or one with another number of elements or another element type, is an error.
    pub fn bind_constants(&self, values: &[(&str, Vec<Number>)]) -> Result<Self, BindError> {
        let mut bound = self.clone();
        for operator in bound.operators_mut() {
            let Op::Outside(Outside { name, ty }) = &operator.op else { continue };
            let found = values.iter().find(|(known, _)| known == name);
            let (_, values) = found.ok_or_else(|| BindError::Unbound { constant: name.clone() })?;
            let constant = AssignValue { values: values.clone(), ty: ty.clone() };
            operator.op = match values[..] {
                [value] if ty.dims.is_empty() => Fill { value, ty: ty.clone() }.into(),
                _ => constant.rounded().into(),
            };
        }
        bound.infer_block_again(Program::GLOBAL)?;
        Ok(bound)
    }
}

impl Operation for Outside {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "outside",
                doc: "A constant that is bound when the network is made.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("numbers are rounded to the element type"),
                effects: Effects::PURE,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
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
}
