//! Compositions: operators that compute together what one operator computes.

use crate::ops::compositions::{Emit, EmitLoops};
use crate::ops::{Op, Operator, Program};
use crate::program::{BlockId, BuildError, Site, Type, VarId};

/// The place of an operator that a composition is to replace.
pub struct Composition<'a> {
    program: &'a mut Program,
    block: BlockId,
    /// The place of the operator, which is behind all that is emitted; in a block that is made for it, the end.
    at: usize,
    inputs: Vec<VarId>,
    site: Site,
}

impl<'a> Composition<'a> {
    /// In front of the operator at a place of a block.
    pub(crate) fn before(program: &'a mut Program, block: BlockId, at: usize) -> Self {
        let Operator { inputs, site, .. } = &program.block(block).ops[at];
        let (inputs, site) = (inputs.clone(), *site);
        Composition { program, block, at, inputs, site }
    }

    /// The place of the operator, behind what was emitted.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The `k`-th input of the operator.
    pub fn input(&self, k: usize) -> VarId {
        self.inputs[k]
    }

    /// The type of a value.
    pub fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    /// Puts an operator of one output in front of the one that is replaced.
    pub fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Emit::emit(self, op.into(), inputs)
    }
}

impl Emit for Composition<'_> {
    type Error = BuildError;

    fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    fn emit(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.emit_all(op, inputs, 1)?[0])
    }
}

impl EmitLoops for Composition<'_> {
    fn program(&mut self) -> &mut Program {
        self.program
    }

    fn block(&self) -> BlockId {
        self.block
    }

    fn create_parameter(&mut self, body: BlockId, name: &str, ty: Type) -> Result<VarId, BuildError> {
        self.program.create_block_parameter(body, name, ty)
    }

    fn within<T>(
        &mut self,
        body: BlockId,
        append: impl FnOnce(&mut Self) -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        let outside = (self.block, self.at);
        (self.block, self.at) = (body, self.program.block(body).ops.len());
        let appended = append(self);
        (self.block, self.at) = outside;
        appended
    }

    fn emit_all(&mut self, op: Op, inputs: &[VarId], _outputs: usize) -> Result<Vec<VarId>, BuildError> {
        let outputs = self.program.insert_at(self.block, self.at, op, inputs, self.site)?;
        self.at += 1;
        Ok(outputs)
    }

    fn emit_loop(
        &mut self,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        _called: &str,
        _outputs: usize,
    ) -> Result<Vec<VarId>, BuildError> {
        let outputs = self.program.insert_block_op(self.block, self.at, op, inputs, blocks, self.site)?;
        self.at += 1;
        Ok(outputs)
    }
}
