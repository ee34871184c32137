//! What can be wrong with a batch.

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

/// Why rows or arrays are not a batch of a network. Rows count from 0.
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
        /// The columns of a row.
        found: usize,
        /// The network's inputs.
        inputs: Vec<String>,
    },
    /// The network has no input of this name.
    NoSuchInput {
        /// The name.
        input: String,
        /// The names that there are.
        inputs: Vec<String>,
    },
    /// An input was given nothing.
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
        /// The value's.
        found: DType,
        /// The input's.
        expected: DType,
    },
    /// A value has another shape than its input.
    Shape {
        /// The input.
        input: String,
        /// The row; none for an array of all rows.
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
        /// The sequence's shape, its tokens first.
        found: Shape,
        /// The input's type.
        expected: String,
    },
    /// The offsets of sequences do not fit.
    Offsets {
        /// The input.
        input: String,
        /// Its type.
        expected: String,
        /// What is wrong.
        error: OffsetsError,
    },
    /// A size that the network leaves open differs between the rows of one batch.
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
    /// An input that has one value for all rows was given different ones.
    RowsDiffer {
        /// The input.
        input: String,
        /// A row.
        first: usize,
        /// The first row that differs from it.
        second: usize,
    },
    /// Two inputs were given different numbers of rows.
    Rows {
        /// An input.
        input: String,
        /// Its rows.
        found: usize,
        /// An input before it.
        first: String,
        /// The rows of that.
        expected: usize,
    },
    /// The batch was made for another network.
    OtherNetwork {
        /// The network that it was made for.
        found: String,
        /// The network that it was given to.
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
