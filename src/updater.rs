//! Updaters: how a parameter follows from its gradient.

use paddle_core::ops;
use paddle_core::passes::optimize::Update;
use paddle_core::program::{BuildError, Program};

/// A rule that updates a parameter. It is written as operators of the program, so every backend has it.
pub trait Updater {
    /// The learning rate of the next step.
    fn learning_rate(&self) -> f64;

    /// Appends the operators that update one parameter.
    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError>;
}

/// Stochastic gradient descent: `p -= learning_rate · gradient`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    learning_rate: f64,
}

impl Sgd {
    /// With this learning rate.
    pub fn new(learning_rate: f64) -> Self {
        Sgd { learning_rate }
    }
}

impl Updater for Sgd {
    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        let inputs = [update.pair.parameter, update.learning_rate, update.pair.gradient];
        update.program.append_op(Program::GLOBAL, ops::Sgd, &inputs, update.site).map(drop)
    }
}
