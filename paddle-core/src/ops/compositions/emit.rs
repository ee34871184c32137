//! What compositions append their operators to.

use crate::ops::Op;
use crate::program::{Type, VarId};

/// A place to which operators are appended: that of a rule of the conversion, or of a layer's call.
pub(crate) trait Emit {
    /// What is wrong with an operator.
    type Error;

    /// The type of a value.
    fn ty(&self, var: VarId) -> &Type;

    /// Appends an operator with one output.
    fn emit(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, Self::Error>;
}

/// The value that a composition gives, or what it lacks.
pub(crate) type Tried<E> = Result<Result<VarId, &'static str>, E>;
