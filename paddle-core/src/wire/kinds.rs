//! The enumerations of `framework.proto`.

use std::fmt;

use super::WireError;

/// Defines an enumeration: `Variant = number, "NAME ON THE WIRE"`.
macro_rules! enumeration {
    ($(#[$doc:meta])* $Enum:ident { $($Variant:ident = $number:literal, $name:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $Enum {
            $(#[doc = concat!("`", $name, "`")] $Variant = $number,)*
        }

        impl fmt::Display for $Enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($Enum::$Variant => $name,)* })
            }
        }

        impl From<$Enum> for i32 {
            fn from(value: $Enum) -> i32 {
                value as i32
            }
        }

        impl TryFrom<i32> for $Enum {
            type Error = WireError;

            fn try_from(value: i32) -> Result<Self, WireError> {
                match value {
                    $($number => Ok($Enum::$Variant),)*
                    _ => Err(WireError::UnknownNumber { enumeration: stringify!($Enum), value }),
                }
            }
        }
    };
}

enumeration! {
    /// `AttrType`: which field of an [`OpAttr`](super::OpAttr) holds the value.
    AttrType {
        Int = 0, "INT";
        Float = 1, "FLOAT";
        String = 2, "STRING";
        Ints = 3, "INTS";
        Floats = 4, "FLOATS";
        Strings = 5, "STRINGS";
        Boolean = 6, "BOOLEAN";
        Booleans = 7, "BOOLEANS";
        Block = 8, "BLOCK";
        Long = 9, "LONG";
        Blocks = 10, "BLOCKS";
        Longs = 11, "LONGS";
        Float64s = 12, "FLOAT64S";
        Var = 13, "VAR";
        Vars = 14, "VARS";
        Float64 = 15, "FLOAT64";
        Scalar = 16, "SCALAR";
        Scalars = 17, "SCALARS";
    }
}

enumeration! {
    /// `VarType.Type`: the element types of tensors and the kinds of variables, which share one enumeration.
    ///
    /// The names are those of PaddlePaddle 2.6; the last five are of 3.x.
    VarKind {
        Bool = 0, "BOOL";
        Int16 = 1, "INT16";
        Int32 = 2, "INT32";
        Int64 = 3, "INT64";
        Fp16 = 4, "FP16";
        Fp32 = 5, "FP32";
        Fp64 = 6, "FP64";
        LodTensor = 7, "LOD_TENSOR";
        SelectedRows = 8, "SELECTED_ROWS";
        FeedMinibatch = 9, "FEED_MINIBATCH";
        FetchList = 10, "FETCH_LIST";
        StepScopes = 11, "STEP_SCOPES";
        LodRankTable = 12, "LOD_RANK_TABLE";
        LodTensorArray = 13, "LOD_TENSOR_ARRAY";
        PlaceList = 14, "PLACE_LIST";
        Reader = 15, "READER";
        Raw = 17, "RAW";
        Tuple = 18, "TUPLE";
        SizeT = 19, "SIZE_T";
        Uint8 = 20, "UINT8";
        Int8 = 21, "INT8";
        Bf16 = 22, "BF16";
        Complex64 = 23, "COMPLEX64";
        Complex128 = 24, "COMPLEX128";
        String = 25, "STRING";
        Strings = 26, "STRINGS";
        Vocab = 27, "VOCAB";
        FeedList = 28, "FEED_LIST";
        Pstring = 29, "PSTRING";
        SparseCoo = 30, "SPARSE_COO";
        SparseCsr = 31, "SPARSE_CSR";
        Fp8E4m3fn = 32, "FP8_E4M3FN";
        Fp8E5m2 = 33, "FP8_E5M2";
        Uint16 = 36, "UINT16";
        Uint32 = 37, "UINT32";
        Uint64 = 38, "UINT64";
    }
}

impl VarKind {
    /// The bytes of one element, for the variants that are element types.
    pub fn element_size(self) -> Option<usize> {
        use VarKind::*;
        match self {
            Bool | Int8 | Uint8 | Fp8E4m3fn | Fp8E5m2 => Some(1),
            Int16 | Uint16 | Fp16 | Bf16 => Some(2),
            Int32 | Uint32 | Fp32 => Some(4),
            Int64 | Uint64 | SizeT | Fp64 | Complex64 => Some(8),
            Complex128 => Some(16),
            LodTensor | SelectedRows | FeedMinibatch | FetchList | StepScopes | LodRankTable
            | LodTensorArray | PlaceList | Reader | Raw | Tuple | String | Strings | Vocab | FeedList
            | Pstring | SparseCoo | SparseCsr => None,
        }
    }
}
