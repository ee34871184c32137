//! Operators of other systems that this one does not have. They are kept, shown and converted back, not run.

use super::{AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Schema};
use crate::program::{Type, VarId};

/// An operator known by its description only.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Its type in the wire format.
    pub name: String,
    /// Its encoded `OpDesc`: slots and attributes.
    pub desc: Vec<u8>,
    /// The declared types of its outputs.
    pub types: Vec<Type>,
}

attributes!(Foreign { name, desc, types });

impl Operation for Foreign {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "foreign",
            doc: "An operator of another system.",
            inputs: &["X*"],
            outputs: &["Out*"],
            effects: Effects { random: true, ..Effects::STATE },
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

    /// What it changes is not known.
    fn changes(&self) -> &'static [usize] {
        &[]
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("it is not run")
    }

    fn prototypes() -> Vec<Self> {
        vec![Foreign { name: String::new(), desc: Vec::new(), types: Vec::new() }]
    }
}
