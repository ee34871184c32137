//! Control flow: the questions that passes ask an operator that owns blocks.

use crate::ops::{Op, Operator, Parts, Program};
use crate::program::VarId;

/// The questions that passes ask an operator that owns blocks.
pub trait ControlFlow {
    /// The values that pass between the operator and its blocks, as pairs of (from, to).
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)>;

    /// The value that decides which of its blocks run, and how often.
    fn decided_by(&self, _program: &Program, _operator: &Operator) -> Option<VarId> {
        None
    }

    /// How the inputs and outputs of a loop correspond to those of its body, which is its last block. `None` if the
    /// operator is no loop.
    fn iterates(&self, _operator: &Operator) -> Option<Parts> {
        None
    }

    /// The same loop with other numbers of items and of collected values, if it can have them.
    fn with_parts(&self, _parts: Parts) -> Option<Op> {
        None
    }

    /// Whether the operator is the gradient of `op`, so that its blocks may be the gradients of the blocks of `op`.
    fn differentiates(&self, _op: &Op) -> bool {
        false
    }
}
