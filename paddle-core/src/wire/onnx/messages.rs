//! The messages of `onnx.proto` (proto2, package `onnx`), of which a program needs the fields here. What is not in the tables
//! is kept as it is, like any unknown field.
//!
//! A graph that is an attribute is kept as bytes, and decoded when it is read: so no table contains itself, and how deep
//! graphs are nested is decided by who reads them.

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};

use crate::wire::WireError;
use crate::wire::completeness::check;
use crate::wire::message::{Field, Schema, keep_unknown, kind, messages, plain};

messages! {
    /// A model: a graph, and the versions of the operators in it.
    ModelProto {
        /// The version of the format.
        optional int64 ir_version = 1;
        /// The name of what wrote it.
        optional string producer_name = 2;
        /// The version of what wrote it.
        optional string producer_version = 3;
        /// The graph. Inputs and outputs are those of the model.
        required message(GraphProto) graph = 7;
        /// The versions of the sets of operators.
        repeated message(OperatorSetId) opset_import = 8;
    }

    /// A version of a set of operators.
    OperatorSetId {
        /// The domain; empty for that of ONNX itself.
        optional string domain = 1;
        /// The version.
        required int64 version = 2;
    }

    /// A graph: operators in an order in which they can run.
    GraphProto {
        /// The operators.
        repeated message(NodeProto) node = 1;
        /// The name.
        optional string name = 2;
        /// Values that are in the file: weights and constants.
        repeated message(TensorProto) initializer = 5;
        /// The inputs. Those with an initialiser need not be fed.
        repeated message(ValueInfoProto) input = 11;
        /// The outputs.
        repeated message(ValueInfoProto) output = 12;
    }

    /// An operator.
    NodeProto {
        /// The names of what it reads. An empty name is an input that is left out.
        repeated string input = 1;
        /// The names of what it writes, likewise.
        repeated string output = 2;
        /// The name of the operator in this graph.
        optional string name = 3;
        /// The operator's type.
        required string op_type = 4;
        /// Its attributes.
        repeated message(AttributeProto) attribute = 5;
        /// The domain of the type; empty for that of ONNX itself.
        optional string domain = 7;
    }

    /// An attribute of an operator.
    AttributeProto {
        /// The name.
        required string name = 1;
        /// A number in floating point.
        optional float f = 2;
        /// A whole number.
        optional int64 i = 3;
        /// A text.
        optional bytes s = 4;
        /// A tensor.
        optional message(TensorProto) t = 5;
        /// The bytes of a [`GraphProto`].
        optional bytes g = 6;
        /// Numbers in floating point.
        repeated float floats = 7;
        /// Whole numbers.
        repeated int64 ints = 8;
        /// Texts.
        repeated bytes strings = 9;
        /// The number of the kind of value that it has.
        optional int32 r#type = 20;
    }

    /// A tensor. Its elements are in `raw_data`, or in the list of their kind.
    TensorProto {
        /// The dimensions; none for a scalar.
        repeated int64 dims = 1;
        /// The number of the element type; see [`ElementType`](super::ElementType).
        optional int32 data_type = 2;
        /// Elements of single precision.
        repeated float float_data = 4;
        /// Elements that fit 32 bits: whole numbers, truth values, and the bits of halves.
        repeated int32 int32_data = 5;
        /// Whole numbers of 64 bits.
        repeated int64 int64_data = 7;
        /// The name.
        optional string name = 8;
        /// The elements, little endian.
        optional bytes raw_data = 9;
        /// Elements of double precision.
        repeated double double_data = 10;
        /// Where in another file the elements are: its `location`, and the `offset` and `length` in bytes.
        repeated message(StringStringEntryProto) external_data = 13;
        /// Where the elements are: 1 is another file.
        optional int32 data_location = 14;
    }

    /// A text by its name.
    StringStringEntryProto {
        /// The name.
        optional string key = 1;
        /// The text.
        optional string value = 2;
    }

    /// The name and the type of a value.
    ValueInfoProto {
        /// The name.
        required string name = 1;
        /// The type.
        optional message(TypeProto) r#type = 2;
    }

    /// The type of a value. What is no tensor is in fields that are not here.
    TypeProto {
        /// The type of a tensor.
        optional message(TensorTypeProto) tensor_type = 1;
    }

    /// The type of a tensor.
    TensorTypeProto {
        /// The number of the element type.
        optional int32 elem_type = 1;
        /// The shape, if it is known.
        optional message(ShapeProto) shape = 2;
    }

    /// A shape.
    ShapeProto {
        /// The dimensions.
        repeated message(DimensionProto) dim = 1;
    }

    /// A dimension: a number, a name, or neither if it is unknown.
    DimensionProto {
        /// The size.
        optional int64 dim_value = 1;
        /// The name of the size. Dimensions of one name are equal.
        optional string dim_param = 2;
    }
}
