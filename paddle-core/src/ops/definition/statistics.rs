//! Statistics of a batch: what moves the statistics of an operator, apart from the operator.

use super::super::{Op, Operator, Program};
use crate::program::{BlockId, BuildError, VarId};

/// What appends, behind an operator that left its moving statistics alone, the values by which they move.
pub struct Statistics<'a> {
    pub(crate) program: &'a mut Program,
    pub(crate) block: BlockId,
    pub(crate) operator: &'a Operator,
}

impl Statistics<'_> {
    /// The `k`-th input of the operator.
    pub fn input(&self, k: usize) -> VarId {
        self.operator.inputs[k]
    }

    /// The `k`-th output of the operator.
    pub fn output(&self, k: usize) -> VarId {
        self.operator.outputs[k]
    }

    /// Appends an operator of one output.
    pub fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.program.append_op(self.block, op, inputs, self.operator.site)?[0])
    }
}
