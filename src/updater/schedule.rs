//! Schedules: learning rates that depend on the step. Steps are counted from 0.
//!
//! Any function of the step is a schedule, so schedules can be called, combined and replaced by closures:
//!
//! ```
//! use paddle::updater::schedule::{self, Schedule};
//! use paddle::Adam;
//!
//! let rate = schedule::warm_up(100, 0.0, 0.01, schedule::polynomial(0.01, 1_100, 0.0, 1.0));
//! assert_eq!([0, 50, 1_100].map(|step| rate.rate(step)), [0.0, 0.005, 0.0]);
//! let adam = Adam::new(rate);
//! let halved = Adam::new(|step| if step < 1_000 { 0.01 } else { 0.005 });
//! ```

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// The learning rate of each step: a number, which is constant, or a function of the step.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// assert_eq!(0.1.rate(1_000), 0.1);
/// assert_eq!((|step: u64| 1.0 / (1.0 + step as f64)).rate(3), 0.25);
/// ```
pub trait Schedule: Send + Sync {
    /// The learning rate at a step.
    fn rate(&self, step: u64) -> f64;
}

impl Schedule for f64 {
    fn rate(&self, _step: u64) -> f64 {
        *self
    }
}

impl<F: Fn(u64) -> f64 + Send + Sync> Schedule for F {
    fn rate(&self, step: u64) -> f64 {
        self(step)
    }
}

/// The schedule of an updater.
#[derive(Clone)]
pub(super) struct Rate(Arc<dyn Schedule>);

impl Rate {
    pub(super) fn new(schedule: impl Schedule + 'static) -> Self {
        Rate(Arc::new(schedule))
    }

    pub(super) fn at(&self, step: u64) -> f64 {
        self.0.rate(step)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at first", self.at(0))
    }
}

/// `step / steps`; 0 steps count as one.
fn share(step: u64, steps: u64) -> f64 {
    step as f64 / steps.max(1) as f64
}

/// `rate · factor^(step / steps)`.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// // Halved in 1,000 steps, little by little.
/// assert_eq!([0, 1_000, 2_000].map(|step| schedule::exponential(0.1, 1_000, 0.5).rate(step)), [0.1, 0.05, 0.025]);
/// ```
pub fn exponential(rate: f64, steps: u64, factor: f64) -> impl Schedule + Clone {
    move |step| rate * factor.powf(share(step, steps))
}

/// `rate · e^(-decay · step / steps)`.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// let rate = schedule::natural_exponential(0.1, 1_000, 1.0).rate(1_000);
/// assert!((rate - 0.1 / std::f64::consts::E).abs() < 1e-12);
/// ```
pub fn natural_exponential(rate: f64, steps: u64, decay: f64) -> impl Schedule + Clone {
    move |step| rate * (-decay * share(step, steps)).exp()
}

/// `rate / (1 + decay · step / steps)`.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// assert_eq!([0, 1_000].map(|step| schedule::inverse_time(0.5, 1_000, 1.0).rate(step)), [0.5, 0.25]);
/// ```
pub fn inverse_time(rate: f64, steps: u64, decay: f64) -> impl Schedule + Clone {
    move |step| rate / (1.0 + decay * share(step, steps))
}

/// `(rate - end) (1 - step / steps)^power + end`, and `end` after these steps.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// // A line from 0.5 to 0.
/// assert_eq!([0, 50, 100, 200].map(|step| schedule::polynomial(0.5, 100, 0.0, 1.0).rate(step)), [0.5, 0.25, 0.0, 0.0]);
/// ```
pub fn polynomial(rate: f64, steps: u64, end: f64, power: f64) -> impl Schedule + Clone {
    move |step| (rate - end) * (1.0 - share(step, steps).min(1.0)).powf(power) + end
}

/// `rate`, and from each of the given steps on the rate that goes with it: `piecewise(0.1, [(1_000, 0.01), (2_000,
/// 0.001)])`.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// let rate = schedule::piecewise(0.1, [(1_000, 0.01), (2_000, 0.001)]);
/// assert_eq!([0, 999, 1_000, 2_000].map(|step| rate.rate(step)), [0.1, 0.1, 0.01, 0.001]);
/// ```
pub fn piecewise(rate: f64, from: impl Into<Vec<(u64, f64)>>) -> impl Schedule + Clone {
    let mut from: Vec<(u64, f64)> = from.into();
    from.sort_by_key(|&(step, _)| step);
    move |step| {
        let begun = from.partition_point(|&(first, _)| first <= step);
        begun.checked_sub(1).map_or(rate, |last| from[last].1)
    }
}

/// `rate · d^-0.5 · min(s^-0.5, s · warm_up^-1.5)` with `s = step + 1`: Vaswani and others, "Attention is all you
/// need", 2017, equation 3. `d` is the width of the model.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// // It rises to step 4,000, and falls from there.
/// let rate = schedule::noam(1.0, 512, 4_000);
/// assert!(rate.rate(100) < rate.rate(3_999) && rate.rate(3_999) > rate.rate(10_000));
/// ```
pub fn noam(rate: f64, d: u64, warm_up: u64) -> impl Schedule + Clone {
    move |step: u64| {
        let s = step as f64 + 1.0;
        rate * (d.max(1) as f64).powf(-0.5) * s.powf(-0.5).min(s * (warm_up.max(1) as f64).powf(-1.5))
    }
}

/// `rate · (1 + cos(π · step / steps)) / 2`, and 0 after these steps: Loshchilov, Hutter, "SGDR: stochastic gradient
/// descent with warm restarts", 2017, equation 5, without restarts.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// assert_eq!([0, 100, 200].map(|step| schedule::cosine(0.1, 100).rate(step)), [0.1, 0.0, 0.0]);
/// ```
pub fn cosine(rate: f64, steps: u64) -> impl Schedule + Clone {
    move |step| rate * (1.0 + (PI * share(step, steps).min(1.0)).cos()) / 2.0
}

/// A straight line from `from` to `to` over these steps, followed by `after`, whose steps are also counted from the
/// start.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// let rate = schedule::warm_up(100, 0.0, 0.5, 0.5);
/// assert_eq!([0, 50, 100, 1_000].map(|step| rate.rate(step)), [0.0, 0.25, 0.5, 0.5]);
/// ```
pub fn warm_up(steps: u64, from: f64, to: f64, after: impl Schedule + Clone) -> impl Schedule + Clone {
    move |step| {
        if step < steps { from + (to - from) * share(step, steps) } else { after.rate(step) }
    }
}

/// A schedule that begins at step `steps`, from where its steps are counted; before, its rate is the one of its step 0.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// // The rate rises for 100 steps, and then falls for 900.
/// let rate = schedule::warm_up(100, 0.0, 0.5, schedule::delayed(100, schedule::cosine(0.5, 900)));
/// assert_eq!([0, 50, 100, 550, 1_000].map(|step| rate.rate(step)), [0.0, 0.25, 0.5, 0.25, 0.0]);
/// ```
pub fn delayed(steps: u64, schedule: impl Schedule + Clone) -> impl Schedule + Clone {
    move |step: u64| schedule.rate(step.saturating_sub(steps))
}

/// A schedule as a staircase: the rate changes only every `steps` steps.
///
/// ```
/// use paddle::updater::schedule::{self, Schedule};
///
/// let rate = schedule::stairs(1_000, schedule::exponential(0.1, 1_000, 0.5));
/// assert_eq!([0, 999, 1_000].map(|step| rate.rate(step)), [0.1, 0.1, 0.05]);
/// ```
pub fn stairs(steps: u64, schedule: impl Schedule + Clone) -> impl Schedule + Clone {
    move |step: u64| schedule.rate(step - step % steps.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the rates at some steps with those of PaddlePaddle 2.6's schedulers.
    fn check(schedule: impl Schedule, rates: &[(u64, f64)]) {
        for &(step, expected) in rates {
            let found = schedule.rate(step);
            assert!((found - expected).abs() <= 1e-12 + 1e-9 * expected.abs(), "{step}: {found} {expected}");
        }
    }

    #[test]
    fn rates_follow_their_formulas() {
        check(0.5, &[(0, 0.5), (1_000_000, 0.5)]);
        check(exponential(0.5, 1, 0.9), &[(0, 0.5), (1, 0.45), (3, 0.3645)]);
        check(exponential(0.5, 10, 0.25), &[(5, 0.25), (10, 0.125)]);
        check(natural_exponential(0.5, 1, 0.1), &[(0, 0.5), (10, 0.18393972058572117)]);
        check(inverse_time(0.5, 1, 0.1), &[(0, 0.5), (10, 0.25), (90, 0.05)]);
        check(polynomial(0.5, 20, 0.1, 2.0), &[(0, 0.5), (10, 0.2), (20, 0.1), (90, 0.1)]);
        check(
            piecewise(0.1, [(6, 0.001), (3, 0.01)]),
            &[(0, 0.1), (2, 0.1), (3, 0.01), (5, 0.01), (6, 0.001)],
        );
        check(cosine(0.5, 10), &[(0, 0.5), (5, 0.25), (10, 0.0), (11, 0.0)]);
        check(warm_up(4, 0.0, 0.8, 0.5), &[(0, 0.0), (1, 0.2), (3, 0.6), (4, 0.5)]);
        check(delayed(4, cosine(0.5, 10)), &[(0, 0.5), (4, 0.5), (9, 0.25), (14, 0.0)]);
        check(stairs(10, exponential(0.5, 10, 0.5)), &[(0, 0.5), (9, 0.5), (10, 0.25), (19, 0.25)]);
        // The peak is at the end of the warm-up: 512^-0.5 · 4000^-0.5.
        let peak = (512.0_f64 * 4_000.0).powf(-0.5);
        check(noam(1.0, 512, 4_000), &[(3_999, peak), (0, peak / 4_000.0), (15_999, peak / 2.0)]);
    }

    #[test]
    fn no_steps_are_one_step() {
        check(exponential(0.5, 0, 0.5), &[(1, 0.25)]);
        check(cosine(0.5, 0), &[(0, 0.5), (1, 0.0)]);
        check(stairs(0, 0.5), &[(7, 0.5)]);
        check(noam(1.0, 0, 0), &[(0, 1.0)]);
    }
}
