//! The picture of cost and metrics over the batches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Moment, Watcher};
use crate::Error;
use crate::event::EventKind;
use crate::files::FileError;
use crate::plot;

/// Draws the picture when the training ends and with each checkpoint: a curve for the cost, and one for each metric.
pub(super) struct Curve {
    path: PathBuf,
    curve: plot::Curve,
}

impl Curve {
    pub(super) fn new(path: &Path, names: &[String], steps: u64) -> Self {
        Curve { path: path.to_path_buf(), curve: plot::Curve::resume(names, path, steps) }
    }
}

impl Watcher for Curve {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        match moment.kind {
            EventKind::EndIteration { .. } => {
                self.curve.add(moment.figures().map(|(_, value)| value));
                Ok(())
            }
            EventKind::EndTraining => self.keep(),
            EventKind::BeginTraining
            | EventKind::BeginPass { .. }
            | EventKind::BeginIteration { .. }
            | EventKind::EndPass { .. } => Ok(()),
        }
    }

    fn keep(&mut self) -> Result<(), FileError> {
        self.curve.save(&self.path)
    }

    fn fail(&mut self, _error: &Error, _elapsed: Duration) {
        // The error of the training is the one to report.
        let _ = self.keep();
    }
}
