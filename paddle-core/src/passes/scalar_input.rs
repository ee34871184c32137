//! Scalar inputs that passes add, such as the learning rate.

use crate::ops::Program;
use crate::program::{BuildError, DType, Type, VarId};

/// Adds an input of one element under the wanted name, or under the name with a free suffix.
pub(super) fn create_scalar(program: &mut Program, wanted: &str, dtype: DType) -> Result<VarId, BuildError> {
    let mut name = wanted.to_string();
    let mut suffix = 0;
    while program.find(&name).is_some() {
        suffix += 1;
        name = format!("{wanted}_{suffix}");
    }
    program.create_input(&name, Type::scalar(dtype))
}
