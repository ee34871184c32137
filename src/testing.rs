//! Tests of models in a few lines:
//!
//! | to test that | there is |
//! | --- | --- |
//! | it can learn a few rows by heart | [`assert_learns`], [`assert_learns_below`] |
//! | it compiles to the program that was reviewed | [`assert_program`] |
//! | its gradients are right | [`check_gradients`]; for programs without parameters, [`Differentiated`] |
//! | an operator of your own keeps its declaration | [`check_operator`] |
//!
//! The functions `assert_…` panic with a message that says what to look at. The functions `check_…` measure, and return
//! what they compared, or what is wrong. All have fixed seeds, so the result is always the same.
//!
//! ```
//! #[paddle::attribute::network]
//! mod price {
//!     pub fn cost(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
//!         mean(square(fc(fc(x, 4, act = tanh), 1) - y))
//!     }
//! }
//!
//! // In `#[test]`s:
//! use paddle::testing::{assert_learns, check_gradients};
//!
//! # fn main() {
//! let rows = [([1.0, 0.0, 2.0], 3.0), ([0.5, -1.0, 0.0], -2.0)];
//! assert_learns(&price::cost(), rows.map(price::cost::Row::from));
//! check_gradients(&price::cost(), rows.map(price::cost::Row::from)).unwrap();
//! # }
//! ```

mod draw;
mod gradients;
mod learns;
mod operator;
mod program;

use std::error;
use std::fmt;

use paddle_core::ops::Program;
use paddle_core::plan::{Backend, Buffers, Executor, Feed, HostSliceMut, Part, Storage};
use paddle_core::program::DType;
use paddle_kernels::cpu::CpuError;
pub use paddle_kernels::differences::{Compared, DifferenceError, Differentiated};

pub use self::gradients::check_gradients;
pub use self::learns::{assert_learns, assert_learns_below};
pub use self::operator::check_operator;
pub use self::program::assert_program;
use crate::Error;
use crate::element::Values;
use crate::operator::OperatorError;

/// The reason why an operator or a network failed a check.
///
/// ```
/// use paddle::network;
/// use paddle::testing::{CheckError, check_gradients};
///
/// let net = network!(|x: Tensor<i64, _>| mean(fc(embedding(x, [10, 2]), 1)));
/// // The table has no entry 12.
/// assert!(matches!(check_gradients(&net, [3, 12]), Err(CheckError::Network(_))));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The operator cannot be linked.
    Operator(OperatorError),
    /// The CPU cannot be used.
    Cpu(CpuError),
    /// A sample does not fit the operator, or cannot be run.
    Sample {
        /// The number of the sample, from 0.
        sample: usize,
        /// The error.
        error: Box<Error>,
    },
    /// The kernels of two backends disagree, or one kernel on two numbers of threads.
    Differs {
        /// The number of the sample, from 0.
        sample: usize,
        /// The index of the element.
        element: usize,
        /// The kernel.
        kernel: String,
        /// The computed value.
        found: f64,
        /// The expected value.
        expected: f64,
        /// The largest difference that is allowed.
        allowed: f64,
    },
    /// The gradient is wrong.
    Gradient {
        /// The number of the sample, from 0.
        sample: usize,
        /// What is wrong.
        error: DifferenceError,
    },
    /// A network cannot be trained or run.
    Network(Box<Error>),
    /// The gradient of a network is wrong.
    Parameter(DifferenceError),
    /// There are no samples.
    NoSamples,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Operator(error) => error.fmt(f),
            CheckError::Cpu(error) => error.fmt(f),
            CheckError::Sample { sample, error } => write!(f, "sample {sample}: {error}"),
            CheckError::Differs { sample, element, kernel, found, expected, allowed } => write!(
                f,
                "sample {sample}: element {element} is {found:e} by {kernel}, but {expected:e} ± {allowed:e} by the reference kernel"
            ),
            CheckError::Gradient { sample, error } => write!(f, "sample {sample}: {error}"),
            CheckError::Network(error) => error.fmt(f),
            CheckError::Parameter(error) => error.fmt(f),
            CheckError::NoSamples => {
                f.write_str("there is no sample; `samples` gives inputs of no rows, of one, of many")
            }
        }
    }
}

impl error::Error for CheckError {}

impl From<OperatorError> for CheckError {
    fn from(error: OperatorError) -> Self {
        CheckError::Operator(error)
    }
}

impl From<Error> for CheckError {
    fn from(error: Error) -> Self {
        CheckError::Network(Box::new(error))
    }
}

impl From<CpuError> for CheckError {
    fn from(error: CpuError) -> Self {
        CheckError::Cpu(error)
    }
}

/// The value of an input of a program.
struct Fed {
    values: Values,
    shape: Vec<usize>,
    /// The offsets of each level of sequences.
    offsets: Vec<Vec<i64>>,
}

impl Fed {
    fn feed(&self) -> Feed<'_> {
        Feed { values: self.values.as_slice(), shape: &self.shape, offsets: &self.offsets }
    }
}

/// Runs a program without parameters, and returns its first output. `kept` is the type in which the output is read.
fn run<B: Backend>(
    backend: B,
    program: &Program,
    feeds: &[Fed],
    kept: impl Fn(DType) -> DType,
) -> Result<Values, Error> {
    let mut executor = Executor::new(backend, program, &Storage::new())?;
    executor.begin(&|i| feeds[i].feed())?;
    executor.run(Part::Compute, &mut Buffers::default())?;
    let mut values =
        Values::zeros(kept(executor.output_dtype(0)), executor.output_shape(0).iter().product())?;
    let to: HostSliceMut<'_> = values.as_slice_mut();
    executor.fetch(0, to);
    Ok(values)
}
