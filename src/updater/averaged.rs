//! Averages of parameters over the steps of a training.

use paddle_core::ops::{Binary, BinaryKind, Scale};
use paddle_core::passes::optimize::Update;
use paddle_core::plan::Backend;
use paddle_core::program::BuildError;

use super::Updater;
use super::states::States;
use crate::Error;
use crate::element::Values;
use crate::parameters::{ParameterError, Parameters};
use crate::setting::{Range, SettingError};
use crate::stored;

/// The slot of the sum of what a parameter was after each step, weighted.
const SUM: &str = "AverageSum";

/// The slot of the sum of the weights.
const WEIGHT: &str = "AverageWeight";

/// Another updater that keeps an average of each parameter, too: an exponential moving average (EMA) over the steps.
///
/// `s = decay · s + (1 - decay) · p` and `w = decay · w + (1 - decay)` after each step, from 0; the average is `s / w`. So it
/// is a mean of what the parameter was after all steps so far, in which a step counts `decay` times as much as the next one,
/// from the first step on. The division is that of Kingma and Ba, "Adam: a method for stochastic optimization", 2015,
/// section 3; averages of the kind are those of Polyak and Juditsky, "Acceleration of stochastic approximation by
/// averaging", 1992.
///
/// The steps are those of the other updater, bit for bit. The sums are states, so they are in checkpoints.
/// [`Trainer::averages`](crate::Trainer::averages) and [`Event::averages`](crate::Event::averages) give the averages as a
/// set of parameters, which is evaluated and saved like any other.
///
/// ```
/// use paddle::updater::Averaged;
/// use paddle::{Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(fc(x, 1, bias = false, param = "line", init = constant(0.0))));
/// let mut parameters = Parameters::create(&net)?;
/// let mut trainer = Trainer::new(Averaged::new(Sgd::new(1.0), 0.5));
/// for _ in 0..2 {
///     trainer.step(&net, &mut parameters, [1.0])?;
/// }
/// // It was -1, then -2.
/// assert_eq!(parameters.get::<f32>("line.w")?[[0, 0]], -2.0);
/// let average = (0.5 * -1.0 + 1.0 * -2.0) / 1.5;
/// assert!((trainer.averages(&parameters)?.get::<f32>("line.w")?[[0, 0]] - average).abs() < 1e-6);
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Averaged<U> {
    updater: U,
    decay: f64,
}

impl<U> Averaged<U> {
    /// Averages over about `1 / (1 - decay)` steps: 0.999 is usual, and more for long trainings. `decay` is at least 0 and
    /// less than 1.
    pub fn new(updater: U, decay: f64) -> Self {
        Averaged { updater, decay }
    }
}

impl<U: Updater> Updater for Averaged<U> {
    fn learning_rate(&self, step: u64) -> f64 {
        self.updater.learning_rate(step)
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        self.updater.update(update)?;
        let parameter = update.pair.parameter;
        let (sum, weight) = (update.state(SUM, 0.0)?, update.scalar_state(WEIGHT, 0.0)?);
        let (decay, share) = (self.decay, 1.0 - self.decay);
        let before = update.append(Scale { scale: decay, bias: 0.0 }, &[sum])?[0];
        let now = update.append(Scale { scale: share, bias: 0.0 }, &[parameter])?[0];
        let both = update.append(Binary { kind: BinaryKind::Add }, &[before, now])?[0];
        update.store(sum, both)?;
        let heavier = update.append(Scale { scale: decay, bias: share }, &[weight])?[0];
        update.store(weight, heavier)
    }

    fn decouples_decay(&self) -> bool {
        self.updater.decouples_decay()
    }

    fn check(&self) -> Result<(), SettingError> {
        Range::DecayRate.check("`decay` of `Averaged::new`", self.decay)?;
        self.updater.check()
    }
}

impl<B: Backend + Clone> States<B> {
    /// A copy of the parameters in which those that have an average have its value.
    pub(crate) fn averages(&self, parameters: &Parameters<B>) -> Result<Parameters<B>, Error> {
        let mut averages = parameters.copy()?;
        let mut found = false;
        for ((name, slot), stored) in self.iter().filter(|((_, slot), _)| *slot == SUM) {
            let read = |stored| stored::values(parameters.backend(), &self.buffers, stored);
            let weight = self.stored(name, WEIGHT).and_then(|weight| self.storage.find(&weight));
            let no_state = || ParameterError::NoSuchState { name: name.to_string(), slot: slot.to_string() };
            let weight = read(weight.ok_or_else(no_state)?)?;
            let average = divided(read(stored)?, &weight);
            averages.set_values(name, |_| Ok(average))?;
            found = true;
        }
        let none = || ParameterError::NoAverages;
        if found { Ok(averages) } else { Err(none().into()) }
    }
}

/// A sum divided by its weight, which is one number.
fn divided(mut sum: Values, weight: &Values) -> Values {
    match (&mut sum, weight) {
        (Values::F32(sum), Values::F32(weight)) => sum.iter_mut().for_each(|value| *value /= weight[0]),
        (Values::F64(sum), Values::F64(weight)) => sum.iter_mut().for_each(|value| *value /= weight[0]),
        _ => {}
    }
    sum
}
