//! The messages of ONNX: a `.onnx` file is one [`ModelProto`].
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.rs` | the messages of `onnx.proto`, as tables of fields |
//! | `elements.rs` | the element types of tensors, and the elements of one |
//! | `node.rs` | construction of operators, and access to attributes by name |

mod elements;
mod messages;
mod node;

pub use elements::ElementType;
pub use messages::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetId, ShapeProto,
    StringStringEntryProto, TensorProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
