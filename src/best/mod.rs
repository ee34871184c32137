//! The best value of a training so far: it ends trainings that do not become better, and keeps parameters.

mod early_stopping;
mod keep_best;

pub use self::early_stopping::EarlyStopping;
pub use self::keep_best::KeepBest;

/// The best of the values that were seen so far, such as those of a metric on held-out rows after each pass.
///
/// [`EarlyStopping`] ends a training by it, [`KeepBest`] keeps parameters. A value that is NaN is never the best.
///
/// ```
/// use paddle::best::Best;
///
/// let mut best = Best::lowest().least_gain(0.1);
/// let news: Vec<_> = [2.0, 1.95, 1.5, f64::NAN, 1.6].into_iter().enumerate().map(|(at, cost)| best.see(at, cost)).collect();
/// assert_eq!(news, [true, false, true, false, false]);
/// assert_eq!((best.at(), best.value()), (Some(2), Some(1.5)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    highest: bool,
    least_gain: f64,
    /// The best value, and when it was seen.
    seen: Option<(usize, f64)>,
}

impl Best {
    fn new(highest: bool) -> Self {
        Best { highest, least_gain: 0.0, seen: None }
    }

    /// The lowest value is the best, as of costs and errors.
    pub fn lowest() -> Self {
        Best::new(false)
    }

    /// The highest value is the best, as of accuracies.
    pub fn highest() -> Self {
        Best::new(true)
    }

    /// Only a value that is better by more than `gain` counts as better. The default is 0.
    pub fn least_gain(mut self, gain: f64) -> Self {
        self.least_gain = gain;
        self
    }

    /// Takes a value, and says whether it is the best so far. `at` is when it is seen: the number of a pass or of a step.
    pub fn see(&mut self, at: usize, value: impl Into<f64>) -> bool {
        let value = value.into();
        let gain = self.seen.map(|(_, best)| if self.highest { value - best } else { best - value });
        let is_best = gain.map_or(!value.is_nan(), |gain| gain > self.least_gain);
        if is_best {
            self.seen = Some((at, value));
        }
        is_best
    }

    /// The best value.
    pub fn value(&self) -> Option<f64> {
        self.seen.map(|(_, value)| value)
    }

    /// When the best value was seen.
    pub fn at(&self) -> Option<usize> {
        self.seen.map(|(at, _)| at)
    }
}
