//! The outputs of a network.

use std::error;
use std::fmt;
use std::mem;
use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use ndarray::{ArrayViewD, IxDyn};
use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::{Backend, Executor, RunStats};
use paddle_core::program::DType;

use crate::batch::Shape;
use crate::element::{Element, Values};
use crate::metrics::Sequences;
use crate::session::Session;

/// The outputs of a network for a batch.
///
/// Each output is an array. If it has rows, they are the first dimension; for sequences that is all tokens, and
/// [`offsets`](Self::offsets) has the start of each sequence. A scalar has no dimensions.
///
/// A later call with the same network and parameters gets the memory of outputs that were dropped. So calls whose
/// outputs are dropped before the next call allocate nothing once the largest batch has been seen.
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
#[derive(Clone)]
pub struct Outputs {
    copied: Copied,
    /// Takes the memory back.
    spare: Arc<Spare>,
}

/// The memory of outputs that were dropped. The next call with the same plans copies its outputs there.
pub(crate) type Spare = ArrayQueue<Copied>;

/// Outputs in memory of the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copied {
    outputs: Vec<Output>,
    stats: RunStats,
    /// Offsets as they come from the device.
    offsets: Vec<i64>,
}

#[derive(Clone, Debug)]
struct Output {
    name: String,
    shape: Vec<usize>,
    values: Values,
    /// The offsets of each level of sequences, the outermost first.
    offsets: Vec<Vec<usize>>,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // If there is enough memory to spare, this memory is freed.
        let _ = self.spare.push(mem::take(&mut self.copied));
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copied { outputs, stats, .. } = &self.copied;
        f.debug_struct("Outputs").field("outputs", outputs).field("stats", stats).finish()
    }
}

impl Outputs {
    /// Copies the outputs of the batch that was just computed. They get these names, which are the same in all calls
    /// with the same `spare`.
    pub(crate) fn fetch<'a, B: Backend>(
        Session { executor, .. }: &Session<B>,
        names: impl Iterator<Item = &'a str>,
        spare: &Arc<Spare>,
    ) -> Result<Self, OutOfMemory> {
        let mut copied = spare.pop().unwrap_or_default();
        if copied.outputs.is_empty() {
            let output = |(k, name): (usize, &str)| Output {
                name: name.to_string(),
                shape: Vec::new(),
                values: Values::new(executor.output_dtype(k)),
                offsets: vec![Vec::new(); executor.output_offsets(k).count()],
            };
            copied.outputs.extend(names.enumerate().map(output));
        }
        for (k, output) in copied.outputs.iter_mut().enumerate() {
            let copy = output.copy(executor, k, &mut copied.offsets);
            copy.map_err(|error| error.wanted_for(format_args!("a copy of output `{}`", output.name)))?;
        }
        copied.stats.clone_from(executor.stats());
        Ok(Outputs { copied, spare: Arc::clone(spare) })
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.copied.outputs.len()
    }

    /// Whether the network has no outputs.
    pub fn is_empty(&self) -> bool {
        self.copied.outputs.is_empty()
    }

    /// The names, in the order in which the network returns the outputs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.copied.outputs.iter().map(|output| output.name.as_str())
    }

    /// The `k`-th output, from 0: `let price = outputs.at::<f32>(0)?;`
    ///
    /// # Errors
    /// There are fewer outputs, or it has another element type.
    pub fn at<T: Element>(&self, k: usize) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: k.to_string(), outputs: self.list() };
        self.copied.outputs.get(k).ok_or_else(none)?.view()
    }

    /// The output of this name.
    ///
    /// # Errors
    /// There is no output of this name, or it has another element type.
    pub fn get<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: name.to_string(), outputs: self.list() };
        self.copied.outputs.iter().find(|output| output.name == name).ok_or_else(none)?.view()
    }

    /// The sequences of the output of this name, for [`metrics`](crate::metrics) that compare such. For sequences of
    /// sequences, those of the innermost level.
    ///
    /// ```
    /// use paddle::{Parameters, infer, network};
    ///
    /// let net = network!(|words: Seq<i64>| { let next = words + 1; next });
    /// let outputs = infer(&net, &Parameters::create(&net)?, [vec![1, 2, 3], vec![], vec![5]])?;
    /// assert!(outputs.sequences("next")?.iter().eq([&[2, 3, 4][..], &[], &[6]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no output of this name, its rows are not tokens, a token has several elements, or they are no `i64`.
    pub fn sequences(&self, name: &str) -> Result<Sequences<'_>, OutputError> {
        let none = || OutputError::NoSuch { output: name.to_string(), outputs: self.list() };
        let output = self.copied.outputs.iter().find(|output| output.name == name).ok_or_else(none)?;
        output.view::<i64>()?;
        match (&output.values, output.offsets.last()) {
            (Values::I64(tokens), Some(offsets)) => Sequences::new(tokens, offsets).ok(),
            _ => None,
        }
        .ok_or_else(|| OutputError::NoSequences { output: name.to_string() })
    }

    /// The start of each sequence among the tokens of the `k`-th output, and at the end the number of tokens; `None` if
    /// its rows are not tokens. For sequences of sequences, the offsets of the innermost level.
    pub fn offsets(&self, k: usize) -> Option<&[usize]> {
        self.levels(k).last().map(Vec::as_slice)
    }

    /// The offsets of all levels of the `k`-th output, the outermost first. The offsets of a level count the sequences
    /// of the next one.
    pub fn levels(&self, k: usize) -> &[Vec<usize>] {
        self.copied.outputs.get(k).map_or(&[], |output| &output.offsets)
    }

    /// The numbers of rows on which the network's products ran.
    pub fn stats(&self) -> &RunStats {
        &self.copied.stats
    }

    fn list(&self) -> Vec<String> {
        self.names().map(str::to_string).collect()
    }
}

impl Output {
    /// Copies an output to the host.
    fn copy<B: Backend>(
        &mut self,
        executor: &Executor<B>,
        k: usize,
        read: &mut Vec<i64>,
    ) -> Result<(), OutOfMemory> {
        self.shape.clear();
        self.shape.extend_from_slice(executor.output_shape(k));
        let elements = self.shape.iter().fold(1, |elements: usize, &size| elements.saturating_mul(size));
        self.values.try_resize(elements)?;
        executor.fetch(k, self.values.as_slice_mut());
        for (level, count) in executor.output_offsets(k).enumerate() {
            read.try_resize(count, 0)?;
            executor.fetch_offsets(k, level, read);
            self.offsets[level].clear();
            self.offsets[level].try_extend(read.iter().map(|&at| at as usize))?;
        }
        Ok(())
    }

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
    /// The output has no sequences of single elements.
    NoSequences {
        /// Its name.
        output: String,
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
            Self::NoSequences { output } => {
                write!(f, "output `{output}` has no sequences with one element for each token")
            }
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
