//! Another rule for each parameter.

use std::collections::BTreeMap;

use paddle_core::ops;
use paddle_core::passes::optimize::Update;
use paddle_core::program::BuildError;

use super::Updater;
use super::schedule::{Rate, Schedule};

/// An updater with a rule for each parameter, by its name. Parameters without a rule stay as they are.
///
/// The rules are operators of the table of updates, as programs have them.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use paddle::core::ops;
/// use paddle::updater::ByName;
/// use paddle::{Parameters, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| {
///     let line = fc(x, 1, init = constant(1.0));
///     mean(line)
/// });
/// let mut parameters = Parameters::create(&net)?;
/// let rules: BTreeMap<String, ops::Update> = [("line.w".to_string(), ops::Sgd {}.into())].into();
/// Trainer::new(ByName::new(0.5, rules)).step(&net, &mut parameters, [1.0])?;
/// assert_eq!(parameters.get::<f32>("line.w")?[[0, 0]], 0.5);
/// assert_eq!(parameters.get::<f32>("line.b")?[[0]], 0.0);
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByName {
    rate: Rate,
    rules: BTreeMap<String, ops::Update>,
}

impl ByName {
    /// An updater with these rules and this learning rate: a number, or a [`Schedule`].
    pub fn new(rate: impl Schedule + 'static, rules: BTreeMap<String, ops::Update>) -> Self {
        ByName { rate: Rate::new(rate), rules }
    }

    /// The same rules with another learning rate.
    #[cfg(feature = "models")]
    pub(crate) fn at(&self, rate: impl Schedule + 'static) -> Self {
        ByName { rate: Rate::new(rate), rules: self.rules.clone() }
    }
}

impl Updater for ByName {
    fn learning_rate(&self, step: u64) -> f64 {
        self.rate.at(step)
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        let name = &update.program.var(update.pair.parameter).name;
        match self.rules.get(name) {
            Some(rule) => update.apply(*rule),
            None => Ok(()),
        }
    }
}
