//! Updates of parameters: a thread for each element, and then the powers.

use paddle_core::ops::{MOST_STATES, Once, Real, Rule, Update, WithRule};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, Unsigned, each};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;

impl Compile for Update {
    fn is_supported(&self, _: &[DType]) -> bool {
        !self.with_rule(IsScaled)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Items(shape), || self.with_rule(Step { update: self, call }));
        let behind = FIRST_STATE + self.states().len();
        let powers = self.powers();
        if !powers.iter().any(|power| power.advances) {
            return Ok(kernel);
        }
        Ok(kernel.stage(Grid::Items(vec![Extent::Fixed(1)]), || {
            each(Unsigned::of(1), |index| {
                for (k, power) in powers.iter().enumerate().filter(|(_, power)| power.advances) {
                    let value = call.input(behind + k);
                    value.set(index, value.float(index) * Float::of(power.rate));
                }
            });
        }))
    }
}

/// Whether a rule scales its step by norms.
struct IsScaled;

impl WithRule for IsScaled {
    type Output = bool;

    fn with<R: Rule>(self, _: R) -> bool {
        R::SCALED
    }
}

/// Writes the step for each element.
struct Step<'a> {
    update: &'a Update,
    call: Call<'a>,
}

impl WithRule for Step<'_> {
    type Output = ();

    fn with<R: Rule>(self, rule: R) {
        let Step { update, call } = self;
        let (zero, one) = (Float::constant(0.0), Float::constant(1.0));
        let (parameter, gradient) = (call.input(0), call.input(1));
        let states: Vec<_> = (0..R::STATES).map(|k| call.input(FIRST_STATE + k)).collect();
        let first = Unsigned::of(0);
        let mut once = Once { rate: call.input(2).float(first), powers: [one; 2], trust: one };
        for (k, power) in once.powers.iter_mut().enumerate().take(update.powers().len()) {
            *power = call.input(FIRST_STATE + update.states().len() + k).float(first);
        }
        let shared = rule.shared(once);
        each(parameter.elements(), |index| {
            let mut old = [zero; MOST_STATES];
            old.iter_mut().zip(&states).for_each(|(old, state)| *old = state.float(index));
            let (p, new) = R::step(&shared, parameter.float(index), gradient.float(index), old);
            parameter.set(index, p);
            states.iter().zip(new).for_each(|(state, value)| state.set(index, value));
        });
    }
}
