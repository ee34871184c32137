//! What tests that run whole programs share: tensors, a runner, and NumPy's files.

#![expect(dead_code, reason = "each test uses a part of it")]

pub(crate) mod cut;
pub(crate) mod feeding;
pub(crate) mod npz;
pub(crate) mod op_case;
pub(crate) mod runner;
pub(crate) mod source;
pub(crate) mod tensor;
