//! Settings of one call of [`Trainer::train`](crate::Trainer::train).

use crate::parameter_name::ParameterGroup;

/// Settings of one call of [`Trainer::train`](crate::Trainer::train), or of a [`step`](crate::Trainer::step_with).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    frozen: Vec<ParameterGroup>,
}

impl Options {
    /// With parameters that stay as they are: `Options::default().freeze(gan::params::D)`.
    ///
    /// Gradients flow through what they are used for, but they get none themselves: their values, what the updater
    /// keeps of them, and statistics among them keep every bit. Other calls may train them.
    pub fn freeze(mut self, parameters: impl Into<ParameterGroup>) -> Self {
        self.frozen.push(parameters.into());
        self
    }

    /// What is frozen. The order is of no account.
    pub(crate) fn frozen(&self) -> &[ParameterGroup] {
        &self.frozen
    }
}
