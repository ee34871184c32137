//! The formulas of the updates, for one element.

use super::{AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Ftrl, Lamb, Momentum, RmsProp, Sgd};
use crate::ops::Real;

/// The largest number of states that a rule keeps for one element of the parameter.
pub const MOST_STATES: usize = 3;

/// The numbers that are the same for all elements of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Once<T> {
    /// The learning rate.
    pub rate: T,
    /// The powers of the decay rates, in order; the rest are ones.
    pub powers: [T; 2],
    /// The norm of the parameter divided by that of the rule's [`direction`](Rule::direction), if the rule scales by
    /// it.
    pub trust: T,
}

/// The formula of an update, which all backends evaluate.
pub trait Rule: Copy + Send + Sync + 'static {
    /// The number of states for one element of the parameter.
    const STATES: usize;
    /// Whether the step is scaled by a ratio of norms over the whole parameter.
    const SCALED: bool = false;

    /// The numbers that are computed once for all elements.
    type Shared<T: Real>: Copy;

    /// Computes the numbers that all elements share.
    fn shared<T: Real>(&self, once: Once<T>) -> Self::Shared<T>;

    /// The new element of the parameter and its new states, from the old ones and the gradient.
    fn step<T: Real>(
        shared: &Self::Shared<T>,
        parameter: T,
        gradient: T,
        states: [T; MOST_STATES],
    ) -> (T, [T; MOST_STATES]);

    /// The direction of the step before it is scaled. Only rules that are [`SCALED`](Self::SCALED) have one.
    #[inline(always)]
    fn direction<T: Real>(
        _shared: &Self::Shared<T>,
        _parameter: T,
        gradient: T,
        _states: [T; MOST_STATES],
    ) -> T {
        gradient
    }
}

/// An action on the rule of an [`Update`](super::Update). With it, a loop around the formula is compiled once per rule.
pub trait WithRule {
    /// The result.
    type Output;
    /// Performs the action on this rule.
    fn with<R: Rule>(self, rule: R) -> Self::Output;
}

/// Counts the states.
struct States;

impl WithRule for States {
    type Output = usize;

    fn with<R: Rule>(self, _rule: R) -> usize {
        R::STATES
    }
}

/// Implements the rows of the table that have a single rule.
macro_rules! rows {
    ($($row:ident),*) => {$(
        impl $row {
            pub(super) fn with_rule<W: WithRule>(&self, action: W) -> W::Output {
                action.with(*self)
            }

            pub(super) fn states(&self) -> usize {
                self.with_rule(States)
            }
        }
    )*};
}
rows!(AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Lamb, Momentum, Sgd);

fn one<T: Real>() -> T {
    T::of(1.0)
}

/// `rate · average + (1 - rate) · value`.
#[inline(always)]
fn advance<T: Real>(rate: T, average: T, value: T) -> T {
    rate * average + (one::<T>() - rate) * value
}

impl Rule for Sgd {
    const STATES: usize = 0;
    type Shared<T: Real> = T;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> T {
        once.rate
    }

    #[inline(always)]
    fn step<T: Real>(rate: &T, p: T, g: T, states: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        (p - *rate * g, states)
    }
}

/// The shared numbers of [`Momentum`].
#[derive(Clone, Copy, Debug)]
pub struct MomentumShared<T> {
    rate: T,
    mu: T,
    decay: T,
    rescale: T,
    nesterov: bool,
}

impl Rule for Momentum {
    const STATES: usize = 1;
    type Shared<T: Real> = MomentumShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> MomentumShared<T> {
        MomentumShared {
            rate: once.rate,
            mu: T::of(self.mu),
            decay: T::of(self.regularization_coeff),
            rescale: T::of(self.rescale_grad),
            nesterov: self.use_nesterov,
        }
    }

    #[inline(always)]
    fn step<T: Real>(
        c: &MomentumShared<T>,
        p: T,
        g: T,
        [v, a, b]: [T; MOST_STATES],
    ) -> (T, [T; MOST_STATES]) {
        let g = c.rescale * g + c.decay * p;
        let v = c.mu * v + g;
        (p - c.rate * if c.nesterov { g + c.mu * v } else { v }, [v, a, b])
    }
}

/// The shared numbers of [`Adam`], [`AdamW`] and [`Adamax`].
#[derive(Clone, Copy, Debug)]
pub struct AdamShared<T> {
    rate: T,
    beta1: T,
    beta2: T,
    epsilon: T,
    /// The factor by which the parameter is multiplied first.
    kept: T,
}

impl Adam {
    #[inline(always)]
    fn numbers<T: Real>(&self, once: Once<T>, kept: T) -> AdamShared<T> {
        let root = (one::<T>() - once.powers[1]).sqrt();
        AdamShared {
            rate: once.rate * root / (one::<T>() - once.powers[0]),
            beta1: T::of(self.beta1),
            beta2: T::of(self.beta2),
            epsilon: T::of(self.epsilon) * root,
            kept,
        }
    }
}

impl Rule for Adam {
    const STATES: usize = 2;
    type Shared<T: Real> = AdamShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> AdamShared<T> {
        self.numbers(once, one())
    }

    #[inline(always)]
    fn step<T: Real>(c: &AdamShared<T>, p: T, g: T, [m, v, a]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let (m, v) = (advance(c.beta1, m, g), advance(c.beta2, v, g * g));
        (p - c.rate * (m / (v.sqrt() + c.epsilon)), [m, v, a])
    }
}

impl Rule for AdamW {
    const STATES: usize = 2;
    type Shared<T: Real> = AdamShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> AdamShared<T> {
        let AdamW { beta1, beta2, epsilon, lr_ratio, coeff } = *self;
        let rate = once.rate * T::of(lr_ratio);
        let kept = one::<T>() - rate * T::of(coeff);
        Adam { beta1, beta2, epsilon, lazy_mode: false }.numbers(Once { rate, ..once }, kept)
    }

    #[inline(always)]
    fn step<T: Real>(c: &AdamShared<T>, p: T, g: T, states: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        Adam::step(c, p * c.kept, g, states)
    }
}

impl Rule for Adamax {
    const STATES: usize = 2;
    type Shared<T: Real> = AdamShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> AdamShared<T> {
        AdamShared {
            rate: once.rate / (one::<T>() - once.powers[0]),
            beta1: T::of(self.beta1),
            beta2: T::of(self.beta2),
            epsilon: T::of(self.epsilon),
            kept: one(),
        }
    }

    #[inline(always)]
    fn step<T: Real>(c: &AdamShared<T>, p: T, g: T, [m, n, a]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let (m, n) = (advance(c.beta1, m, g), g.abs().max(c.beta2 * n + c.epsilon));
        (p - c.rate * (m / n), [m, n, a])
    }
}

/// The shared numbers of [`Lamb`].
#[derive(Clone, Copy, Debug)]
pub struct LambShared<T> {
    /// The learning rate times the ratio of norms.
    rate: T,
    beta1: T,
    beta2: T,
    epsilon: T,
    decay: T,
    /// The divisors that correct averages that began at zero.
    corrections: [T; 2],
}

impl Rule for Lamb {
    const STATES: usize = 2;
    const SCALED: bool = true;
    type Shared<T: Real> = LambShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> LambShared<T> {
        let scaled = self.always_adapt || self.weight_decay > 0.0;
        LambShared {
            rate: once.rate * if scaled { once.trust } else { one() },
            beta1: T::of(self.beta1),
            beta2: T::of(self.beta2),
            epsilon: T::of(self.epsilon),
            decay: T::of(self.weight_decay),
            corrections: [one::<T>() - once.powers[0], one::<T>() - once.powers[1]],
        }
    }

    #[inline(always)]
    fn step<T: Real>(c: &LambShared<T>, p: T, g: T, states: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let [m, v, a] = states;
        let direction = Self::direction(c, p, g, states);
        (p - c.rate * direction, [advance(c.beta1, m, g), advance(c.beta2, v, g * g), a])
    }

    #[inline(always)]
    fn direction<T: Real>(c: &LambShared<T>, p: T, g: T, [m, v, _]: [T; MOST_STATES]) -> T {
        let (m, v) = (advance(c.beta1, m, g), advance(c.beta2, v, g * g));
        let [first, second] = c.corrections;
        (m / first) / ((v / second).sqrt() + c.epsilon) + c.decay * p
    }
}

/// The shared numbers of the rules that divide by the root of an average of squares.
#[derive(Clone, Copy, Debug)]
pub struct SquareShared<T> {
    rate: T,
    decay: T,
    momentum: T,
    epsilon: T,
}

impl Rule for Adagrad {
    const STATES: usize = 1;
    type Shared<T: Real> = SquareShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> SquareShared<T> {
        SquareShared { rate: once.rate, decay: one(), momentum: one(), epsilon: T::of(self.epsilon) }
    }

    #[inline(always)]
    fn step<T: Real>(c: &SquareShared<T>, p: T, g: T, [m, a, b]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let m = m + g * g;
        (p - c.rate * g / (m.sqrt() + c.epsilon), [m, a, b])
    }
}

impl Rule for DecayedAdagrad {
    const STATES: usize = 1;
    type Shared<T: Real> = SquareShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> SquareShared<T> {
        let (decay, epsilon) = (T::of(self.decay), T::of(self.epsilon));
        SquareShared { rate: once.rate, decay, momentum: one(), epsilon }
    }

    #[inline(always)]
    fn step<T: Real>(c: &SquareShared<T>, p: T, g: T, [m, a, b]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let m = advance(c.decay, m, g * g);
        (p - c.rate * g / (m.sqrt() + c.epsilon), [m, a, b])
    }
}

impl Rule for AdaDelta {
    const STATES: usize = 2;
    type Shared<T: Real> = SquareShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> SquareShared<T> {
        let (decay, epsilon) = (T::of(self.rho), T::of(self.epsilon));
        SquareShared { rate: once.rate, decay, momentum: one(), epsilon }
    }

    #[inline(always)]
    fn step<T: Real>(c: &SquareShared<T>, p: T, g: T, [s, u, a]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let s = advance(c.decay, s, g * g);
        let change = -(((u + c.epsilon) / (s + c.epsilon)).sqrt() * g);
        (p + c.rate * change, [s, advance(c.decay, u, change * change), a])
    }
}

/// [`RmsProp`] with or without the average of the gradient.
#[derive(Clone, Copy, Debug)]
struct RmsPropRule<const CENTERED: bool>(RmsProp);

impl RmsProp {
    pub(super) fn with_rule<W: WithRule>(&self, action: W) -> W::Output {
        match self.centered {
            true => action.with(RmsPropRule::<true>(*self)),
            false => action.with(RmsPropRule::<false>(*self)),
        }
    }

    pub(super) fn states(&self) -> usize {
        self.with_rule(States)
    }
}

impl<const CENTERED: bool> Rule for RmsPropRule<CENTERED> {
    const STATES: usize = if CENTERED { 3 } else { 2 };
    type Shared<T: Real> = SquareShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> SquareShared<T> {
        let RmsProp { epsilon, decay, momentum, .. } = self.0;
        let (decay, momentum, epsilon) = (T::of(decay), T::of(momentum), T::of(epsilon));
        SquareShared { rate: once.rate, decay, momentum, epsilon }
    }

    #[inline(always)]
    fn step<T: Real>(c: &SquareShared<T>, p: T, g: T, [m, s, a]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        let s = advance(c.decay, s, g * g);
        let (a, variance) = match CENTERED {
            true => {
                let a = advance(c.decay, a, g);
                (a, s - a * a)
            }
            false => (a, s),
        };
        let m = c.momentum * m + c.rate * g / (variance + c.epsilon).sqrt();
        (p - m, [m, s, a])
    }
}

/// [`Ftrl`] with the square root, or with any power.
#[derive(Clone, Copy, Debug)]
struct FtrlRule<const ROOT: bool>(Ftrl);

/// The shared numbers of [`Ftrl`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FtrlShared<T> {
    rate: T,
    l1: T,
    l2: T,
    power: T,
}

impl Ftrl {
    pub(super) fn with_rule<W: WithRule>(&self, action: W) -> W::Output {
        match self.lr_power == -0.5 {
            true => action.with(FtrlRule::<true>(*self)),
            false => action.with(FtrlRule::<false>(*self)),
        }
    }

    pub(super) fn states(&self) -> usize {
        self.with_rule(States)
    }
}

impl<const ROOT: bool> Rule for FtrlRule<ROOT> {
    const STATES: usize = 2;
    type Shared<T: Real> = FtrlShared<T>;

    #[inline(always)]
    fn shared<T: Real>(&self, once: Once<T>) -> FtrlShared<T> {
        let Ftrl { l1, l2, lr_power } = self.0;
        FtrlShared { rate: once.rate, l1: T::of(l1), l2: T::of(l2), power: T::of(-lr_power) }
    }

    #[inline(always)]
    fn step<T: Real>(c: &FtrlShared<T>, p: T, g: T, [n, z, a]: [T; MOST_STATES]) -> (T, [T; MOST_STATES]) {
        // These are `grown^power` and its difference from `n^power`, computed without subtracting numbers that are
        // nearly equal.
        let (square, zero) = (g * g, T::of(0.0));
        let grown = n + square;
        let (new, more) = if ROOT {
            let (old, new) = (n.sqrt(), grown.sqrt());
            (new, T::select(new.above(zero), square / (old + new), zero))
        } else {
            let new = grown.pow(c.power);
            let more = n.pow(c.power) * (c.power * (square / n).ln_1p()).exp_m1();
            (new, T::select(n.above(zero), more, new))
        };
        let z = z + g - more / c.rate * p;
        let bound = T::select(z.above(zero), c.l1, -c.l1);
        let p = (bound - z) / (new / c.rate + T::of(2.0) * c.l2);
        (T::select(z.abs().above(c.l1), p, zero), [grown, z, a])
    }
}
