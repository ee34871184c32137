//! Updaters: rules that compute a parameter's new value from its gradient.

mod averaged;
mod by_name;
pub mod schedule;
pub(crate) mod states;
mod table;

use paddle_core::passes::optimize::Update;
use paddle_core::program::BuildError;

pub use self::averaged::Averaged;
pub use self::by_name::ByName;
pub use self::schedule::Schedule;
pub use self::table::{
    AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Ftrl, Lamb, Momentum, RmsProp, Sgd,
};
use crate::setting::SettingError;

/// A rule that updates a parameter. It appends operators to the program, so every backend can run it.
///
/// The rule gets a gradient that has been clipped and then has decay added to it
/// ([`Trainer::clip`](crate::Trainer::clip), [`Trainer::decay`](crate::Trainer::decay)).
///
/// ```
/// use paddle::core::ops::{Binary, BinaryKind, Scale, Unary, UnaryKind};
/// use paddle::core::passes::optimize::Update;
/// use paddle::core::program::BuildError;
/// use paddle::{Parameters, Trainer, Updater, network};
///
/// /// Averages the gradient, and steps by the sign of the average.
/// struct SignOfAverage;
///
/// impl Updater for SignOfAverage {
///     fn learning_rate(&self, step: u64) -> f64 {
///         0.1 / (1.0 + step as f64)
///     }
///
///     fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
///         let (parameter, gradient) = (update.pair.parameter, update.pair.gradient);
///         let average = update.state("Average", 0.0)?;
///         let old = update.append(Scale { scale: 0.9, bias: 0.0 }, &[average])?;
///         let new = update.append(Scale { scale: 0.1, bias: 0.0 }, &[gradient])?;
///         let new = update.append(Binary { kind: BinaryKind::Add }, &[old[0], new[0]])?;
///         let sign = update.append(Unary::of(UnaryKind::Sign), &new)?;
///         let step = update.append(Binary { kind: BinaryKind::Mul }, &[sign[0], update.learning_rate])?;
///         let moved = update.append(Binary { kind: BinaryKind::Sub }, &[parameter, step[0]])?;
///         update.store(average, new[0])?;
///         update.store(parameter, moved[0])
///     }
/// }
///
/// let cost = network!(|x: Tensor<f32, _, 1>| {
///     let line = fc(x, 1, bias = false, param = "line", init = constant(1.0));
///     mean(line)
/// });
/// let mut parameters = Parameters::create(&cost)?;
/// let mut trainer = Trainer::new(SignOfAverage);
/// for _ in 0..2 {
///     trainer.step(&cost, &mut parameters, [cost.row(2.0)])?;
/// }
/// let line = parameters.get::<f32>("line.w")?;
/// assert!((line[[0, 0]] - (1.0 - 0.1 - 0.05)).abs() < 1e-6);
/// let average = trainer.state::<f32>(&parameters, "line.w", "Average")?;
/// assert!((average[[0, 0]] - 0.38).abs() < 1e-6);
/// # Ok::<(), paddle::Error>(())
/// ```
pub trait Updater {
    /// The learning rate of a step. Steps are counted from 0 for each network that the trainer trains. A rate that is
    /// negative or not finite ends the step with an error.
    fn learning_rate(&self, step: u64) -> f64;

    /// Appends the operators that update one parameter.
    ///
    /// # Errors
    /// The operators do not fit together, see [`Update::append`].
    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError>;

    /// Whether [`update`](Self::update) applies L2 decay itself, with the factor [`Update::decay`]. Otherwise decay is
    /// added to the gradient.
    fn decouples_decay(&self) -> bool {
        false
    }

    /// Checks the numbers of the rule, before the first step.
    ///
    /// # Errors
    /// The first number that is out of range.
    fn check(&self) -> Result<(), SettingError> {
        Ok(())
    }
}
