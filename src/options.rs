//! Settings of one call of [`Trainer::train`](crate::Trainer::train).

use paddle_core::plan::Numbers;

use crate::parameter_name::ParameterGroup;

/// Settings of one call of [`Trainer::train`](crate::Trainer::train), or of a [`step`](crate::Trainer::step_with).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// In any order.
    pub(crate) frozen: Vec<ParameterGroup>,
    pub(crate) numbers: Numbers,
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

    /// With an error at the first operator that gives NaN or an infinity, which names it, its place in the source and
    /// the step. Steps are slow: nothing is fused, and every value is looked at.
    pub fn check_numbers(mut self) -> Self {
        self.numbers = Numbers::Finite;
        self
    }
}
