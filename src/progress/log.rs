//! The log of a training: a line of JSON for each event.

use std::fmt::{self, Write as _};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Moment, Watcher};
use crate::Error;
use crate::event::EventKind;
use crate::files::disk::{self, File};
use crate::files::{FileError, FileFault};

/// The longest time that lines wait before they are written.
const PERIOD: Duration = Duration::from_secs(1);

/// The number of waiting bytes at which lines are written.
const MOST_WAITING: usize = 1 << 13;

pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The time when the training began, since 1970.
    begun: Duration,
    run: String,
    /// Whole lines that are not in the file yet. They are written in one piece, so that lines of several processes do
    /// not mix.
    waiting: String,
    /// The time when the last waiting lines were written.
    flushed: Duration,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let failed = |error| FileFault::Write(error).of(path);
        let mut file = disk::append(path).map_err(failed)?;
        // A killed process may have left an incomplete line.
        let waiting =
            if ends_a_line(path, &mut file).map_err(failed)? { String::new() } else { "\n".to_string() };
        // A clock before 1970 is wrong; it counts as 1970.
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = run_id(begun);
        Ok(Log { path: path.to_path_buf(), file, begun, run, waiting, flushed: Duration::ZERO })
    }

    fn flush(&mut self) -> Result<(), FileError> {
        let written = self.file.write_all(self.waiting.as_bytes());
        self.waiting.clear();
        written.map_err(|error| FileFault::Write(error).of(&self.path))
    }
}

impl Watcher for Log {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        if let EventKind::BeginIteration { .. } = moment.kind {
            return Ok(());
        }
        self.waiting += &line(moment, &self.run, self.begun);
        let ends = matches!(moment.kind, EventKind::EndPass { .. } | EventKind::EndTraining);
        let late = moment.elapsed - self.flushed >= PERIOD || self.waiting.len() >= MOST_WAITING;
        if ends || late {
            self.flushed = moment.elapsed;
            self.flush()?;
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), FileError> {
        self.flush()
    }

    fn fail(&mut self, error: &Error, elapsed: Duration) {
        let mut line = Line::new("error", &self.run, elapsed);
        line.add("message", string(&error.to_string()));
        self.waiting += &line.end();
        // The error of the training is the one to report.
        let _ = self.flush();
    }
}

/// Whether a file is empty or ends with the end of a line. A pipe or a device, which cannot be read back, counts as
/// ended.
fn ends_a_line(path: &Path, file: &mut File) -> io::Result<bool> {
    if !disk::metadata(path)?.is_file() || file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// A text that identifies the run among all that write to the file: the time when it began, the process, and its number
/// in the process.
fn run_id(begun: Duration) -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    format!("{:x}-{:x}-{:x}", begun.as_micros(), process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

/// A line under construction.
struct Line(String);

impl Line {
    fn new(event: &str, run: &str, elapsed: Duration) -> Self {
        let seconds = elapsed.as_secs_f64();
        Line(format!("{{\"event\":\"{event}\",\"run\":\"{run}\",\"seconds\":{seconds:.6}"))
    }

    fn add(&mut self, key: &str, value: impl fmt::Display) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, ",\"{key}\":{value}");
    }

    fn end(self) -> String {
        self.0 + "}\n"
    }
}

/// `{"event":"end_pass","run":"63f-1a-0","seconds":1.5,"pass":0,"step":7,"cost":0.25,"metrics":{"accuracy":0.5}}`.
fn line(moment: &Moment<'_>, run: &str, begun: Duration) -> String {
    let (name, pass, batch) = match moment.kind {
        EventKind::BeginTraining => ("begin_training", None, None),
        EventKind::BeginPass { pass } => ("begin_pass", Some(pass), None),
        EventKind::BeginIteration { pass, batch } => ("begin_iteration", Some(pass), Some(batch)),
        EventKind::EndIteration { pass, batch, .. } => ("end_iteration", Some(pass), Some(batch)),
        EventKind::EndPass { pass, .. } => ("end_pass", Some(pass), None),
        EventKind::EndTraining => ("end_training", None, None),
    };
    let mut line = Line::new(name, run, moment.elapsed);
    if let EventKind::BeginTraining = moment.kind {
        line.add("network", string(moment.network));
        line.add("time", format_args!("{:.3}", begun.as_secs_f64()));
        line.add("version", string(env!("CARGO_PKG_VERSION")));
    }
    pass.into_iter().for_each(|pass| line.add("pass", pass));
    batch.into_iter().for_each(|batch| line.add("batch", batch));
    // A step has the number of steps before it.
    let before = u64::from(matches!(moment.kind, EventKind::EndIteration { .. }));
    line.add("step", moment.steps - before);
    if let EventKind::EndIteration { .. } = moment.kind {
        line.add("rows", moment.rows);
    }
    if let Some(cost) = moment.kind.cost() {
        line.add("cost", number(cost));
        let metrics =
            moment.figures().skip(1).map(|(name, value)| format!("{}:{}", string(name), number(value)));
        line.add("metrics", format_args!("{{{}}}", metrics.collect::<Vec<_>>().join(",")));
    }
    if let Some(ended) = moment.ended {
        line.add("ended", format_args!("\"{ended}\""));
    }
    line.end()
}

/// A number as JSON, which has no NaN and no infinities.
fn number(value: f32) -> String {
    if value.is_finite() { value.to_string() } else { "null".to_string() }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train_loop::Ended;

    fn of(kind: EventKind<'_>) -> String {
        let names = ["cost".to_string(), "accuracy".to_string(), "a \"b\"\n".to_string()];
        let elapsed = Duration::from_millis(1500);
        let ended = (kind == EventKind::EndTraining).then_some(Ended::Stopped);
        let (network, names) = ("gan::d0", &names[..]);
        let moment = Moment { kind, network, names, rows: 4, steps: 7, ended, elapsed, rate: 1.0 };
        line(&moment, "r", Duration::from_millis(9500))
    }

    #[test]
    fn a_line_for_each_event() {
        let metrics = &[0.1, f32::NAN];
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            of(EventKind::BeginTraining),
            format!(
                r#"{{"event":"begin_training","run":"r","seconds":1.500000,"network":"gan::d0","time":9.500,"version":"{version}","step":7}}"#
            ) + "\n"
        );
        assert_eq!(
            of(EventKind::EndIteration { pass: 1, batch: 2, cost: 1e-9, metrics }),
            r#"{"event":"end_iteration","run":"r","seconds":1.500000,"pass":1,"batch":2,"step":6,"rows":4,"cost":0.000000001,"metrics":{"accuracy":0.1,"a \"b\"\n":null}}
"#
        );
        assert_eq!(
            of(EventKind::EndPass { pass: 1, cost: f32::INFINITY, metrics: &[] }),
            r#"{"event":"end_pass","run":"r","seconds":1.500000,"pass":1,"step":7,"cost":null,"metrics":{}}
"#
        );
        assert_eq!(
            of(EventKind::EndTraining),
            r#"{"event":"end_training","run":"r","seconds":1.500000,"step":7,"ended":"stopped"}
"#
        );
    }

    #[test]
    fn no_two_runs_have_one_name() {
        assert_ne!(run_id(Duration::ZERO), run_id(Duration::ZERO));
    }
}
