//! Updates of parameters. Formulas are evaluated in the stored type, norms in `f64`.

use paddle_core::ops::{MOST_STATES, Once, Power, Real, Rule, Update, WithRule};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;

impl Evaluate for Update {
    /// The new parameter, states and powers.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let count = FIRST_STATE + self.states().len() + self.powers().len();
        Ok(apply(self, (0..count).map(|k| call.read(k)).collect()))
    }
}

/// The new parameter, states and powers, from the values of the operands.
pub(super) fn apply(update: &Update, operands: Vec<Values>) -> Vec<Values> {
    macro_rules! apply {
        ($kind:ident) => {{
            let operands = operands.iter().map(|values| match values {
                Values::$kind(values) => values.clone(),
                other => panic!("an update needs one type, not also {}", other.dtype()),
            });
            let apply = Apply { operands: operands.collect(), powers: update.powers() };
            update.with_rule(apply).into_iter().map(Values::$kind).collect()
        }};
    }
    match &operands[0] {
        Values::F32(_) => apply!(F32),
        Values::F64(_) => apply!(F64),
        other => panic!("an update needs floating-point numbers, not {}", other.dtype()),
    }
}

/// The norm: the root of a sum of squares. The sum also adds up the rounding errors of its additions (Neumaier 1974).
/// So it is nearer to the exact norm than any result that is compared with it, even for many numbers.
fn norm(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for square in values.map(|value| value * value) {
        let next = sum + square;
        lost += if sum > square { (sum - next) + square } else { (square - next) + sum };
        sum = next;
    }
    (sum + lost).sqrt()
}

struct Apply<T> {
    operands: Vec<Vec<T>>,
    powers: Vec<Power>,
}

impl<T: Real + Into<f64>> WithRule for Apply<T> {
    type Output = Vec<Vec<T>>;

    fn with<R: Rule>(self, rule: R) -> Vec<Vec<T>> {
        let (one, zero) = (T::of(1.0), T::of(0.0));
        let (states, powers) = self.operands[FIRST_STATE..].split_at(R::STATES);
        let mut once = Once { rate: self.operands[2][0], powers: [one; 2], trust: one };
        for (power, operand) in once.powers.iter_mut().zip(powers) {
            *power = operand[0];
        }
        let elements: Vec<(T, T, [T; MOST_STATES])> = (0..self.operands[0].len())
            .map(|i| {
                let mut old = [zero; MOST_STATES];
                old.iter_mut().zip(states).for_each(|(old, state)| *old = state[i]);
                (self.operands[0][i], self.operands[1][i], old)
            })
            .collect();
        if R::SCALED {
            let shared = rule.shared(once);
            let of_parameter = norm(elements.iter().map(|&(p, ..)| p.into()));
            let directions = elements.iter().map(|&(p, g, states)| R::direction(&shared, p, g, states));
            let of_direction = norm(directions.map(Into::into));
            if of_parameter > 0.0 && of_direction > 0.0 {
                once.trust = T::of(of_parameter / of_direction);
            }
        }
        let shared = rule.shared(once);
        let mut results = vec![Vec::with_capacity(elements.len()); 1 + R::STATES];
        for (p, g, old) in elements {
            let (p, new) = R::step(&shared, p, g, old);
            results.iter_mut().zip(std::iter::once(p).chain(new)).for_each(|(all, value)| all.push(value));
        }
        let advancing = self.powers.iter().zip(once.powers).filter(|(power, _)| power.advances);
        results.extend(advancing.map(|(power, value)| vec![value * T::of(power.rate)]));
        results
    }
}
