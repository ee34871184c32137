//! The wire level: PaddlePaddle's program and parameter files, byte for byte, and ONNX's messages.
//!
//! A `.pdmodel` or `.pdprogram` file is one [`ProgramDesc`], a protobuf message; a `.pdiparams` file is the
//! tensors of its persistable variables, one after the other. This level does not interpret operators: writing
//! what was read gives the same bytes.
//!
//! | file | holds |
//! | --- | --- |
//! | `framework.rs` | the messages of `framework.proto`, as tables of fields |
//! | `message.rs` | the macro that makes a struct and its [`prost::Message`] from such a table |
//! | `completeness.rs` | the check that a message is complete: lengths that fit, required fields present |
//! | `kinds.rs` | the two enumerations: types of attributes, types of variables |
//! | `op.rs` | construction of operators, and access to slots and attributes by name |
//! | `tensor.rs` | tensor streams and `.pdiparams` files |
//! | `error.rs` | the errors of reading and writing |
//! | `pickle/` | files of `paddle.save`: arrays in pickles |
//! | `onnx/` | the messages of ONNX |

mod completeness;
mod error;
mod framework;
mod kinds;
mod message;
#[cfg(feature = "read")]
pub mod onnx;
mod op;
#[cfg(feature = "read")]
pub mod pickle;
mod tensor;

pub use error::WireError;
pub use framework::{
    BlockDesc, Complex, LodTensorArrayDesc, LodTensorDesc, OpAttr, OpDesc, OpVar, OpVersion, OpVersionMap,
    OpVersionPair, ProgramDesc, ReaderDesc, Scalar, TensorDesc, Tuple, VarDesc, VarDescAttr, VarType,
    Version,
};
pub use kinds::{AttrType, VarKind};
pub use tensor::{TensorRecord, parameter_names, read_params, read_tensor, write_params, write_tensor};
