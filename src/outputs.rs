//! The outputs of a network.

use std::error;
use std::fmt;

use ndarray::{ArrayViewD, IxDyn};
use paddle_core::memory::{OutOfMemory, try_collect, try_vec};
use paddle_core::plan::{Backend, Executor, RunStats};
use paddle_core::program::DType;

use crate::batch::Shape;
use crate::element::{Element, Values};
use crate::session::Session;

/// The outputs of a network for a batch.
///
/// Each output is an array. If it has rows, they are the first dimension; for sequences that is all tokens, and
/// [`offsets`](Self::offsets) has the start of each sequence. A scalar has no dimensions.
///
/// ```
/// use paddle::{Parameters, infer, network};
///
/// let net = network!(|words: Seq<i64>| {
///     let odd = sequence_filter(words, words % 2 == 1);
///     let count = sequence_length(odd);
///     (odd, count, mean(cast(count, f32)))
/// });
/// let outputs = infer(&net, &Parameters::create(&net)?, [vec![1, 2, 3], vec![4], vec![5]])?;
/// assert_eq!(outputs.len(), 3);
/// assert_eq!(outputs.at::<i64>(0)?.as_slice(), Some(&[1, 3, 5][..]));
/// assert_eq!(outputs.offsets(0), Some(&[0, 2, 2, 3][..]));
/// assert_eq!(outputs.get::<i64>("count")?.shape(), [3]);
/// assert_eq!(outputs.offsets(1), None);
/// assert_eq!(outputs.at::<f32>(2)?.shape(), [0; 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outputs {
    outputs: Vec<Output>,
    stats: RunStats,
}

#[derive(Clone, Debug)]
struct Output {
    name: String,
    shape: Vec<usize>,
    values: Values,
    /// The offsets of each level of sequences, the outermost first.
    offsets: Vec<Vec<usize>>,
}

impl Outputs {
    /// Copies the outputs of the batch that was just computed. They get these names.
    pub(crate) fn fetch<'a, B: Backend>(
        Session { executor, .. }: &Session<B>,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Self, OutOfMemory> {
        let outputs = names.enumerate().map(|(k, name)| fetch(executor, k, name));
        Ok(Outputs { outputs: outputs.collect::<Result<_, _>>()?, stats: executor.stats().clone() })
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.outputs.len()
    }

    /// Whether the network has no outputs.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The names, in the order in which the network returns the outputs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|output| output.name.as_str())
    }

    /// The `k`-th output, from 0: `let price = outputs.at::<f32>(0)?;`
    ///
    /// # Errors
    /// There are fewer outputs, or it has another element type.
    pub fn at<T: Element>(&self, k: usize) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: k.to_string(), outputs: self.list() };
        self.outputs.get(k).ok_or_else(none)?.view()
    }

    /// The output of this name.
    ///
    /// # Errors
    /// There is no output of this name, or it has another element type.
    pub fn get<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: name.to_string(), outputs: self.list() };
        self.outputs.iter().find(|output| output.name == name).ok_or_else(none)?.view()
    }

    /// The start of each sequence among the tokens of the `k`-th output, and at the end the number of tokens; `None` if
    /// its rows are not tokens. For sequences of sequences, the offsets of the innermost level.
    pub fn offsets(&self, k: usize) -> Option<&[usize]> {
        self.levels(k).last().map(Vec::as_slice)
    }

    /// The offsets of all levels of the `k`-th output, the outermost first. The offsets of a level count the sequences
    /// of the next one.
    pub fn levels(&self, k: usize) -> &[Vec<usize>] {
        self.outputs.get(k).map_or(&[], |output| &output.offsets)
    }

    /// The numbers of rows on which the network's products ran.
    pub fn stats(&self) -> &RunStats {
        &self.stats
    }

    fn list(&self) -> Vec<String> {
        self.names().map(str::to_string).collect()
    }
}

/// Copies an output to the host.
fn fetch<B: Backend>(executor: &Executor<B>, k: usize, name: &str) -> Result<Output, OutOfMemory> {
    let copy = || {
        let shape = executor.output_shape(k).to_vec();
        let elements = shape.iter().fold(1, |elements: usize, &size| elements.saturating_mul(size));
        let mut values = Values::zeros(executor.output_dtype(k), elements)?;
        executor.fetch(k, values.as_slice_mut());
        let offsets = executor.output_offsets(k).enumerate().map(|(level, count)| {
            let mut offsets = try_vec(count)?;
            executor.fetch_offsets(k, level, &mut offsets);
            try_collect(offsets.into_iter().map(|at| at as usize))
        });
        Ok(Output { name: name.to_string(), shape, values, offsets: offsets.collect::<Result<_, _>>()? })
    };
    copy().map_err(|error: OutOfMemory| error.wanted_for(format_args!("a copy of output `{name}`")))
}

impl Output {
    fn view<T: Element>(&self) -> Result<ArrayViewD<'_, T>, OutputError> {
        let wrong = || {
            let (output, expected) = (self.name.clone(), self.values.dtype());
            OutputError::Type { output, found: T::DTYPE, expected, shape: Shape(self.shape.clone()) }
        };
        let elements = T::of(&self.values).ok_or_else(wrong)?;
        ArrayViewD::from_shape(IxDyn(&self.shape), elements).map_err(|_| wrong())
    }
}

/// The reason why an output cannot be read.
///
/// ```
/// use paddle::{OutputError, Parameters, infer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| { let class = argmax(x, axis = 1); class });
/// let outputs = infer(&net, &Parameters::create(&net)?, [[0.5, 1.0]])?;
/// let error = outputs.at::<f32>(0).unwrap_err();
/// assert!(matches!(error, OutputError::Type { .. }));
/// assert_eq!(error.to_string(), "output `class` is i64[1], but was asked for as f32");
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputError {
    /// There is no such output.
    NoSuch {
        /// The name or index that was asked for.
        output: String,
        /// The names of the outputs.
        outputs: Vec<String>,
    },
    /// The network has no tap of this name.
    NoSuchTap {
        /// The name that was asked for.
        tap: String,
        /// The names of the taps.
        taps: Vec<String>,
    },
    /// The network has no cost: its first output is not a single floating-point number.
    NoCost {
        /// The network.
        network: String,
    },
    /// The output has another element type.
    Type {
        /// Its name.
        output: String,
        /// The type that was asked for.
        found: DType,
        /// Its type.
        expected: DType,
        /// Its shape.
        shape: Shape,
    },
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { output, outputs } => {
                write!(f, "there is no output `{output}`; the outputs are `{}`", outputs.join("`, `"))
            }
            Self::NoSuchTap { tap, taps } => match taps[..] {
                [] => write!(
                    f,
                    "there is no tap `{tap}`: the network taps no values; write `tap(x, \"{tap}\")`"
                ),
                _ => write!(f, "there is no tap `{tap}`; the taps are `{}`", taps.join("`, `")),
            },
            Self::NoCost { network } => {
                write!(
                    f,
                    "`{network}` has no cost to test: its first output is not one number; run it with `infer`"
                )
            }
            Self::Type { output, found, expected, shape } => {
                write!(f, "output `{output}` is {expected}{shape}, but was asked for as {found}")
            }
        }
    }
}

impl error::Error for OutputError {}
