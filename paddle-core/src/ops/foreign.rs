//! Operators of other systems that this one lacks. They are kept, shown and converted back, but cannot run.

use super::{AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Schema, Slot};
use crate::program::{Type, VarId};

/// An operator of which only the description is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Its type in the wire format.
    pub name: String,
    /// Its encoded `OpDesc`: slots and attributes.
    pub desc: Vec<u8>,
    /// The declared types of its outputs.
    pub types: Vec<Type>,
}

attributes!(Foreign { name: String::new(), desc: Vec::new(), types: Vec::new() });

impl Operation for Foreign {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "foreign",
                doc: "An operator of another system.",
                inputs: &[Slot::of("X").variadic()],
                outputs: &[Slot::of("Out").variadic()],
                accuracy: AccuracyClass::Exact("it is not run"),
                effects: Effects { random: true, ..Effects::STATE },
            }
        }
    }

    fn called(&self) -> &str {
        &self.name
    }

    fn infer(&self, _: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(self.types.clone())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.refuse(format!("operator `{}` is not known here, so it has no gradient", self.name)))
    }
}
