//! Inference: computes the outputs of a network for rows.

mod pool;
mod profiled;

use std::sync::Arc;

use paddle_core::plan::{Backend, Precision};

use self::pool::Plan;
pub(crate) use self::pool::{Draws, Inference, Wanted};
pub(crate) use self::profiled::inference;
use crate::Error;
use crate::batch::{AnyRows, Rows, RowsOf};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::outputs::Outputs;
use crate::parameters::Parameters;

/// Computes the outputs of a network for a batch, as in use rather than in training: nothing is dropped, batch
/// normalisation uses the statistics of the training, and nothing is kept for a backward pass.
///
/// The plan is kept with the parameters, so a second call only computes. Calls on several threads run side by side,
/// each with a plan of its own. At most as many idle plans of a network are kept as there are cores.
///
/// Random numbers that the network draws (`gaussian_random(x, 8)`) differ between calls: the n-th call for a network
/// and a set of parameters draws the numbers of the n-th step of a training. So a program that is run again draws the
/// same numbers, unless its threads call in another order. With [`InferOptions::seed`], the numbers depend only on a
/// seed.
///
/// ```
/// use paddle::{InferOptions, Parameters, infer, infer_with, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| x + gaussian_random(x, 2));
/// let parameters = Parameters::create(&net)?;
/// let sample = || infer(&net, &parameters, [[1.0, 2.0]]);
/// assert_ne!(sample()?.at::<f32>(0)?, sample()?.at::<f32>(0)?);
/// let seeded = |seed| infer_with(&net, &parameters, [[1.0, 2.0]], InferOptions::default().seed(seed));
/// assert_eq!(seeded(7)?.at::<f32>(0)?, seeded(7)?.at::<f32>(0)?);
/// assert_ne!(seeded(7)?.at::<f32>(0)?, seeded(8)?.at::<f32>(0)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Batch`] if the rows do not fit the network; [`Error::Plan`] if these parameters are not those of the
/// network; [`Error::Run`] if an operator fails (a position behind the end of a sequence, an id that a table does not
/// have), with its place in the source; one of them, or [`Error::OutOfMemory`], if there is no memory.
pub fn infer<S: Spec, B: Backend + Clone>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    rows: impl Rows<S>,
) -> Result<Outputs, Error> {
    infer_with(net, parameters, rows, InferOptions::default())
}

/// Like [`infer`], with settings. The names of taps alone are settings, too: `infer_with(&net, &parameters, rows,
/// &["hidden"])`.
///
/// ```
/// use paddle::{InferOptions, Parameters, infer_with, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| {
///     let hidden = tap(fc(x, 3, act = relu), "hidden");
///     fc(hidden, 1)
/// });
/// let parameters = Parameters::create(&net)?;
/// let outputs = infer_with(&net, &parameters, [[1.0, 2.0]], &["hidden"])?;
/// assert_eq!(outputs.get::<f32>("hidden")?.shape(), [1, 3]);
/// let options = InferOptions::default().taps(["hidden"]).seed(7);
/// assert_eq!(infer_with(&net, &parameters, [[1.0, 2.0]], options)?.len(), 2);
/// assert!(infer_with(&net, &parameters, [[1.0, 2.0]], &["hiden"]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`infer`], and [`Error::Output`] if the network taps no value under one of the names.
pub fn infer_with<'t, S: Spec, B: Backend + Clone>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    rows: impl Rows<S>,
    options: impl Into<InferOptions<'t>>,
) -> Result<Outputs, Error> {
    let (model, options) = (net.model()?, options.into());
    fetch(model, parameters, &RowsOf::<S, _>::new(&rows), options.wanted(), options.draws())
}

/// Settings of one call of [`infer_with`].
///
/// ```
/// use paddle::InferOptions;
///
/// let options = InferOptions::default().taps(["hidden"]).seed(7);
/// // Names alone.
/// assert_eq!(InferOptions::from(&["hidden"]), InferOptions::default().taps(["hidden"]));
/// assert_ne!(InferOptions::from(&["hidden"]), options);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferOptions<'t> {
    taps: Vec<&'t str>,
    seed: Option<u64>,
    precision: Precision,
}

impl<'t> InferOptions<'t> {
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { taps: &self.taps, precision: self.precision }
    }

    /// The random numbers that are asked for; none for those of the network's next call.
    pub(crate) fn draws(&self) -> Option<Draws> {
        self.seed.map(|seed| Draws { seed, step: 0 })
    }

    /// Adds the values that the network taps under these names, `tap(x, "hidden")`, behind the outputs. Other taps
    /// are not computed.
    pub fn taps(mut self, names: impl IntoIterator<Item = &'t str>) -> Self {
        self.taps.extend(names);
        self
    }

    /// Draws random numbers from this seed: all calls with the same seed draw the same numbers, on any thread.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Computes products of `f32` matrices, and convolutions, in this precision, as
    /// [`Options::precision`](crate::Options::precision) does in a training. Parameters that are factors are rounded once for
    /// all calls until they change.
    ///
    /// ```
    /// use paddle::{InferOptions, Parameters, Precision, infer, infer_with, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 64>| fc(x, 64));
    /// let parameters = Parameters::create(&net)?;
    /// let half = InferOptions::default().precision(Precision::Bf16);
    /// let (exact, rounded) = (infer(&net, &parameters, [[0.1; 64]])?, infer_with(&net, &parameters, [[0.1; 64]], half)?);
    /// for (exact, rounded) in exact.at::<f32>(0)?.iter().zip(rounded.at::<f32>(0)?) {
    ///     assert!(exact != rounded && (exact - rounded).abs() < 0.02);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }
}

impl<'t> From<&[&'t str]> for InferOptions<'t> {
    fn from(taps: &[&'t str]) -> Self {
        InferOptions::default().taps(taps.iter().copied())
    }
}

impl<'t> From<&Vec<&'t str>> for InferOptions<'t> {
    fn from(taps: &Vec<&'t str>) -> Self {
        taps[..].into()
    }
}

impl<'t, const N: usize> From<&[&'t str; N]> for InferOptions<'t> {
    fn from(taps: &[&'t str; N]) -> Self {
        taps[..].into()
    }
}

/// Computes a batch, and copies its outputs and these taps.
#[inline(never)]
pub(crate) fn fetch<B: Backend + Clone>(
    model: &Arc<Model>,
    parameters: &Parameters<B>,
    rows: &dyn AnyRows,
    wanted: Wanted<'_>,
    draws: Option<Draws>,
) -> Result<Outputs, Error> {
    let names = model.outputs.iter().map(|spec| spec.name.as_str()).chain(wanted.taps.iter().copied());
    run(model, parameters, rows, wanted, draws, |plan, _| {
        Ok(Outputs::fetch(&plan.session, names, plan.spare())?)
    })
}

/// Computes the cost and the metrics for a batch, and calls `take` with the number of rows, the cost and the metrics.
#[inline(never)]
pub(crate) fn measure<B: Backend + Clone>(
    model: &Arc<Model>,
    parameters: &Parameters<B>,
    rows: &dyn AnyRows,
    draws: Draws,
    take: &mut dyn FnMut(usize, f32, &Metrics),
) -> Result<(), Error> {
    run(model, parameters, rows, Wanted::OUTPUTS, Some(draws), |Plan { session, metrics, .. }, count| {
        metrics.take(session, count);
        take(count, session.scalar(0) as f32, metrics);
        Ok(())
    })
}

/// Computes a batch with a plan that no other call uses at the same time. Without `draws`, it draws the numbers of
/// the network's next call.
fn run<B: Backend + Clone, R>(
    model: &Arc<Model>,
    parameters: &Parameters<B>,
    rows: &dyn AnyRows,
    wanted: Wanted<'_>,
    draws: Option<Draws>,
    take: impl FnOnce(&mut Plan<B>, usize) -> Result<R, Error>,
) -> Result<R, Error> {
    let mut plan = parameters.inference().take(model, parameters, wanted)?;
    let draws = draws.unwrap_or_else(|| plan.next_draws());
    let computed = plan.compute(rows, draws, parameters);
    let result = computed.and_then(|count| take(&mut plan, count));
    parameters.inference().give_back(plan);
    result
}
