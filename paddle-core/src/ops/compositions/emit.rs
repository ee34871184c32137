//! What compositions append their operators to.

use crate::ops::{Op, Program};
use crate::program::{BlockId, BuildError, Type, VarId};

/// A place to which operators are appended: that of a rule of the conversion, or of a layer's call.
pub(crate) trait Emit {
    /// What is wrong with an operator.
    type Error;

    /// The type of a value.
    fn ty(&self, var: VarId) -> &Type;

    /// Appends an operator with one output.
    fn emit(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, Self::Error>;
}

/// A place to which loops are appended, too.
pub(crate) trait EmitLoops: Emit<Error: From<BuildError>> {
    /// The program.
    fn program(&mut self) -> &mut Program;

    /// The block to which operators are appended.
    fn block(&self) -> BlockId;

    /// Adds a parameter to the body of a loop.
    fn create_parameter(&mut self, body: BlockId, name: &str, ty: Type) -> Result<VarId, Self::Error>;

    /// Appends to a body.
    fn within<T>(
        &mut self,
        body: BlockId,
        append: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;

    /// Appends an operator with so many outputs.
    fn emit_all(&mut self, op: Op, inputs: &[VarId], outputs: usize) -> Result<Vec<VarId>, Self::Error>;

    /// Appends a loop with so many outputs.
    fn emit_loop(
        &mut self,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        called: &str,
        outputs: usize,
    ) -> Result<Vec<VarId>, Self::Error>;
}

/// The value that a composition gives, or what it lacks.
pub(crate) type Tried<E> = Result<Result<VarId, &'static str>, E>;
