//! The error type of the facade.

use std::error;
use std::fmt;

use paddle_core::convert::ConvertError;
#[cfg(feature = "models")]
use paddle_core::convert::{LegaliseError, Unsupported};
use paddle_core::memory::OutOfMemory;
use paddle_core::ops::GradientError;
use paddle_core::passes::PassError;
use paddle_core::plan::{PlanError, RunError, StorageError};
use paddle_core::program::{BindError, BuildError, VerifyError};
use paddle_core::wire::WireError;
use paddle_kernels::cpu::CpuError;

use crate::batch::BatchError;
use crate::device::DeviceError;
use crate::files::FileError;
use crate::interrupt::InterruptError;
use crate::metrics::MeasureError;
use crate::operator::OperatorError;
use crate::options::NoShards;
use crate::outputs::OutputError;
use crate::parameters::ParameterError;
use crate::setting::SettingError;
use crate::train_loop::{NoBatch, ReaderFailed};
use crate::trainer::CostNotFinite;

/// Any error between a network and its results.
///
/// An error of an operator has the operator's place in the user's source. `Debug` prints the same text as `Display`,
/// since a `main` that returns an error prints it with `Debug`; `{:#?}` prints the structure.
///
/// ```
/// use paddle::{Error, Parameters, infer, network};
///
/// let net = network!(|ids: Tensor<i64, _>| embedding(ids, [10, 4]));
/// let parameters = Parameters::create(&net)?;
/// let error = infer(&net, &parameters, [3, 12]).unwrap_err();
/// assert!(matches!(error, Error::Run(_)));
/// // The place, the operator as it was written, and what was found.
/// assert!(error.to_string().contains("`embedding`"), "{error}");
/// # Ok::<(), Error>(())
/// ```
#[non_exhaustive]
pub enum Error {
    /// Rows or arrays do not fit the network.
    Batch(BatchError),
    /// The reader ended without a batch.
    NoBatch(NoBatch),
    /// The reader failed.
    Reader(ReaderFailed),
    /// A batch of a reader does not fit the network, or its step failed.
    BatchFailed(BatchFailed),
    /// A parameter that was asked for or given does not exist, or has another type.
    Parameter(ParameterError),
    /// An output that was asked for does not exist, or has another type.
    Output(OutputError),
    /// A batch cannot be added to a measure.
    Measure(MeasureError),
    /// Networks disagree about a parameter.
    Storage(StorageError),
    /// The network cannot be trained.
    Gradient(GradientError),
    /// An updater's operators do not fit together.
    Build(BuildError),
    /// Sizes do not fit a network.
    Bind(BindError),
    /// A program is not well-formed.
    Verify(VerifyError),
    /// Bytes are not a program.
    Wire(WireError),
    /// An encoded program cannot be read.
    Convert(Box<ConvertError>),
    /// A loaded model has operators, attributes or types that are not supported: all of them.
    #[cfg(feature = "models")]
    Unsupported(Unsupported),
    /// A program has no form that PaddlePaddle runs.
    #[cfg(feature = "models")]
    Legalise(LegaliseError),
    /// A program cannot be planned.
    Plan(PlanError),
    /// Operators cannot be linked to a program.
    Operator(OperatorError),
    /// A run failed.
    Run(RunError),
    /// The CPU cannot be used as asked for.
    Cpu(CpuError),
    /// There is no device of a name.
    Device(DeviceError),
    /// A file cannot be read or written.
    File(FileError),
    /// There is no memory for values on the host.
    OutOfMemory(OutOfMemory),
    /// Ctrl-C cannot be caught.
    Interrupt(InterruptError),
    /// A batch was to be cut into 0 shards.
    Shards(NoShards),
    /// A setting is out of range, such as a learning rate or a number of an updater.
    Setting(SettingError),
    /// The cost of a step is NaN or infinite.
    CostNotFinite(CostNotFinite),
    /// A cluster did not do what it was asked for.
    #[cfg(feature = "cluster")]
    Cluster(crate::cluster::ClusterError),
    /// A source has mistakes.
    #[cfg(feature = "language")]
    Language(paddle_language::Diagnostics),
    /// A handler of events failed.
    Handler(Box<dyn error::Error + Send + Sync>),
}

/// The batch of a reader that does not fit the network, or whose step failed. Both numbers count from 0.
///
/// ```
/// use paddle::{Error, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, T>| mean(square(fc(sum(x, axis = 1, keep_dim = true), 1))));
/// let batches = [vec![vec![1.0, 2.0]], vec![vec![1.0, 2.0], vec![3.0]]];
/// let mut parameters = Parameters::create(&net)?;
/// let mut trainer = Trainer::new(Sgd::new(0.01));
/// let trained = trainer.train(&net, &mut parameters, batches, Options::default(), |_| Ok(()));
/// let Err(Error::BatchFailed(failed)) = trained else { panic!("the second batch does not fit") };
/// assert_eq!((failed.pass, failed.batch), (0, 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct BatchFailed {
    /// The number of the pass.
    pub pass: usize,
    /// The number of the batch within the pass.
    pub batch: usize,
    /// The error.
    pub error: Box<Error>,
}

impl fmt::Display for BatchFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchFailed { pass, batch, error } = self;
        write!(f, "pass {pass}, batch {batch}: {error}")
    }
}

impl error::Error for BatchFailed {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&*self.error)
    }
}

impl Error {
    /// The failed request for memory, if that is the error, wherever it happened. The call can be repeated once there
    /// is memory: parameters, trainers and files are unchanged.
    ///
    /// ```
    /// use paddle::{Parameters, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 1048576>| { let huge = fc(x, 1048576); huge });
    /// let error = Parameters::create(&net).unwrap_err();
    /// let wanted = error.out_of_memory().unwrap();
    /// assert_eq!(wanted.bytes, Some(1 << 42));
    /// assert!(error.to_string().ends_with("bytes for the parameter `huge.w`"), "{error}");
    /// ```
    pub fn out_of_memory(&self) -> Option<&OutOfMemory> {
        match self {
            Error::OutOfMemory(error)
            | Error::Batch(BatchError::OutOfMemory(error))
            | Error::Parameter(ParameterError::OutOfMemory(error))
            | Error::Plan(PlanError::OutOfMemory(error))
            | Error::Run(RunError::OutOfMemory(error)) => Some(error),
            Error::Wire(error) => error.out_of_memory(),
            Error::File(error) => error.out_of_memory(),
            Error::Reader(failed) => failed.failure.error().downcast_ref(),
            Error::BatchFailed(failed) => failed.error.out_of_memory(),
            Error::Convert(error) => error.out_of_memory(),
            _ => None,
        }
    }

    /// Adds the place within the reader, if the error is about a batch rather than the network or something else.
    pub(crate) fn of_batch(self, (pass, batch): (usize, usize)) -> Self {
        match self {
            Error::Batch(_) | Error::Run(_) | Error::CostNotFinite(_) | Error::Measure(_) => {
                BatchFailed { pass, batch, error: Box::new(self) }.into()
            }
            error => error,
        }
    }
}

/// Implements `From` and the text for each kind.
macro_rules! kinds {
    ($($(#[$when:meta])* $variant:ident($source:ty);)*) => {
        $($(#[$when])* impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Error::$variant(source)
            }
        })*

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$when])* Error::$variant(source) => fmt::Display::fmt(source, f),)*
                }
            }
        }

        impl fmt::Debug for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$when])* Error::$variant(source) if f.alternate() => {
                        f.debug_tuple(stringify!($variant)).field(source).finish()
                    })*
                    _ => fmt::Display::fmt(self, f),
                }
            }
        }

        impl error::Error for Error {
            fn source(&self) -> Option<&(dyn error::Error + 'static)> {
                match self {
                    $($(#[$when])* Error::$variant(source) => source.source(),)*
                }
            }
        }
    };
}

kinds! {
    Batch(BatchError);
    NoBatch(NoBatch);
    Reader(ReaderFailed);
    BatchFailed(BatchFailed);
    Parameter(ParameterError);
    Output(OutputError);
    Measure(MeasureError);
    Storage(StorageError);
    Gradient(GradientError);
    Build(BuildError);
    Bind(BindError);
    Verify(VerifyError);
    Wire(WireError);
    Convert(Box<ConvertError>);
    #[cfg(feature = "models")]
    Unsupported(Unsupported);
    #[cfg(feature = "models")]
    Legalise(LegaliseError);
    Plan(PlanError);
    Operator(OperatorError);
    Run(RunError);
    Cpu(CpuError);
    Device(DeviceError);
    File(FileError);
    OutOfMemory(OutOfMemory);
    Interrupt(InterruptError);
    Shards(NoShards);
    Setting(SettingError);
    CostNotFinite(CostNotFinite);
    #[cfg(feature = "language")]
    Language(paddle_language::Diagnostics);
    #[cfg(feature = "cluster")]
    Cluster(crate::cluster::ClusterError);
    Handler(Box<dyn error::Error + Send + Sync>);
}

impl From<ConvertError> for Error {
    fn from(error: ConvertError) -> Self {
        Error::Convert(Box::new(error))
    }
}

impl From<PassError> for Error {
    fn from(error: PassError) -> Self {
        match error {
            PassError::Gradient(error) => Error::Gradient(error),
            PassError::Build(error) => Error::Build(error),
            PassError::Verify(error) => Error::Verify(error),
            PassError::Switch(error) => Error::Plan(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_ends_with_the_text() {
        let error = Error::from(NoBatch);
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(format!("{error:#?}"), "NoBatch(\n    NoBatch,\n)");
    }
}
