//! The faults of programs that come from the wire, or go to it.

use std::fmt;

use crate::memory::OutOfMemory;
use crate::ops::{Mismatch, MismatchKind};
use crate::program::{BuildError, Located, VerifyError};
#[cfg(feature = "read")]
use crate::wire::onnx::ElementType;
use crate::wire::{VarKind, WireError};

/// An operator of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirePlace {
    /// The index of its block.
    pub block: usize,
    /// Its index in the block.
    pub operator: usize,
    /// Its type.
    pub op_type: String,
    /// The name that the file gives it. PaddlePaddle's operators have none.
    pub name: Option<String>,
    /// The place in the source, if the operator's `op_callstack` has it.
    pub source: Option<Located>,
}

impl fmt::Display for WirePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, operator {} `{}`", self.block, self.operator, self.op_type)?;
        if let Some(name) = &self.name {
            write!(f, " named `{name}`")?;
        }
        match &self.source {
            Some(source) => write!(f, " ({source})"),
            None => Ok(()),
        }
    }
}

/// A wire program that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertError {
    /// The operator to blame, if one is.
    pub place: Option<Box<WirePlace>>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for ConvertError {}

impl ConvertError {
    /// The memory that was not available, if this is the error.
    pub fn out_of_memory(&self) -> Option<&OutOfMemory> {
        if let Fault::Wire(error) = &self.fault { error.out_of_memory() } else { None }
    }
}

/// What is wrong with a wire program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes or an attribute are not what they should be.
    Wire(WireError),
    /// The operator does not fit its inputs.
    Build(BuildError),
    /// Every operator fits its inputs, but the program as a whole is not well-formed.
    Verify(VerifyError),
    /// The program has no block.
    NoBlocks,
    /// A block's own index is not its position.
    BlockIndex {
        /// The position.
        block: usize,
        /// The index that it gives itself.
        index: i32,
    },
    /// A block's parent is not a block before it.
    BlockParent {
        /// The block.
        block: usize,
        /// The parent that it gives.
        parent: i32,
    },
    /// Blocks nest too deep.
    TooDeep {
        /// The block.
        block: usize,
        /// The depth that is supported.
        limit: usize,
    },
    /// The operator refers to a block that it cannot own.
    BlockReference {
        /// The attribute.
        attribute: &'static str,
        /// The index of the block.
        index: i32,
        /// The reason.
        reason: &'static str,
    },
    /// An operator with a name of our own dialect that is none of its operators.
    UnknownOperator,
    /// The operator is not known here.
    Unsupported,
    /// The operator is known, but not in this form.
    Form {
        /// What its form is.
        message: String,
    },
    /// A variable is read that only an operator writes which is not supported. That operator is the one to report.
    Unread {
        /// The variable.
        name: String,
    },
    /// An operator of our own dialect in a program that does not start with `rust.program`.
    NoHeader,
    /// An operator owns blocks, but what it does with them is not known here.
    UnknownStructure,
    /// A block declares a name twice.
    DeclaredTwice {
        /// The block.
        block: usize,
        /// The name.
        name: String,
    },
    /// The description of a variable cannot be used.
    Variable {
        /// The variable.
        name: String,
        /// The reason.
        reason: VariableFault,
    },
    /// A slot of the operator holds a wrong number of variables.
    Slot {
        /// The slot.
        slot: &'static str,
        /// The number of variables that it holds.
        found: usize,
        /// The number that it has to hold.
        expected: usize,
    },
    /// The number of variables that the operator writes differs from the number of its results.
    Outputs {
        /// The number of variables.
        found: usize,
        /// The number of results.
        expected: usize,
    },
    /// A required attribute is absent.
    MissingAttribute {
        /// The attribute.
        attribute: &'static str,
    },
    /// The value of an attribute has no meaning here.
    Attribute {
        /// The attribute.
        attribute: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A variable is read before anything is written to it.
    Undefined {
        /// The variable.
        name: String,
    },
    /// A variable is written that no block around the operator declares.
    Undeclared {
        /// The variable.
        name: String,
    },
    /// A block writes a variable of a block around it, but its operator hands values out as results only.
    WritesOuter {
        /// The variable.
        name: String,
    },
    /// The columns of a block's `feed` or `fetch` operators are not 0, 1, 2, …, each once.
    Columns {
        /// `feed` or `fetch`.
        operator: &'static str,
        /// The block.
        block: usize,
    },
    /// The number of `feed` operators in a block differs from the number of values for it.
    FeedCount {
        /// The block.
        block: usize,
        /// The number of `feed` operators.
        found: usize,
        /// The number of values.
        expected: usize,
    },
    /// A value has more elements than memory has addresses, or more dimensions than are supported.
    Size {
        /// The value and its type.
        message: String,
    },
    /// The program would take too much memory.
    Memory,
    /// A gradient of a parameter is not of the parameter's shape, or not a value of the outermost block.
    GradientPair {
        /// The parameter.
        parameter: String,
    },
    /// The tensor of a parameter has another type than the program's parameter.
    Parameter {
        /// The parameter.
        name: String,
        /// The type of the tensor.
        found: String,
        /// The type in the program.
        expected: String,
    },
    /// The program has a parameter for which there is no tensor.
    MissingParameter {
        /// The parameter.
        name: String,
    },
    /// The program uses a later version of our dialect.
    Newer {
        /// The version.
        version: i64,
    },
}

/// Why the description of a variable cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariableFault {
    /// It holds something other than a tensor.
    Kind(VarKind),
    /// The number of its kind, or of its element type, has no meaning.
    Number(i32),
    /// It has no description of a tensor.
    NoTensor,
    /// Its elements have a type that is not supported.
    Element(VarKind),
    /// Its elements have a type of ONNX that is not supported, or none; this is the number of the type.
    #[cfg(feature = "read")]
    OnnxElement(i32),
    /// Neither its shape nor its number of dimensions is known.
    NoShape,
    /// Its elements are in another file.
    External,
    /// The operator computes with its elements, whose type can be held, but not computed with.
    Computed(VarKind),
    /// Its rows form sequences, which are not supported.
    Sequences,
    /// Its dimensions are negative, where they have to be known.
    Dimensions(Vec<i64>),
    /// The exact type that is written beside it does not parse.
    Type(String),
}

impl fmt::Display for VariableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableFault::Kind(kind) => write!(f, "it is a {kind}, but a tensor is needed"),
            VariableFault::Number(number) => write!(f, "its type has the number {number}, which is unknown"),
            VariableFault::NoTensor => f.write_str("its element type is not given"),
            VariableFault::Element(kind) => {
                write!(
                    f,
                    "its elements are {kind}; supported are BOOL, INT8, INT16, INT32, INT64, UINT8, FP16, BF16, FP32 and FP64"
                )
            }
            #[cfg(feature = "read")]
            VariableFault::OnnxElement(number) => {
                match ElementType::from_number(*number) {
                    Some(found) => write!(f, "its elements are {found}")?,
                    None => write!(f, "it is no tensor, or its elements are of the unknown type {number}")?,
                }
                f.write_str("; supported are BOOL, INT8, INT16, INT32, INT64, UINT8, FLOAT16, BFLOAT16, FLOAT and DOUBLE")
            }
            VariableFault::NoShape => f.write_str("its number of dimensions has to be known"),
            VariableFault::External => f.write_str(
                "its elements are in another file, which was not read: `Network::load` reads those of the outermost graph",
            ),
            VariableFault::Computed(kind) => {
                write!(
                    f,
                    "its elements are {kind}, which can be cast, moved and compared, but not computed with"
                )
            }
            VariableFault::Sequences => {
                f.write_str("its rows form sequences of more than two levels, which are not supported")
            }
            VariableFault::Dimensions(dims) => write!(f, "its dimensions {dims:?} have to be known"),
            VariableFault::Type(text) => write!(f, "`{text}` is not a type"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Wire(error) => error.fmt(f),
            Fault::Build(error) => error.fmt(f),
            Fault::Verify(error) => error.fmt(f),
            Fault::NoBlocks => f.write_str("the program has no block"),
            Fault::BlockIndex { block, index } => {
                write!(f, "block {block} says that its index is {index}; blocks are numbered by position")
            }
            Fault::BlockParent { block, parent } => {
                write!(f, "block {block} says that its parent is {parent}, which is not a block before it")
            }
            Fault::TooDeep { block, limit } => {
                write!(f, "block {block} is nested deeper than {limit} blocks, which is not supported")
            }
            Fault::BlockReference { attribute, index, reason } => {
                write!(f, "attribute `{attribute}` is block {index}, {reason}")
            }
            Fault::UnknownOperator => {
                f.write_str("there is no such operator here; a later version of this system may have it")
            }
            Fault::Unsupported => f.write_str("there is no such operator here"),
            Fault::Form { message } => f.write_str(message),
            Fault::Unread { name } => write!(f, "`{name}` is what an unsupported operator writes"),
            Fault::NoHeader => f.write_str("the program does not start with `rust.program`"),
            Fault::UnknownStructure => {
                f.write_str("it owns blocks, but what this operator does with them is not known here")
            }
            Fault::DeclaredTwice { block, name } => write!(f, "block {block} declares `{name}` twice"),
            Fault::Variable { name, reason } => write!(f, "variable `{name}`: {reason}"),
            Fault::Slot { slot, found, expected } => {
                write!(f, "slot `{slot}` has {found} variables, but needs {expected}")
            }
            Fault::Outputs { found, expected } => {
                write!(f, "it writes {found} variables, but gives {expected} values")
            }
            Fault::MissingAttribute { attribute } => write!(f, "the attribute `{attribute}` is missing"),
            Fault::Attribute { attribute, message } => write!(f, "attribute `{attribute}`: {message}"),
            Fault::Undefined { name } => write!(f, "`{name}` is read, but nothing has written it"),
            Fault::Undeclared { name } => {
                write!(f, "`{name}` is written, but neither its block nor one around it declares it")
            }
            Fault::WritesOuter { name } => {
                write!(
                    f,
                    "`{name}` of an outer block is written; a value leaves this block only as its result"
                )
            }
            Fault::Columns { operator, block } => {
                write!(f, "the columns of the `{operator}` operators of block {block} are not 0, 1, 2, …")
            }
            Fault::FeedCount { block, found, expected } => {
                write!(f, "block {block} has {found} `feed` operators, but {expected} values come in")
            }
            Fault::Size { message } => f.write_str(message),
            Fault::Memory => f.write_str("the program has more values than memory is given to"),
            Fault::GradientPair { parameter } => {
                write!(f, "the gradient of parameter `{parameter}` is not a value of the parameter's type")
            }
            Fault::Parameter { name, found, expected } => {
                write!(f, "parameter `{name}` is {found} in the file, but {expected} in the program")
            }
            Fault::MissingParameter { name } => write!(f, "there is no tensor for parameter `{name}`"),
            Fault::Newer { version } => {
                write!(f, "the program was written by a later version of this system (dialect {version})")
            }
        }
    }
}

impl From<Fault> for ConvertError {
    fn from(fault: Fault) -> Self {
        ConvertError { place: None, fault }
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Fault::Wire(error)
    }
}

impl From<BuildError> for Fault {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Mismatch(Mismatch { kind: MismatchKind::Size, message, .. }) => {
                Fault::Size { message }
            }
            error => Fault::Build(error),
        }
    }
}

impl From<WireError> for ConvertError {
    fn from(error: WireError) -> Self {
        Fault::Wire(error).into()
    }
}

impl From<BuildError> for ConvertError {
    fn from(error: BuildError) -> Self {
        Fault::from(error).into()
    }
}
