//! Why a pickle is not read.

use std::error::Error;
use std::fmt;

use crate::memory::OutOfMemory;

/// What is wrong with a pickle, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct PickleError {
    /// The byte of the instruction that is wrong.
    pub offset: usize,
    /// What is wrong with it.
    pub fault: PickleFault,
}

/// What is wrong with a pickle.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PickleFault {
    /// The file ends within an instruction, or before the last one.
    Truncated,
    /// The file does not begin as pickles of protocol 2 to 4 do.
    NoPickle,
    /// The instruction is not one of those that numbers, texts and arrays take.
    Instruction(u8),
    /// A name of Python's that is not one of those that arrays take. It could run any code.
    Global(String),
    /// The instruction does not find on the stack what it needs.
    Operand(&'static str),
    /// A text is not UTF-8.
    Text,
    /// An array has elements of a type that is not read.
    Element(String),
    /// The bytes of an array are not those of its shape.
    Array(String),
    /// The file is no dictionary of arrays.
    NoDictionary,
    /// Arrays have more bytes than the file, as one stands in several places.
    Repeated,
    /// Arrays are in slices.
    Slices,
    /// Bytes follow the last instruction.
    Trailing,
    /// There is no memory for the elements of an array.
    OutOfMemory(OutOfMemory),
}

impl PickleFault {
    /// This, at a byte.
    pub(super) fn at(self, offset: usize) -> PickleError {
        PickleError { offset, fault: self }
    }
}

impl fmt::Display for PickleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.offset)?;
        match &self.fault {
            PickleFault::Truncated => f.write_str("the file ends within a pickle"),
            PickleFault::NoPickle => {
                f.write_str("this is no pickle of protocol 2 to 4, as `paddle.save` writes them")
            }
            PickleFault::Instruction(code) => {
                write!(
                    f,
                    "the pickle has the instruction {code:#04x}, which values of parameters do not take"
                )
            }
            PickleFault::Global(name) => write!(
                f,
                "the pickle names Python's `{name}`, which values of parameters do not take and which is not run"
            ),
            PickleFault::Operand(wanted) => write!(f, "the pickle has no {wanted} where one is needed"),
            PickleFault::Text => f.write_str("a text of the pickle is not UTF-8"),
            PickleFault::Element(found) => {
                write!(f, "an array has elements of NumPy's type `{found}`, which is not read")
            }
            PickleFault::Array(why) => write!(f, "an array is damaged: {why}"),
            PickleFault::NoDictionary => f.write_str("the pickle is no dictionary of arrays by their names"),
            PickleFault::Repeated => f.write_str("the arrays of the pickle have more bytes than the file"),
            PickleFault::Slices => {
                f.write_str("arrays above 1 GB are in slices, which are not read; save them with protocol 4")
            }
            PickleFault::Trailing => f.write_str("the file goes on behind the pickle"),
            PickleFault::OutOfMemory(error) => write!(f, "{error}"),
        }
    }
}

impl Error for PickleError {}
