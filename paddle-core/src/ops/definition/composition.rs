//! Compositions: operators that compute together what one operator computes.

use crate::ops::{Op, Operator, Program};
use crate::program::{BlockId, BuildError, Type, VarId};

/// The place of an operator that a composition is to replace.
pub struct Composition<'a> {
    pub(crate) program: &'a mut Program,
    pub(crate) block: BlockId,
    /// The operator, which is behind all that is emitted.
    pub(crate) at: usize,
}

impl Composition<'_> {
    /// The operator that is replaced.
    pub fn operator(&self) -> &Operator {
        &self.program.block(self.block).ops[self.at]
    }

    /// The `k`-th input of the operator.
    pub fn input(&self, k: usize) -> VarId {
        self.operator().inputs[k]
    }

    /// The type of a value.
    pub fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    /// Puts an operator of one output in front of the one that is replaced.
    pub fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        self.insert(op.into(), inputs)
    }

    fn insert(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, BuildError> {
        let site = self.operator().site;
        let outputs = self.program.insert_at(self.block, self.at, op, inputs, site)?;
        self.at += 1;
        Ok(outputs[0])
    }
}
