//! The search for a learning rate: the cost, as the rate rises from step to step.

use std::ops::Range;

use paddle_core::passes::optimize::Update;
use paddle_core::plan::Backend;
use paddle_core::program::BuildError;

use super::Trainer;
use super::steps::Steps;
use crate::Error;
use crate::batch::{Rows, RowsOf};
use crate::network::{Network, TrainableInPart};
use crate::options::Options;
use crate::parameters::Parameters;
use crate::reader::{IntoItem, Item};
use crate::setting::SettingError;
use crate::train_loop::{NoBatch, ReaderFailed};
use crate::updater::Updater;

/// How much of the smoothed cost is that of the steps before.
const SMOOTHING: f64 = 0.9;

/// The search ends where the smoothed cost is this many times the least one.
const TOO_HIGH: f64 = 4.0;

/// The costs that [`Trainer::find_rate`] found, by learning rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSearch {
    points: Vec<(f64, f64)>,
}

impl RateSearch {
    /// The rates of the steps, and the cost at each: a mean over this step and those before, of which the last ones count
    /// most.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The rate around which the cost falls fastest from step to step: one to begin with. `None` if it never falls.
    ///
    /// The slope at a step is that of a line through the costs of a tenth of all steps, by least squares, as batches differ.
    pub fn steepest(&self) -> Option<f64> {
        let width = (self.points.len() / 10).max(3);
        let slopes = self.points.windows(width).map(|around| (around[width / 2].0, slope(around)));
        let falling = slopes.filter(|(_, slope)| *slope < 0.0);
        falling.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(rate, _)| rate)
    }

    /// The rate at which the cost is least. It is nearly too large; a tenth of it is another one to begin with.
    pub fn least(&self) -> Option<f64> {
        self.points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|&(rate, _)| rate)
    }
}

/// By how much the line through these costs rises from one to the next, up to a factor that depends on their number.
fn slope(points: &[(f64, f64)]) -> f64 {
    let middle = (points.len() - 1) as f64 / 2.0;
    points.iter().enumerate().map(|(k, (_, cost))| (k as f64 - middle) * cost).sum()
}

/// An updater with a rate of its own, which rises.
struct Rising<'a> {
    updater: &'a dyn Updater,
    first: f64,
    factor: f64,
}

impl Updater for Rising<'_> {
    fn learning_rate(&self, step: u64) -> f64 {
        self.first * self.factor.powf(step as f64)
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        self.updater.update(update)
    }

    fn decouples_decay(&self) -> bool {
        self.updater.decouples_decay()
    }

    fn check(&self) -> Result<(), SettingError> {
        self.updater.check()
    }
}

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Searches a learning rate: trains a copy of the parameters for `steps` steps, whose rates rise by one factor from
    /// `rates.start` to `rates.end`. It ends before if the cost becomes four times the least one, or is not finite, or if
    /// the reader ends. Neither the parameters nor the trainer change, and the schedule of the updater does not matter.
    ///
    /// The method is that of Smith, "Cyclical learning rates for training neural networks", 2017, section 3.3, with rates
    /// that rise by a factor and a smoothed cost.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Reader};
    /// use paddle::{Adam, Options, Parameters, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row(0.0, 1.0), net.row(1.0, 3.0)];
    /// let parameters = Parameters::create(&net)?;
    /// let reader = rows.passes(100).batch(2);
    /// let search = Trainer::new(Adam::new(0.0)).find_rate(&net, &parameters, reader, &Options::default(), 1e-4..10.0, 100)?;
    /// let rate = search.steepest().unwrap();
    /// assert!((1e-2..5.0).contains(&rate), "{rate}");
    /// let trainer: Trainer<Adam> = Trainer::new(Adam::new(rate));
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Setting`] if the rates are not positive and rising; [`Error::NoBatch`] if there is no step with a finite
    /// cost; [`Error::Reader`] if the reader fails; and those of [`step_with`](Self::step_with), except that a cost is not
    /// finite.
    pub fn find_rate<S: TrainableInPart, R>(
        &self,
        net: &Network<S>,
        parameters: &Parameters<B>,
        reader: R,
        options: &Options,
        rates: Range<f64>,
        steps: usize,
    ) -> Result<RateSearch, Error>
    where
        R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
    {
        let Range { start: first, end } = rates;
        if !(first > 0.0 && first < end && end <= f32::MAX.into()) {
            let (found, expected) = (format!("{first}..{end}"), "positive, finite and rising".to_string());
            return Err(
                SettingError { setting: "the range of `find_rate`".to_string(), found, expected }.into()
            );
        }
        let factor = (end / first).powf(1.0 / steps.saturating_sub(1).max(1) as f64);
        let rising = Rising { updater: &self.updater, first, factor };
        let mut copy = parameters.copy()?;
        let mut search = Steps::new(self.updater.decouples_decay());
        (search.settings, search.seed) = (self.steps.settings, self.steps.seed);
        let (mut points, mut sum, mut least) = (Vec::new(), 0.0, f64::INFINITY);
        for item in reader {
            if points.len() == steps {
                break;
            }
            let batch = match item.into_item() {
                Item::Data(batch) => batch,
                Item::EndPass => continue,
                Item::Failed(failure) => {
                    return Err(ReaderFailed { pass: 0, batch: points.len(), failure }.into());
                }
            };
            let rows = RowsOf::<S, _>::new(&batch);
            let cost = match search.step(&rising, net.model()?, &mut copy, &rows, options) {
                Ok((_, step)) if step.cost.is_finite() => f64::from(step.cost),
                Ok(_) | Err(Error::CostNotFinite(_)) => break,
                Err(error) => return Err(error.of_batch((0, points.len()))),
            };
            sum = SMOOTHING * sum + (1.0 - SMOOTHING) * cost;
            let smoothed = sum / (1.0 - SMOOTHING.powf(points.len() as f64 + 1.0));
            points.push((rising.learning_rate(points.len() as u64), smoothed));
            least = smoothed.min(least);
            // Costs below 0 have no multiple that is too high.
            if least > 0.0 && smoothed > TOO_HIGH * least {
                break;
            }
        }
        if points.is_empty() { Err(NoBatch.into()) } else { Ok(RateSearch { points }) }
    }
}
