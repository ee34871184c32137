//! Errors in the rows or arrays of a batch.

use std::error::Error;
use std::fmt;

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::OffsetsError;
use paddle_core::program::DType;

/// Sizes of dimensions: `[64, 13]`.
///
/// ```
/// assert_eq!(paddle::Shape(vec![64, 13]).to_string(), "[64, 13]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<usize>);

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// The reason why rows or arrays are not a batch of a network. Rows count from 0.
///
/// ```
/// use paddle::{BatchError, Error, network};
///
/// let net = network!(|x: Tensor<f32, _, T>| sum(x, axis = 1));
/// let error = net.batch([vec![1.0, 2.0], vec![3.0]]).unwrap_err();
/// assert!(matches!(error, Error::Batch(BatchError::Ragged { row: 1, .. })));
/// assert_eq!(
///     error.to_string(),
///     "input `x`: row 1 is [1], but row 0 is [2]; all rows of one batch have the same sizes"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// The rows have more or fewer columns than the network has inputs.
    Columns {
        /// The number of columns of a row.
        found: usize,
        /// The names of the network's inputs.
        inputs: Vec<String>,
    },
    /// The network has no input of this name.
    NoSuchInput {
        /// The name that was asked for.
        input: String,
        /// The names of the network's inputs.
        inputs: Vec<String>,
    },
    /// An input has no value.
    NoValue {
        /// The input.
        input: String,
        /// Its type.
        expected: String,
    },
    /// A value has another element type than its input.
    Type {
        /// The input.
        input: String,
        /// The element type of the value.
        found: DType,
        /// The element type of the input.
        expected: DType,
    },
    /// A value has another shape than its input.
    Shape {
        /// The input.
        input: String,
        /// The row; `None` for an array of all rows.
        row: Option<usize>,
        /// The value's shape.
        found: Shape,
        /// The input's type, its rows included.
        expected: String,
    },
    /// A sequence has tokens of another shape than its input.
    Tokens {
        /// The input.
        input: String,
        /// The row.
        row: usize,
        /// The shape of the sequence, with the number of tokens first.
        found: Shape,
        /// The input's type.
        expected: String,
    },
    /// The offsets of sequences are wrong.
    Offsets {
        /// The input.
        input: String,
        /// Its type.
        expected: String,
        /// The mistake in the offsets.
        error: OffsetsError,
    },
    /// A size that the network leaves open differs between rows of one batch.
    Ragged {
        /// The input.
        input: String,
        /// The first row that differs from row 0.
        row: usize,
        /// Its shape.
        found: Shape,
        /// The shape in row 0.
        first: Shape,
    },
    /// An input with one value for all rows has different ones.
    RowsDiffer {
        /// The input.
        input: String,
        /// The first of two rows that differ.
        first: usize,
        /// The second of them.
        second: usize,
    },
    /// Two inputs have different numbers of rows.
    Rows {
        /// An input.
        input: String,
        /// The number of its rows.
        found: usize,
        /// The input that it was compared with.
        first: String,
        /// The number of rows of that input.
        expected: usize,
    },
    /// The batch is for another network.
    OtherNetwork {
        /// The network of the batch.
        found: String,
        /// The network that the batch was given to.
        expected: String,
    },
    /// There is no memory for the values.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |inputs: &[String]| {
            let quoted: Vec<_> = inputs.iter().map(|input| format!("`{input}`")).collect();
            if quoted.is_empty() { "none".to_string() } else { quoted.join(", ") }
        };
        match self {
            Self::Columns { found, inputs } => {
                let (count, inputs) = (inputs.len(), list(inputs));
                write!(f, "a row has {found} columns, but the network has {count} inputs ({inputs})")
            }
            Self::NoSuchInput { input, inputs } => {
                write!(f, "the network has no input `{input}`; its inputs are {}", list(inputs))
            }
            Self::NoValue { input, expected } => {
                write!(f, "the batch has no value for input `{input}`, which is {expected}")
            }
            Self::Type { input, found, expected } => {
                write!(f, "input `{input}`: found elements of type {found}, expected {expected}")
            }
            Self::Shape { input, row: Some(row), found, expected } => write!(
                f,
                "input `{input}`, row {row}: found {found}, expected one row of {expected} (`_` left out)"
            ),
            Self::Tokens { input, row, found, expected } => {
                write!(f, "input `{input}`, row {row}: found {found}, expected the tokens of one {expected}")
            }
            Self::Offsets { input, expected, error } => {
                write!(f, "input `{input}` takes {expected}: {error}")
            }
            Self::Shape { input, row: None, found, expected } => {
                write!(f, "input `{input}`: found {found}, expected {expected}")
            }
            Self::Ragged { input, row, found, first } => write!(
                f,
                "input `{input}`: row {row} is {found}, but row 0 is {first}; all rows of one batch have the \
                 same sizes"
            ),
            Self::RowsDiffer { input, first, second } => write!(
                f,
                "input `{input}` has one value for all rows of a batch, but rows {first} and {second} differ"
            ),
            Self::Rows { input, found, first, expected } => {
                write!(f, "input `{input}` has {found} rows, but input `{first}` has {expected}")
            }
            Self::OtherNetwork { found, expected } => {
                write!(f, "the batch was made for network `{found}`, but is given to network `{expected}`")
            }
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl Error for BatchError {}
