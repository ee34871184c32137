//! The bar on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::event_text::{figures, line};
use super::{Moment, Watcher};
use crate::event::EventKind;
use crate::files::FileError;

/// The time between updates of the text behind the bar.
const PERIOD: Duration = Duration::from_millis(100);

/// The bar of the running pass. The previous pass determines its length and the time left.
pub(super) struct Bar {
    bar: ProgressBar,
    /// The pass that the bar shows.
    pass: Option<usize>,
    /// The number of batches of the previous pass.
    length: Option<u64>,
    /// The time of the last update of the text.
    written: Duration,
    /// The line that stays on the terminal when the training ends.
    last: Option<String>,
}

impl Bar {
    /// A bar on the standard error stream, if that is a terminal.
    pub(super) fn on_terminal() -> Option<Self> {
        let bar = ProgressBar::new_spinner();
        let bar = Bar { bar, pass: None, length: None, written: Duration::ZERO, last: None };
        io::stderr().is_terminal().then_some(bar)
    }

    /// Runs an action that may print, with the bar out of the way.
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
                // A resumed training begins within a pass.
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
