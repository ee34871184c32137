//! Operators that compute something together, for which there is one operator.

use crate::ops::{Op, Operator, Program};
use crate::program::VarId;

/// An operator that computes the result of another one from values farther back.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The operator. Its first output is what it computes for the other one, and all outputs have that element type.
    pub op: Op,
    /// Its inputs.
    pub inputs: Vec<VarId>,
    /// The values in between, which nobody has to compute for it. Nothing else may read them.
    pub between: Vec<VarId>,
    /// Further values that it does not read, though what it replaces does. What computes them goes if nothing else reads them.
    pub unread: Vec<VarId>,
}

/// What is in front of an operator in its block.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    pub(crate) program: &'a Program,
    pub(crate) operators: &'a [Operator],
}

impl<'a> Before<'a> {
    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The operator whose first output this value is, if it is in the same block.
    pub fn maker(&self, var: VarId) -> Option<&'a Operator> {
        self.operators.iter().rev().find(|operator| operator.outputs.first() == Some(&var))
    }
}
