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

/// A parameter's element and its states.
type Element<T> = (T, [T; MOST_STATES]);

// What does not depend on the rule is compiled once, and not for each of them.
impl<T: Real> Apply<T> {
    /// What all elements share, from the operands behind so many states.
    fn once(&self, states: usize) -> Once<T> {
        let mut once = Once { rate: self.operands[2][0], powers: [T::of(1.0); 2], trust: T::of(1.0) };
        for (power, operand) in once.powers.iter_mut().zip(&self.operands[FIRST_STATE + states..]) {
            *power = operand[0];
        }
        once
    }

    /// Each element before the update, of so many states.
    fn elements(&self, states: usize) -> Vec<Element<T>> {
        let states = &self.operands[FIRST_STATE..][..states];
        let element = |i: usize| {
            let mut old = [T::of(0.0); MOST_STATES];
            old.iter_mut().zip(states).for_each(|(old, state)| *old = state[i]);
            (self.operands[0][i], old)
        };
        (0..self.operands[0].len()).map(element).collect()
    }

    /// The new parameter, its states and powers, from the new elements.
    fn results(&self, new: &[Element<T>], states: usize, once: &Once<T>) -> Vec<Vec<T>> {
        let parameter = new.iter().map(|element| element.0).collect();
        let states = (0..states).map(|k| new.iter().map(|element| element.1[k]).collect());
        let advancing = self.powers.iter().zip(once.powers).filter(|(power, _)| power.advances);
        let powers = advancing.map(|(power, value)| vec![value * T::of(power.rate)]);
        std::iter::once(parameter).chain(states).chain(powers).collect()
    }
}

impl<T: Real + Into<f64>> WithRule for Apply<T> {
    type Output = Vec<Vec<T>>;

    fn with<R: Rule>(self, rule: R) -> Vec<Vec<T>> {
        let (mut once, mut elements, gradient) =
            (self.once(R::STATES), self.elements(R::STATES), &self.operands[1]);
        if R::SCALED {
            let shared = rule.shared(once);
            let of_parameter = norm(elements.iter().map(|&(p, _)| p.into()));
            let directions = elements.iter().zip(gradient);
            let of_direction =
                norm(directions.map(|(&(p, states), &g)| R::direction(&shared, p, g, states).into()));
            if of_parameter > 0.0 && of_direction > 0.0 {
                once.trust = T::of(of_parameter / of_direction);
            }
        }
        let shared = rule.shared(once);
        for (element, g) in elements.iter_mut().zip(gradient) {
            *element = R::step(&shared, element.0, *g, element.1);
        }
        self.results(&elements, R::STATES, &once)
    }
}
