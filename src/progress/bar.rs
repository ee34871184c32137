//! The bar on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::text::{figures, line};
use super::{Moment, Watcher};
use crate::event::EventKind;
use crate::files::FileError;

/// How often what stands behind the bar is written anew.
const PERIOD: Duration = Duration::from_millis(100);

/// One bar for the pass that runs. Its length, and the time left, are known from the pass before.
pub(super) struct Bar {
    bar: ProgressBar,
    /// The pass that it is for.
    pass: Option<usize>,
    /// The batches of the pass before.
    length: Option<u64>,
    /// When the figures were written.
    written: Duration,
    /// What stays on the terminal.
    last: Option<String>,
}

impl Bar {
    /// On the standard error stream, if it is a terminal.
    pub(super) fn on_terminal() -> Option<Self> {
        let bar = ProgressBar::new_spinner();
        let bar = Bar { bar, pass: None, length: None, written: Duration::ZERO, last: None };
        io::stderr().is_terminal().then_some(bar)
    }

    /// Does what may print, without a bar in its way.
    pub(super) fn aside<R>(&self, action: impl FnOnce() -> R) -> R {
        self.bar.suspend(action)
    }

    fn begin_pass(&mut self, pass: usize) {
        self.pass = Some(pass);
        let template = match self.length {
            Some(_) => "{prefix} [{bar:24}] {pos}/{len} {eta} left, {wide_msg}",
            None => "{prefix} {spinner} {pos} batches {elapsed}, {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.reset();
        if let Some(length) = self.length {
            self.bar.set_length(length);
        }
        self.bar.set_prefix(format!("pass {pass}"));
    }
}

impl Watcher for Bar {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        match moment.kind {
            EventKind::BeginTraining | EventKind::BeginIteration { .. } => {}
            EventKind::BeginPass { pass } => self.begin_pass(pass),
            EventKind::EndIteration { pass, batch, .. } => {
                // A training that was resumed begins within a pass.
                if self.pass != Some(pass) {
                    self.begin_pass(pass);
                }
                self.bar.set_position(batch as u64 + 1);
                if batch == 0 || moment.elapsed - self.written >= PERIOD {
                    self.written = moment.elapsed;
                    self.bar.set_message(figures(moment));
                }
                self.last = line(moment);
            }
            EventKind::EndPass { .. } => {
                self.length = Some(self.bar.position());
                self.bar.set_message(figures(moment));
                self.last = line(moment);
            }
            EventKind::EndTraining => {
                self.bar.finish_and_clear();
                if let Some(last) = self.last.take() {
                    self.bar.suspend(|| eprintln!("{last}"));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
