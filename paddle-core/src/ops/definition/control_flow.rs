//! Control flow: what passes ask of an operator that owns blocks.

use crate::ops::{Op, Operator, Parts, Program};
use crate::program::VarId;

/// What passes ask of an operator that owns blocks.
pub trait ControlFlow {
    /// How values pass between the operator and its blocks: pairs of (from, to).
    fn flow(&self, program: &Program, operator: &Operator) -> Vec<(VarId, VarId)>;

    /// The value that decides which of its blocks run, and how often.
    fn decided_by(&self, _program: &Program, _operator: &Operator) -> Option<VarId> {
        None
    }

    /// Of a loop, which runs its last block again and again: how its inputs and outputs lie beside those of the block.
    fn iterates(&self, _operator: &Operator) -> Option<Parts> {
        None
    }

    /// The same loop with other numbers of items and of collected values, if it can have them.
    fn with_parts(&self, _parts: Parts) -> Option<Op> {
        None
    }

    /// Whether its blocks may be the gradients of those of such an operator, where that is not itself.
    fn differentiates(&self, _op: &Op) -> bool {
        false
    }
}
