//! Cost and metrics over the batches, as a picture.

use std::iter;
use std::path::{Path, PathBuf};

use super::{Moment, Watcher};
use crate::event::EventKind;
use crate::files::FileError;
use crate::plot;

/// Draws a picture when the training ends: a curve for the cost, and one for each metric.
pub(super) struct Curve {
    path: PathBuf,
    curve: plot::Curve,
}

impl Curve {
    pub(super) fn new(path: &Path, metrics: &[String]) -> Self {
        let names = iter::once("cost").chain(metrics.iter().map(String::as_str));
        Curve { path: path.to_path_buf(), curve: plot::Curve::new(names) }
    }
}

impl Watcher for Curve {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        match moment.kind {
            EventKind::EndIteration { cost, metrics, .. } => {
                self.curve.add(iter::once(cost).chain(metrics.iter().copied()));
                Ok(())
            }
            EventKind::EndTraining => self.curve.save(&self.path),
            EventKind::BeginTraining
            | EventKind::BeginPass { .. }
            | EventKind::BeginIteration { .. }
            | EventKind::EndPass { .. } => Ok(()),
        }
    }
}
