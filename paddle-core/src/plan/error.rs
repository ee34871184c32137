//! The errors of planning and running a program.

use std::fmt;

use super::Precision;
use super::offsets::OffsetsError;
use crate::memory::OutOfMemory;
use crate::passes::UnknownSwitch;
use crate::program::{DType, Located, VerifyError};

/// The reason why a program cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The program is not well-formed.
    Verify(VerifyError),
    /// The backend has no kernel for an operator.
    Unsupported {
        /// The operator.
        operator: String,
        /// The backend.
        backend: &'static str,
        /// The place of the operator in the source.
        place: Option<Located>,
        /// The reason, from the backend.
        message: String,
    },
    /// The backend, or its fallback, does not compute products in the precision that was asked for.
    Precision {
        /// The precision.
        precision: Precision,
        /// The backend.
        backend: &'static str,
    },
    /// A parameter of the program is not in the storage.
    MissingParameter {
        /// Its name.
        name: String,
        /// Its type in the program.
        expected: String,
    },
    /// A parameter has another type in the storage.
    ParameterType {
        /// Its name.
        name: String,
        /// Its type in the program.
        expected: String,
        /// Its type in the storage.
        found: String,
    },
    /// A size symbol is bound by no input, or has to be bound from outside.
    UnboundSize {
        /// The symbol.
        symbol: String,
        /// Whether it comes from outside.
        outside: bool,
    },
    /// The environment switches off a pass that does not exist.
    Switch(UnknownSwitch),
    /// There is not enough memory.
    OutOfMemory(OutOfMemory),
    /// The values of parameters are on another machine, which did not give them.
    Elsewhere {
        /// Why not.
        message: String,
    },
    /// A kernel failed while parameters were initialised.
    Initializer {
        /// The parameter.
        name: String,
        /// The error of the kernel.
        message: String,
    },
}

fn at(place: &Option<Located>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match place {
        Some(place) => write!(f, "{place}: "),
        None => Ok(()),
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Verify(error) => error.fmt(f),
            PlanError::Unsupported { operator, backend, place, message } => {
                at(place, f)?;
                write!(f, "operator `{operator}` does not run on `{backend}`: {message}")
            }
            PlanError::Precision { precision, backend } => {
                write!(f, "`{backend}` does not compute products in {precision}; leave the precision at f32")
            }
            PlanError::MissingParameter { name, expected } => {
                write!(
                    f,
                    "the parameters have no `{name}`, which the network uses as {expected}; create them from this network too"
                )
            }
            PlanError::ParameterType { name, expected, found } => {
                write!(f, "parameter `{name}` is {found}, but the network uses it as {expected}")
            }
            PlanError::Switch(error) => error.fmt(f),
            PlanError::UnboundSize { symbol, outside: true } => {
                write!(
                    f,
                    "the size `{symbol}` comes from outside of the program: bind it before it is planned"
                )
            }
            PlanError::UnboundSize { symbol, outside: false } => {
                write!(f, "the size `{symbol}` is the dimension of no input, so nothing tells its value")
            }
            PlanError::OutOfMemory(error) => error.fmt(f),
            PlanError::Elsewhere { message } => write!(f, "the parameters are elsewhere: {message}"),
            PlanError::Initializer { name, message } => {
                write!(f, "parameter `{name}` cannot be initialised: {message}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl From<VerifyError> for PlanError {
    fn from(error: VerifyError) -> Self {
        PlanError::Verify(error)
    }
}

impl From<UnknownSwitch> for PlanError {
    fn from(error: UnknownSwitch) -> Self {
        PlanError::Switch(error)
    }
}

impl From<OutOfMemory> for PlanError {
    fn from(error: OutOfMemory) -> Self {
        PlanError::OutOfMemory(error)
    }
}

/// The reason why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The value that is fed has another element type than the input.
    FeedType {
        /// The input.
        input: String,
        /// Its element type.
        expected: DType,
        /// The type or shape of the value that was fed.
        found: DType,
    },
    /// The value that is fed has another shape than the input.
    FeedShape {
        /// The input.
        input: String,
        /// Its shape, in the user's names.
        expected: String,
        /// The type or shape of the value that was fed.
        found: Vec<usize>,
        /// The value of a named size, and the input that gave it, if the shape contradicts it.
        bound: Option<(String, usize)>,
    },
    /// The number of elements that are fed is not that of the shape.
    FeedLength {
        /// The input.
        input: String,
        /// The number of elements of the shape.
        expected: usize,
        /// The number of elements that were fed.
        found: usize,
    },
    /// The sizes of a batch violate a check of the program.
    Check {
        /// The place of the check in the user's source.
        place: Option<Located>,
        /// The values that were found, and the values that are expected.
        message: String,
    },
    /// The offsets of sequences do not fit the values that are fed.
    FeedOffsets {
        /// The input.
        input: String,
        /// Its type, in the user's names.
        expected: String,
        /// The mistake in the offsets.
        error: OffsetsError,
    },
    /// A batch needs more memory than there is, or more bytes than can be counted.
    TooLarge {
        /// The value that is too large.
        value: String,
    },
    /// An operator does not accept the value of an element.
    Kernel {
        /// The operator.
        operator: String,
        /// The place of the operator in the source.
        place: Option<Located>,
        /// The value that was found, and the values that are expected.
        message: String,
    },
    /// The device, or its driver, does not do what it is asked to: it is gone, or refuses a kernel.
    Device {
        /// What the driver says.
        message: String,
    },
    /// A number that is fed is NaN or infinite, in a run that checks them ([`Numbers::Finite`](super::Numbers)).
    FedNotFinite {
        /// The input.
        input: String,
        /// The row of the batch; none if the input is one value for all rows.
        row: Option<usize>,
        /// The index of the element in row-major order.
        element: usize,
        /// Its value: `NaN`, `inf` or `-inf`.
        found: &'static str,
        /// The number of the step.
        step: u64,
    },
    /// A number is NaN or infinite, in a run that checks them ([`Numbers`](super::Numbers)).
    NotFinite {
        /// The operator that gave it.
        operator: String,
        /// The place of the operator in the source.
        place: Option<Located>,
        /// The name of the value.
        value: String,
        /// The index of the element in row-major order.
        element: usize,
        /// Its value: `NaN`, `inf` or `-inf`.
        found: &'static str,
        /// The number of the step.
        step: u64,
    },
    /// A loop ran more often than its limit.
    LoopLimit {
        /// The limit.
        limit: usize,
        /// The place of the loop in the source.
        place: Option<Located>,
    },
    /// Values could not be exchanged with another machine.
    Exchange {
        /// The operator that sends or receives.
        operator: String,
        /// The place of the operator in the source.
        place: Option<Located>,
        /// What failed, and with which machine.
        message: String,
    },
    /// There is not enough memory.
    OutOfMemory(OutOfMemory),
    /// A run or its values were asked for before a batch began.
    NotBegun,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::FeedType { input, expected, found } => {
                write!(f, "input `{input}` takes {expected}, but {found} was fed")
            }
            RunError::FeedShape { input, expected, found, bound } => {
                write!(f, "input `{input}` takes {expected}, but {found:?} was fed")?;
                match bound {
                    Some((name, size)) => write!(f, "; `{name}` is {size} by another input"),
                    None => Ok(()),
                }
            }
            RunError::FeedLength { input, expected, found } => {
                write!(f, "input `{input}` has {expected} elements by its shape, but {found} were fed")
            }
            RunError::Check { place, message } => {
                at(place, f)?;
                f.write_str(message)
            }
            RunError::FeedOffsets { input, expected, error } => {
                write!(f, "input `{input}` takes {expected}: {error}")
            }
            RunError::TooLarge { value } => write!(f, "`{value}` would not fit into memory with this batch"),
            RunError::Kernel { operator, place, message }
            | RunError::Exchange { operator, place, message } => {
                at(place, f)?;
                write!(f, "`{operator}`: {message}")
            }
            RunError::Device { message } => write!(f, "the device failed: {message}"),
            RunError::FedNotFinite { input, row, element, found, step } => {
                if let Some(row) = row {
                    write!(f, "row {row}: ")?;
                }
                write!(f, "element {element} of what is fed to `{input}` in step {step} is {found}")
            }
            RunError::NotFinite { operator, place, value, element, found, step } => {
                at(place, f)?;
                write!(f, "`{operator}` gives {found} for element {element} of `{value}` in step {step}")
            }
            RunError::LoopLimit { limit, place } => {
                at(place, f)?;
                write!(f, "`while` did not end after {limit} iterations; does its condition ever turn false?")
            }
            RunError::OutOfMemory(error) => error.fmt(f),
            RunError::NotBegun => f.write_str("nothing has been fed yet"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<OutOfMemory> for RunError {
    fn from(error: OutOfMemory) -> Self {
        RunError::OutOfMemory(error)
    }
}
