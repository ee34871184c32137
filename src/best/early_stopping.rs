//! The end of a training that no longer becomes better.

use super::Best;

/// Says when a training has not become better for long, and is to stop.
///
/// It counts in what `at` counts, so a training that is resumed goes on with `EarlyStopping::new(keep.best().clone(), 3)`,
/// where `keep` is a [`KeepBest`](super::KeepBest) that was resumed.
///
/// ```
/// use paddle::best::{Best, EarlyStopping};
/// use paddle::event::EventKind;
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Ended, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
/// // The held-out row is of another line, so it is at its best before the training is.
/// let (rows, held_out) = ([net.row(0.0, 1.0), net.row(1.0, 3.0)], [net.row(1.0, 2.0)]);
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.05)));
/// let mut early = EarlyStopping::new(Best::lowest(), 3);
/// let reader = rows.passes(1_000).batch(2);
/// let ended = trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
///     if let EventKind::EndPass { pass, .. } = event.kind()
///         && early.see(pass, event.test(&net, held_out.iter().batch(8))?.cost())
///     {
///         event.stop();
///     }
///     Ok(())
/// })?;
/// assert_eq!(ended, Ended::Stopped);
/// assert_eq!(trainer.steps(&net)? as usize, early.best().at().unwrap() + 3 + 1);
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyStopping {
    best: Best,
    patience: usize,
    /// When the first value was seen.
    first: Option<usize>,
}

impl EarlyStopping {
    /// Waits this long for a value that is better than the best one: `patience` passes, if `at` counts passes. With 0, the
    /// first value that is not the best is the last.
    pub fn new(best: Best, patience: usize) -> Self {
        EarlyStopping { best, patience, first: None }
    }

    /// Takes a value, and says whether to stop. `at` is when it is seen: the number of a pass or of a step.
    pub fn see(&mut self, at: usize, value: impl Into<f64>) -> bool {
        let first = *self.first.get_or_insert(at);
        if self.best.see(at, value) {
            return false;
        }
        at.saturating_sub(self.best.at().unwrap_or(first)) >= self.patience
    }

    /// The best value so far.
    pub fn best(&self) -> &Best {
        &self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a training with these values stops.
    fn stops(mut early: EarlyStopping, values: &[f32]) -> Option<usize> {
        (0..values.len()).find(|&at| early.see(at, values[at]))
    }

    #[test]
    fn it_waits_as_long_as_it_is_told() {
        let costs = [3.0, 2.0, 2.5, 1.0, 1.5, 1.0, 1.5];
        assert_eq!(stops(EarlyStopping::new(Best::lowest(), 0), &costs), Some(2));
        assert_eq!(stops(EarlyStopping::new(Best::lowest(), 2), &costs), Some(5));
        assert_eq!(stops(EarlyStopping::new(Best::lowest(), 4), &costs), None);
        assert_eq!(stops(EarlyStopping::new(Best::highest(), 3), &costs), Some(3));
    }

    #[test]
    fn small_gains_are_none() {
        let costs = [1.0, 0.95, 0.91, 0.85];
        assert_eq!(stops(EarlyStopping::new(Best::lowest().least_gain(0.1), 2), &costs), Some(2));
        assert_eq!(stops(EarlyStopping::new(Best::lowest().least_gain(0.04), 2), &costs), None);
    }

    #[test]
    fn a_training_without_numbers_ends_too() {
        assert_eq!(stops(EarlyStopping::new(Best::lowest(), 2), &[f32::NAN; 9]), Some(2));
        assert_eq!(stops(EarlyStopping::new(Best::highest(), 1), &[f32::INFINITY; 9]), Some(1));
    }

    /// A training that is resumed at pass 5 has waited before.
    #[test]
    fn what_was_best_before_counts() {
        let mut best = Best::lowest();
        best.see(3, 1.0);
        let mut early = EarlyStopping::new(best, 3);
        assert_eq!([5, 6].map(|at| early.see(at, 2.0)), [false, true]);
    }
}
