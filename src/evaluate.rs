//! Evaluation: the cost, the metrics and the outputs of a network over many batches.

use paddle_core::plan::Backend;

use crate::Error;
use crate::batch::{Rows, RowsOf};
use crate::infer::{Draws, Wanted, fetch, measure};
use crate::metrics::{Mean, Metric};
use crate::network::{Network, Spec};
use crate::outputs::{OutputError, Outputs};
use crate::parameters::Parameters;
use crate::reader::{IntoItem, Item};
use crate::train_loop::{NoBatch, ReaderFailed};

/// Evaluates a network on all batches of a reader, as it is in inference: nothing is dropped, and no statistics change.
/// Markers of passes are ignored. Random numbers differ from batch to batch, and are the same in each call.
///
/// Batches are weighted by their rows. A ratio, such as `accuracy(..)` or `sum(a) / sum(b)`, is weighted by its
/// denominator.
///
/// ```
/// use paddle::reader::Reader;
/// use paddle::{Parameters, network, test};
///
/// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
///     let far = sum(abs(y));
///     (mean(square(fc(x, 1) - y)), far)
/// });
/// let parameters = Parameters::create(&net)?;
/// let rows = [net.row([1.0, 0.0], 3.0), net.row([0.0, 1.0], 5.0), net.row([1.0, 1.0], 4.0)];
/// let tested = test(&net, &parameters, rows.into_iter().batch(2))?;
/// assert_eq!(tested.rows(), 3);
/// assert!(tested.cost() > 0.0);
/// assert_eq!(tested.metric("far"), Some((2.0 * 8.0 + 4.0) / 3.0));
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::Output`] if the first output is no cost, [`Error::NoBatch`] if the reader has no batch, [`Error::Reader`]
/// if it fails, and those of [`infer`](crate::infer()). An error of a batch is an [`Error::BatchFailed`].
pub fn test<S: Spec, B: Backend + Clone, R>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    reader: R,
) -> Result<Tested, Error>
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let model = net.model()?;
    if !model.outputs.first().is_some_and(|output| output.scalar) {
        return Err(OutputError::NoCost { network: model.signature.network.clone() }.into());
    }
    let names = model.metrics().map(|(_, spec)| spec.name.clone()).collect::<Vec<_>>();
    let (mut rows, mut cost) = (0, Mean::default());
    let mut metrics = vec![Mean::default(); names.len()];
    for_each_batch(reader, |batch, draws| {
        measure(model, parameters, &RowsOf::<S, _>::new(&batch), draws, &mut |count, of_batch, measured| {
            rows += count;
            cost.add(Metric { value: of_batch, weight: count as f64 });
            metrics.iter_mut().zip(measured.iter()).for_each(|(mean, metric)| mean.add(metric));
        })
    })?;
    let metrics = names.into_iter().zip(metrics.iter().map(Mean::value)).collect();
    Ok(Tested { rows, cost: cost.value(), metrics })
}

/// Runs a network on all batches of a reader, as [`infer`](crate::infer()) does, and calls `each` with the outputs of each
/// batch: so [`metrics`](crate::metrics) get theirs. Markers of passes are ignored. Random numbers differ from batch to
/// batch, and are the same in each call.
///
/// ```
/// use ndarray::ArrayViewD;
/// use paddle::metrics::{MeanAbsoluteError, Measure};
/// use paddle::reader::Reader;
/// use paddle::{Parameters, infer_each, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
///     let price = fc(x, 1, init = constant(2.0));
///     (price, y)
/// });
/// let rows = [net.row(1.0, 2.5), net.row(2.0, 4.0), net.row(3.0, 5.0)];
/// let mut error = MeanAbsoluteError::default();
/// infer_each(&net, &Parameters::create(&net)?, rows.iter().batch(2), |outputs| {
///     Ok(error.add((outputs.get("price")?, outputs.get("y")?))?)
/// })?;
/// assert_eq!(error.value(), 0.5);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoBatch`] if the reader has no batch, [`Error::Reader`] if it fails, those of [`infer`](crate::infer()), and those
/// of `each`. An error of a batch is an [`Error::BatchFailed`].
pub fn infer_each<S: Spec, B: Backend + Clone, R>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    reader: R,
    mut each: impl FnMut(&Outputs) -> Result<(), Error>,
) -> Result<(), Error>
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let model = net.model()?;
    for_each_batch(reader, |batch, draws| {
        let rows = RowsOf::<S, _>::new(&batch);
        each(&fetch(model, parameters, &rows, Wanted::OUTPUTS, Some(draws))?)
    })
}

/// Calls `each` with each batch of a reader, and with the random numbers that it draws.
fn for_each_batch<D>(
    reader: impl IntoIterator<Item: IntoItem<Data = D>>,
    mut each: impl FnMut(D, Draws) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut batches = 0;
    for item in reader {
        let batch = match item.into_item() {
            Item::Data(batch) => batch,
            Item::EndPass => continue,
            Item::Failed(failure) => return Err(ReaderFailed { pass: 0, batch: batches, failure }.into()),
        };
        let draws = Draws { seed: 0, step: batches as u64 };
        each(batch, draws).map_err(|error| error.of_batch((0, batches)))?;
        batches += 1;
    }
    if batches == 0 { Err(NoBatch.into()) } else { Ok(()) }
}

/// The result of [`test`](test()).
///
/// ```
/// use paddle::{Parameters, network, test};
///
/// let net = network!(|x: Tensor<f32, _>| {
///     let largest = max(x);
///     (mean(x), largest)
/// });
/// let tested = test(&net, &Parameters::create(&net)?, [vec![1.0, 2.0], vec![6.0]])?;
/// assert_eq!((tested.rows(), tested.cost()), (3, 3.0));
/// // A metric is weighted by rows, too: (2 · 2 + 6) / 3.
/// assert!(tested.metrics().eq([("largest", 10.0 / 3.0)]));
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    rows: usize,
    cost: f32,
    metrics: Vec<(String, f32)>,
}

impl Tested {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The mean cost of the batches, each weighted by its rows.
    pub fn cost(&self) -> f32 {
        self.cost
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<f32> {
        self.metrics.iter().find(|(metric, _)| metric == name).map(|&(_, value)| value)
    }

    /// All metrics, in the order in which the network returns them.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, f32)> {
        self.metrics.iter().map(|(name, value)| (name.as_str(), *value))
    }
}
