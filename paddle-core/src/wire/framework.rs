//! The messages of PaddlePaddle's `framework.proto` (proto2, package `paddle.framework.proto`).
//!
//! The tables are those of the `.proto` file of 2.6; 3.x renamed fields but changed no number. The name of a nested
//! message includes that of the outer one: `OpDesc.Attr` is [`OpAttr`]. `message.rs` says why there is no derive.

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};

use super::WireError;
use super::completeness::check;
use super::message::{Field, Schema, keep_unknown, kind, messages, plain};

messages! {
    /// A program: blocks that refer to each other by index. Block 0 is the outermost.
    ProgramDesc {
        /// The blocks.
        repeated message(BlockDesc) blocks = 1;
        /// The version of the framework that wrote it: 2006002 is 2.6.2.
        optional message(Version) version = 4;
        /// The versions of the operators' definitions.
        optional message(OpVersionMap) op_version_map = 5;
    }

    /// A block: its operators, and the variables that it declares.
    BlockDesc {
        /// Its index among the program's blocks.
        required int32 idx = 1;
        /// The block that contains it; -1 for block 0.
        required int32 parent_idx = 2;
        /// The variables.
        repeated message(VarDesc) vars = 3;
        /// The operators, in the order in which they run.
        repeated message(OpDesc) ops = 4;
        /// For a gradient block, the index of its forward block; otherwise -1, the default.
        optional int32 forward_block_idx = 5;
    }

    /// A variable.
    VarDesc {
        /// The name, by which operators refer to it.
        required string name = 1;
        /// Its type.
        required message(VarType) r#type = 2;
        /// Whether it outlives a run, as parameters do. Default: false.
        optional bool persistable = 3;
        /// Whether a fed value is checked against the type. Default: false.
        optional bool need_check_feed = 4;
        /// Whether it is a parameter. Default: false.
        optional bool is_parameter = 5;
        /// Whether no gradient passes through it. Default: false.
        optional bool stop_gradient = 6;
        /// Attributes.
        repeated message(VarDescAttr) attrs = 7;
    }

    /// An attribute of a variable.
    VarDescAttr {
        /// The name.
        required string name = 1;
        /// Which of the following fields holds the value.
        required enumeration(AttrType) r#type = 2;
        /// An `INT`.
        optional int32 i = 3;
        /// A `STRING`.
        optional string s = 4;
        /// `INTS`.
        repeated int32 ints = 5;
    }

    /// The type of a variable: its kind, and the description that this kind has.
    VarType {
        /// The kind.
        required enumeration(VarKind) r#type = 1;
        /// `SELECTED_ROWS`: the rows.
        optional message(TensorDesc) selected_rows = 2;
        /// `LOD_TENSOR`: the ordinary tensor.
        optional message(LodTensorDesc) lod_tensor = 3;
        /// `LOD_TENSOR_ARRAY`: its elements.
        optional message(LodTensorArrayDesc) tensor_array = 4;
        /// `READER`: the tensors that it yields.
        optional message(ReaderDesc) reader = 5;
        /// `TUPLE`: its elements.
        optional message(Tuple) tuple = 7;
        /// `STRING`.
        optional message(TensorDesc) string = 8;
        /// `STRINGS`.
        optional message(TensorDesc) strings = 9;
        /// `VOCAB`.
        optional message(TensorDesc) vocab = 10;
        /// `SPARSE_COO`.
        optional message(TensorDesc) sparse_coo = 11;
        /// `SPARSE_CSR`.
        optional message(TensorDesc) sparse_csr = 12;
    }

    /// An element type and dimensions.
    TensorDesc {
        /// The element type.
        required enumeration(VarKind) data_type = 1;
        /// The dimensions; -1 for a size that is known only at run time.
        repeated int64 dims = 2;
    }

    /// A tensor whose rows may be grouped into sequences.
    LodTensorDesc {
        /// The rows.
        required message(TensorDesc) tensor = 1;
        /// The number of levels of sequences. Default: 0.
        optional int32 lod_level = 2;
    }

    /// An array of such tensors.
    LodTensorArrayDesc {
        /// The rows of an element.
        required message(TensorDesc) tensor = 1;
        /// The number of levels of sequences of an element. Default: 0.
        optional int32 lod_level = 2;
    }

    /// A source of tensors.
    ReaderDesc {
        /// The tensors that it yields.
        repeated message(LodTensorDesc) lod_tensor = 1;
    }

    /// Values of several types.
    Tuple {
        /// Their types.
        repeated enumeration(VarKind) element_type = 1;
    }

    /// An operator: its type, the variables in each of its slots, its attributes.
    OpDesc {
        /// The input slots.
        repeated message(OpVar) inputs = 1;
        /// The output slots.
        repeated message(OpVar) outputs = 2;
        /// The operator's type.
        required string r#type = 3;
        /// Its attributes.
        repeated message(OpAttr) attrs = 4;
        /// Whether pruning has to keep it. Default: false.
        optional bool is_target = 5;
    }

    /// A slot of an operator.
    OpVar {
        /// The slot's name.
        required string parameter = 1;
        /// The names of the variables in it.
        repeated string arguments = 2;
    }

    /// An attribute of an operator.
    OpAttr {
        /// The name.
        required string name = 1;
        /// Which of the following fields holds the value.
        required enumeration(AttrType) r#type = 2;
        /// An `INT`.
        optional int32 i = 3;
        /// A `FLOAT`.
        optional float f = 4;
        /// A `STRING`.
        optional string s = 5;
        /// `INTS`.
        repeated int32 ints = 6;
        /// `FLOATS`.
        repeated float floats = 7;
        /// `STRINGS`.
        repeated string strings = 8;
        /// A `BOOLEAN`.
        optional bool b = 10;
        /// `BOOLEANS`.
        repeated bool bools = 11;
        /// A `BLOCK`: its index in the program.
        optional int32 block_idx = 12;
        /// A `LONG`.
        optional int64 l = 13;
        /// `BLOCKS`.
        repeated int32 blocks_idx = 14;
        /// `LONGS`.
        repeated int64 longs = 15;
        /// `FLOAT64S`.
        repeated double float64s = 16;
        /// A `VAR`: its name.
        optional string var_name = 17;
        /// `VARS`.
        repeated string vars_name = 18;
        /// A `FLOAT64`.
        optional double float64 = 19;
        /// A `SCALAR`.
        optional message(Scalar) scalar = 20;
        /// `SCALARS`.
        repeated message(Scalar) scalars = 21;
    }

    /// A number with its type.
    Scalar {
        /// Which of the following fields holds the value: boolean 1, integer 2, float 3, complex 4.
        required int32 r#type = 1;
        /// A boolean.
        optional bool b = 2;
        /// An integer.
        optional int64 i = 3;
        /// A float.
        optional double r = 4;
        /// A complex number.
        optional message(Complex) c = 5;
    }

    /// A complex number.
    Complex {
        /// The real part.
        required double r = 1;
        /// The imaginary part.
        required double i = 2;
    }

    /// A version of the framework.
    Version {
        /// `major * 1000000 + minor * 1000 + patch`. Default: 0.
        optional int64 version = 1;
    }

    /// The versions of operators' definitions.
    OpVersionMap {
        /// One for each operator whose definition has ever changed.
        repeated message(OpVersionPair) pair = 1;
    }

    /// The version of one operator's definition.
    OpVersionPair {
        /// The operator's type.
        required string op_name = 1;
        /// Its version.
        required message(OpVersion) op_version = 2;
    }

    /// A version of an operator's definition.
    OpVersion {
        /// Counted from 0.
        required int32 version = 1;
    }
}
