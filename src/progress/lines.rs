//! Progress as plain lines, for files and pipes.

use std::io::Write;
use std::time::Duration;

use super::event_text::line;
use super::{Moment, Watcher};
use crate::event::EventKind;
use crate::files::FileError;

/// The least time between lines. A line that comes earlier is written only if it is the last.
const PERIOD: Duration = Duration::from_secs(1);

/// The time after which a line reports on a running pass.
const LONG: Duration = Duration::from_secs(10);

/// Writes a line at the end of each pass, now and then in a long pass, and when the training ends.
pub(super) struct Lines<W> {
    out: W,
    /// The time of the last line.
    written: Option<Duration>,
    /// The line that came too early.
    waiting: Option<String>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W) -> Self {
        Lines { out, written: None, waiting: None }
    }

    fn write(&mut self, line: Option<String>, elapsed: Duration) {
        if let Some(line) = line {
            // The training goes on even if nobody reads the lines.
            let _ = writeln!(self.out, "{line}");
            (self.written, self.waiting) = (Some(elapsed), None);
        }
    }
}

impl<W: Write> Watcher for Lines<W> {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        let elapsed = moment.elapsed;
        match moment.kind {
            EventKind::EndPass { .. } => {
                if self.written.is_none_or(|written| elapsed - written >= PERIOD) {
                    self.write(line(moment), elapsed);
                } else {
                    self.waiting = line(moment);
                }
            }
            EventKind::EndIteration { .. } => {
                if elapsed - self.written.unwrap_or_default() >= LONG {
                    self.write(line(moment), elapsed);
                } else {
                    self.waiting = line(moment);
                }
            }
            EventKind::EndTraining => {
                let line = self.waiting.take();
                self.write(line, elapsed);
            }
            EventKind::BeginTraining | EventKind::BeginPass { .. } | EventKind::BeginIteration { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(events: &[(u64, EventKind<'_>)]) -> String {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        for &(seconds, kind) in events {
            let (elapsed, names) =
                (Duration::from_secs(seconds), &["cost", "accuracy"].map(String::from)[..]);
            let (rows, steps, ended, rate) = (4, 1, None, 250.4);
            let moment = Moment { kind, network: "net", names, rows, steps, ended, elapsed, rate };
            lines.see(&moment).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    fn batch(pass: usize, batch: usize) -> EventKind<'static> {
        EventKind::EndIteration { pass, batch, cost: 2.0, metrics: &[0.25] }
    }

    fn pass(pass: usize) -> EventKind<'static> {
        EventKind::EndPass { pass, cost: 1.0, metrics: &[0.5] }
    }

    #[test]
    fn a_line_for_each_pass() {
        let begin = [(0, EventKind::BeginTraining), (0, EventKind::BeginPass { pass: 0 }), (0, batch(0, 0))];
        let passes = [(2, pass(0)), (2, batch(1, 0)), (4, pass(1)), (4, EventKind::EndTraining)];
        assert_eq!(
            written(&[&begin[..], &passes].concat()),
            "pass 0: cost 1.0000, accuracy 0.5000, 250 rows/s\npass 1: cost 1.0000, accuracy 0.5000, 250 rows/s\n"
        );
    }

    #[test]
    fn short_passes_are_left_out_but_for_the_last() {
        let passes = [(0, pass(0)), (0, pass(1)), (1, pass(2)), (1, pass(3)), (1, pass(4))];
        let text = written(&[&passes[..], &[(1, EventKind::EndTraining)]].concat());
        let shown: Vec<_> = text.lines().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(shown, ["pass 0", "pass 2", "pass 4"]);
    }

    #[test]
    fn a_stop_within_a_pass_leaves_its_place() {
        let events = [(2, pass(0)), (2, batch(1, 0)), (2, batch(1, 1)), (2, EventKind::EndTraining)];
        let text = written(&events);
        assert!(text.lines().nth(1).unwrap().starts_with("pass 1, batch 1: cost 2.0000"), "{text}");
    }

    #[test]
    fn a_long_pass_is_heard_of() {
        let text = written(&[(9, batch(0, 0)), (11, batch(0, 1)), (20, batch(0, 2)), (21, batch(0, 3))]);
        assert_eq!(
            text,
            "pass 0, batch 1: cost 2.0000, accuracy 0.2500, 250 rows/s\n\
             pass 0, batch 3: cost 2.0000, accuracy 0.2500, 250 rows/s\n"
        );
    }
}
