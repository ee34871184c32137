//! Inference: the outputs of a network for rows.

use std::error;
use std::fmt;
use std::sync::Arc;

use ndarray::{ArrayViewD, IxDyn};
use paddle_core::memory::{OutOfMemory, try_collect, try_vec};
use paddle_core::passes::Pipeline;
use paddle_core::plan::{Backend, Executor, Numbers, RunStats, Storage};
use paddle_core::program::{DType, Program};

use crate::Error;
use crate::batch::{Rows, Shape};
use crate::element::{Element, Values};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::session::Session;

/// Computes the outputs of a network for a batch. Nothing is kept for a backward pass.
///
/// The plan is kept with the parameters, so a second call only computes.
pub fn infer<S: Spec, B: Backend + Clone>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    rows: impl Rows<S>,
) -> Result<Outputs, Error> {
    infer_with(net, parameters, rows, &[])
}

/// The same, and behind the outputs the values that the network taps under these names: `tap(x, "hidden")`. What is
/// not asked for is not computed.
pub fn infer_with<S: Spec, B: Backend + Clone>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    rows: impl Rows<S>,
    taps: &[&str],
) -> Result<Outputs, Error> {
    let model = net.model()?;
    parameters.with(|state| {
        let Plan { session, .. } = state.inference.plan(model, parameters, taps)?;
        session.compute(&rows, &[], &mut state.values)?;
        let names = model.outputs.iter().map(|spec| spec.name.as_str()).chain(taps.iter().copied());
        let outputs = names.enumerate().map(|(k, name)| fetch(&session.executor, k, name));
        let outputs = outputs.collect::<Result<_, _>>()?;
        Ok(Outputs { outputs, stats: session.executor.stats().clone() })
    })
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

/// Computes the cost and the metrics for a batch, and hands them on with its number of rows.
pub(crate) fn with_metrics<S: Spec, B: Backend + Clone>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    rows: impl Rows<S>,
    take: impl FnOnce(usize, f32, &Metrics),
) -> Result<(), Error> {
    let model = net.model()?;
    parameters.with(|state| {
        let Plan { session, metrics, .. } = state.inference.plan(model, parameters, &[])?;
        let count = session.compute(&rows, &[], &mut state.values)?;
        metrics.take(session, count);
        take(count, session.scalar(0) as f32, metrics);
        Ok(())
    })
}

/// What the network computes when it is used, and the taps of these names as further outputs.
fn in_use(model: &Model, taps: &[&str]) -> Result<(Program, Metrics), Error> {
    let mut program = model.program.clone();
    let mut outputs = program.outputs().to_vec();
    for name in taps {
        let found = program.taps().iter().find(|tap| tap.name == *name).map(|tap| tap.var);
        outputs.push(found.ok_or_else(|| OutputError::NoSuchTap {
            tap: name.to_string(),
            taps: program.taps().iter().map(|tap| tap.name.clone()).collect(),
        })?);
    }
    program.set_outputs(&outputs)?;
    let metrics = Metrics::new(model, &mut program)?;
    Pipeline::inference().run(&mut program)?;
    Ok((program, metrics))
}

/// The plans of the networks that were run with a set of parameters.
pub(crate) struct Inference<B: Backend> {
    plans: Vec<Plan<B>>,
}

/// A plan, and what it computes beside the outputs.
struct Plan<B: Backend> {
    taps: Vec<String>,
    session: Session<B>,
    metrics: Metrics,
}

impl<B: Backend> Inference<B> {
    pub(crate) fn new() -> Self {
        Inference { plans: Vec::new() }
    }
}

impl<B: Backend + Clone> Inference<B> {
    /// The plan of a network, made when it is first wanted.
    fn plan(
        &mut self,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        taps: &[&str],
    ) -> Result<&mut Plan<B>, Error> {
        let is_for = |plan: &Plan<B>| plan.session.is_for(model, parameters.identity()) && plan.taps == taps;
        let at = match self.plans.iter().position(is_for) {
            Some(at) => at,
            None => {
                self.plans.retain(|plan| plan.session.is_alive());
                let (program, metrics) = in_use(model, taps)?;
                let session = Session::new(model, &program, parameters, &Storage::new(), Numbers::Any)?;
                let taps = taps.iter().map(|name| name.to_string()).collect();
                self.plans.push(Plan { taps, session, metrics });
                self.plans.len() - 1
            }
        };
        Ok(&mut self.plans[at])
    }
}

/// What a network computed.
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
    /// Of sequences of sequences, those of the outer ones first.
    offsets: Vec<Vec<usize>>,
}

impl Outputs {
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
    pub fn at<T: Element>(&self, k: usize) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: k.to_string(), outputs: self.list() };
        self.outputs.get(k).ok_or_else(none)?.view()
    }

    /// The output of this name.
    pub fn get<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>, OutputError> {
        let none = || OutputError::NoSuch { output: name.to_string(), outputs: self.list() };
        self.outputs.iter().find(|output| output.name == name).ok_or_else(none)?.view()
    }

    /// Where each sequence begins among the tokens of the `k`-th output, and the number of tokens; none where its rows
    /// are no tokens. Of sequences of sequences, of the inner ones.
    pub fn offsets(&self, k: usize) -> Option<&[usize]> {
        self.levels(k).last().map(Vec::as_slice)
    }

    /// The same for each level of sequences of sequences: those of the outer ones first, which begin among the inner ones.
    pub fn levels(&self, k: usize) -> &[Vec<usize>] {
        self.outputs.get(k).map_or(&[], |output| &output.offsets)
    }

    /// On how many rows the network's products ran.
    pub fn stats(&self) -> &RunStats {
        &self.stats
    }

    fn list(&self) -> Vec<String> {
        self.names().map(str::to_string).collect()
    }
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

/// Why an output cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputError {
    /// There is no such output.
    NoSuch {
        /// Its name or number.
        output: String,
        /// The names that there are.
        outputs: Vec<String>,
    },
    /// The network taps no value under this name.
    NoSuchTap {
        /// The name.
        tap: String,
        /// The names that there are.
        taps: Vec<String>,
    },
    /// The network has no cost: its first output is not one floating-point number.
    NoCost {
        /// The network.
        network: String,
    },
    /// It has another element type.
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
