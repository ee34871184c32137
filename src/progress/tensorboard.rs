//! What TensorBoard shows of a training.

use std::time::Duration;

use super::{Moment, Watcher};
use crate::Error;
use crate::event::EventKind;
use crate::files::FileError;
use crate::plot::TensorBoard;

impl Watcher for TensorBoard {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        let of = match moment.kind {
            EventKind::EndIteration { .. } => "batch",
            EventKind::EndPass { .. } => "pass",
            EventKind::EndTraining => return self.flush(),
            EventKind::BeginTraining | EventKind::BeginPass { .. } | EventKind::BeginIteration { .. } => {
                return Ok(());
            }
        };
        self.add(moment.steps, moment.figures().map(|(name, value)| (format!("{of}/{name}"), value)))
    }

    fn keep(&mut self) -> Result<(), FileError> {
        self.flush()
    }

    fn fail(&mut self, _error: &Error, _elapsed: Duration) {
        // The error of the training is the one to report.
        let _ = self.flush();
    }
}
