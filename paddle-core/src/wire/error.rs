//! Errors in program files, parameter files and tensors.

use std::error::Error;
use std::fmt;

use prost::DecodeError;

use super::{AttrType, VarKind};
use crate::memory::OutOfMemory;

/// Bytes that cannot be read, or a tensor that cannot be written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are not this protobuf message: they are cut short, damaged, or something else.
    Malformed {
        /// The message that was being read.
        message: &'static str,
        /// The byte at which the damaged field starts.
        offset: usize,
        /// What is wrong.
        cause: DecodeError,
    },
    /// A program as JSON is damaged, or something else.
    Json {
        /// The operator, if one is wrong.
        place: Option<String>,
        /// What is wrong.
        cause: String,
    },
    /// A field of a complete message has a value of the wrong kind.
    FieldValue {
        /// The path of the field from the outermost message, and what is wrong with it.
        cause: DecodeError,
    },
    /// A message lacks a required field.
    MissingField {
        /// The message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// The byte at which the message starts.
        offset: usize,
    },
    /// A number is no variant of an enumeration.
    UnknownNumber {
        /// The enumeration.
        enumeration: &'static str,
        /// The number.
        value: i32,
    },
    /// An attribute has another type than its reader expects.
    AttrType {
        /// The operator's type.
        op: String,
        /// The attribute's name.
        attr: String,
        /// The type that was expected.
        expected: AttrType,
        /// The number of the type that was found.
        found: i32,
    },
    /// The bytes end within a tensor.
    Truncated {
        /// The part that is cut short.
        part: &'static str,
        /// The bytes that this part takes.
        needed: u64,
        /// The bytes that are left.
        left: usize,
    },
    /// A tensor has an unknown version of the format.
    TensorVersion {
        /// The part that the version belongs to.
        part: &'static str,
        /// The version.
        found: u32,
    },
    /// The offsets of a level of sequences do not take a multiple of eight bytes.
    LodLength {
        /// The bytes of the level.
        length: u64,
    },
    /// The description of a tensor has a negative length.
    DescLength {
        /// The length.
        length: i32,
    },
    /// A tensor has a kind whose elements have no fixed size.
    NotAnElement {
        /// The kind.
        kind: VarKind,
    },
    /// Dimensions are negative, or too large for memory.
    TensorSize {
        /// The dimensions.
        dims: Vec<i64>,
        /// The element type.
        element: VarKind,
    },
    /// The data of a tensor to be written does not have the length that its dimensions ask for.
    DataLength {
        /// The bytes that the dimensions ask for.
        expected: usize,
        /// The bytes of the data.
        found: usize,
    },
    /// A tensor of a parameter file is wrong.
    Parameter {
        /// The name of the parameter.
        name: String,
        /// What is wrong with it.
        cause: Box<WireError>,
    },
    /// A parameter file goes on after the last parameter.
    TrailingBytes {
        /// How many bytes follow.
        count: usize,
        /// The name of the last parameter, if there is one.
        last: Option<String>,
    },
    /// There is no memory for the elements of a tensor.
    OutOfMemory(OutOfMemory),
}

impl WireError {
    /// The failed request for memory, if that is the error.
    pub fn out_of_memory(&self) -> Option<&OutOfMemory> {
        if let Self::OutOfMemory(error) = self { Some(error) } else { None }
    }
}

impl From<OutOfMemory> for WireError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { message, offset, cause } => {
                write!(f, "this is not a `{message}`, or a damaged one: at byte {offset}, {cause}")
            }
            Self::Json { place, cause } => {
                f.write_str("this is no program of PaddlePaddle's as JSON, or a damaged one: ")?;
                match place {
                    Some(place) => write!(f, "{place}: {cause}"),
                    None => f.write_str(cause),
                }
            }
            Self::FieldValue { cause } => write!(f, "a field has a value of another kind: {cause}"),
            Self::MissingField { message, field, offset } => {
                write!(f, "the `{message}` at byte {offset} lacks its required field `{field}`")
            }
            Self::UnknownNumber { enumeration, value } => {
                write!(f, "{value} is not a number of `{enumeration}`")
            }
            Self::AttrType { op, attr, expected, found } => {
                write!(f, "attribute `{attr}` of operator `{op}` is ")?;
                match AttrType::try_from(*found) {
                    Ok(found) => write!(f, "{found}")?,
                    Err(_) => write!(f, "of the unknown type {found}")?,
                }
                write!(f, ", but {expected} is expected")
            }
            Self::Truncated { part, needed, left } => {
                write!(f, "the bytes end too early: {part} takes {needed} bytes, but {left} are left")
            }
            Self::TensorVersion { part, found } => {
                write!(f, "{part} has version {found}, but only version 0 is known")
            }
            Self::LodLength { length } => {
                write!(f, "a level of sequence offsets has {length} bytes, but an offset takes 8")
            }
            Self::DescLength { length } => {
                write!(f, "the description of the tensor has {length} bytes, which is negative")
            }
            Self::NotAnElement { kind } => write!(f, "{kind} is no element type of a tensor"),
            Self::TensorSize { dims, element } => {
                write!(f, "no tensor of {element} has the dimensions {dims:?}: negative or too large")
            }
            Self::DataLength { expected, found } => {
                write!(f, "the tensor's dimensions ask for {expected} bytes of data, but there are {found}")
            }
            Self::Parameter { name, cause } => write!(f, "parameter `{name}`: {cause}"),
            Self::TrailingBytes { count, last: Some(last) } => write!(
                f,
                "{count} bytes follow the last parameter, `{last}`; these parameters are of another program"
            ),
            Self::TrailingBytes { count, last: None } => {
                write!(f, "the program has no parameters, but the file has {count} bytes")
            }
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl Error for WireError {}
